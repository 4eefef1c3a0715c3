r"""Entropy regularisation: predictions of low entropy are rewarded, because confident networks should flip less.

The mean entropy H of the predictions on a batch is added to the fit loss.

$$
L_B(\theta) + \beta \, \frac{1}{|B|} \sum_{x \in B} H(p_\theta(x)), \qquad H(p) = -\sum_c p_c \log\, p_c
$$

Source: Bhojanapalli et al. 2021, arXiv:2102.03349, who find that it reduces the churn between retrainings on the same
data.

Difference: they measure it on images; here the data are resampled, too.
"""

from benchmark.pipeline import Model, Sample, Weight, method
from benchmark.train import NetworkLearner, NetworkRemedy, entropy


@method("entropy_regularisation", title="Entropy regularisation β={beta:g}", tasks=("classification",), revision=1)
class EntropyRegularisation(NetworkRemedy):
    beta: Weight = 0.1
    """Weight of the entropy, in nats."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        return learner.train(
            sample, sample.rows[None], loss=lambda step: step.fit.sum() + self.beta * entropy(step.outputs[0, 0])
        )
