r"""Generalised cross-entropy: labels that the network doubts have less weight than with cross-entropy.

The loss lies between cross-entropy (q → 0) and the mean absolute error (q = 1).

$$
\ell(\theta; x, y) = \frac{1 - p_\theta(x)_y^{\,q}}{q}
$$

Source: Zhang and Sabuncu 2018, arXiv:1805.07836.

Difference: their truncated variant is not used.
"""

from benchmark.pipeline import Model, PositiveShare, Sample, method
from benchmark.train import NetworkLearner, NetworkRemedy, Step, Tensor


@method("generalised_cross_entropy", title="Generalised cross-entropy q={q:g}", tasks=("classification",), revision=1)
class GeneralisedCrossEntropy(NetworkRemedy):
    q: PositiveShare = 0.7
    """Exponent of the probability of the label: near 0 it is cross-entropy, at 1 the absolute error."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        def loss(step: Step) -> Tensor:
            log_p = step.outputs[0, 0].log_softmax(-1).gather(-1, step.targets[0][:, None])
            return ((1 - (self.q * log_p).exp()) / self.q).mean()

        return learner.train(sample, sample.rows[None], loss=loss)
