r"""Logit penalty: large logits are penalised, which keeps probabilities away from 0 and 1.

Half of β times the sum of the squared logits f of a molecule is added to the cross-entropy. It is only for classes:
with a squared error, a penalty on the outputs is the same as ``label_smoothing``.

$$
L_B(\theta) + \frac{\beta}{2} \, \frac{1}{|B|} \sum_{x \in B} \sum_{c=1}^{C} f_\theta(x)_c^2
$$

Source: Kornblith et al. 2021, arXiv:2010.16402, section 2.

Difference: they use it in a network for 1,000 classes of images, chosen for its accuracy, and do not measure churn.
"""

from benchmark.pipeline import Model, Sample, Weight, method
from benchmark.train import NetworkLearner, NetworkRemedy, Step, Tensor


@method("logit_penalty", title="Logit penalty β={beta:g}", tasks=("classification",), revision=1)
class LogitPenalty(NetworkRemedy):
    beta: Weight = 6e-4
    """Weight of half the sum of the squared logits of a molecule."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        def loss(step: Step) -> Tensor:
            return step.fit.sum() + self.beta / 2 * step.outputs[0, 0].square().sum(-1).mean()

        return learner.train(sample, sample.rows[None], loss=loss)
