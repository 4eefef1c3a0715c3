r"""Entropy regularisation: predictions of low entropy are rewarded, because confident networks should flip less.

The mean entropy H of the predictions on a batch is added to the fit loss.

$$
L_B(\theta) + \beta \, \frac{1}{|B|} \sum_{x \in B} H(p_\theta(x)), \qquad H(p) = -\sum_c p_c \log\, p_c
$$

Source: Bhojanapalli et al. 2021, arXiv:2102.03349, who find that it reduces the churn between retrainings on the same
data.

Difference: they measure it on images; here the data are resampled, too.
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
