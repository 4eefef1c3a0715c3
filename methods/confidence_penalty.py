r"""Confidence penalty: predictions of high entropy are rewarded.

It is the opposite of ``entropy_regularisation``: the mean entropy H of the predictions on a batch is subtracted.

$$
L_B(\theta) - \beta \, \frac{1}{|B|} \sum_{x \in B} H(p_\theta(x)), \qquad H(p) = -\sum_c p_c \log\, p_c
$$

Source: Pereyra et al. 2017, arXiv:1701.06548.

Difference: none in the loss. The source aims at accuracy.
"""

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
