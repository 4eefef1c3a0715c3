"""Entropy regularisation: predictions of low entropy are rewarded, as confident networks should flip less.

Bhojanapalli et al. 2021, arXiv:2102.03349, who find that it reduces the churn between retrainings on the same data.
"""

from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import Weight, fit_stack
from benchmark.types import Fitted, Sample
from methods._soft import entropy


@method("entropy_regularisation", title="Entropy regularisation β={beta:g}", tasks=("classification",))
@dataclass(frozen=True)
class EntropyRegularisation:
    beta: Weight = 0.1
    """Weight of the entropy, in nats."""

    def fit(self, sample: Sample) -> Fitted:
        return fit_stack(sample, sample.rows[None], coupling=lambda step: self.beta * entropy(step))
