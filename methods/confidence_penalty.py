"""Confidence penalty: predictions of high entropy are rewarded. Pereyra et al. 2017, arXiv:1701.06548."""

from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import Weight, fit_stack
from benchmark.types import Fitted, Sample
from methods._soft import entropy


@method("confidence_penalty", title="Confidence penalty β={beta:g}", tasks=("classification",))
@dataclass(frozen=True)
class ConfidencePenalty:
    beta: Weight = 0.1
    """Weight of the entropy, in nats."""

    def fit(self, sample: Sample) -> Fitted:
        return fit_stack(sample, sample.rows[None], coupling=lambda step: -self.beta * entropy(step))
