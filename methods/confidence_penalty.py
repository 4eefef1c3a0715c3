r"""Confidence penalty: predictions of high entropy are rewarded.

It is the opposite of ``entropy_regularisation``: the mean entropy H of the predictions on a batch is subtracted.

$$
L_B(\theta) - \beta \, \frac{1}{|B|} \sum_{x \in B} H(p_\theta(x)), \qquad H(p) = -\sum_c p_c \log\, p_c
$$

Source: Pereyra et al. 2017, arXiv:1701.06548.

Difference: none in the loss. The source aims at accuracy.
"""

from benchmark.pipeline import Model, Sample, Weight, method
from benchmark.train import NetworkLearner, NetworkRemedy, entropy


@method("confidence_penalty", title="Confidence penalty β={beta:g}", tasks=("classification",), revision=1)
class ConfidencePenalty(NetworkRemedy):
    beta: Weight = 0.1
    """Weight of the entropy, in nats."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        return learner.train(
            sample, sample.rows[None], loss=lambda step: step.fit.sum() + -self.beta * entropy(step.outputs[0, 0])
        )
