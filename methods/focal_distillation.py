r"""Focal distillation: the new network stays close to the earlier one, above all where the earlier one is right.

The distance to the earlier model's outputs has weight ``alpha`` on every molecule, and ``beta`` more where the earlier
model is right, so that fewer predictions turn wrong. The distance is the divergence of the probabilities; in a
regression, the squared difference.

$$
L_B(\theta) + \frac{1}{|B|} \sum_{(x, y) \in B}
\left( \alpha + \beta \, \left[\mathrm{argmax}_j p_{\mathrm{old}}(x)_j = y\right] \right)
\sum_{c=1}^{C} p_{\mathrm{old}}(x)_c \log\, \frac{p_{\mathrm{old}}(x)_c}{p_\theta(x)_c}
$$

Source: Yan et al. 2021, Positive-Congruent Training, arXiv:2011.09161.

Difference: of the distances that they compare, this is the one between probabilities (their FD-KL), at temperature 1.
The rule for a regression is ours: the earlier model is right where its error is not above its median error.

Cost: trains one network beside the earlier one; a prediction uses the new one alone.
"""

import numpy as np

from benchmark.pipeline import Model, Sample, Weight, method
from benchmark.train import NetworkLearner, NetworkRemedy, Step, Tensor, before_update, was_right


@method("focal_distillation", title="Focal distillation α={alpha:g} β={beta:g}", revision=1)
class FocalDistillation(NetworkRemedy):
    samplings = ("update",)
    incumbent = "erm"

    alpha: Weight = 1.0
    """Weight of the distance on every molecule."""
    beta: Weight = 5.0
    """Weight that is added where the earlier model is right."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        import torch

        old = learner.fit(before_update(sample)).predict(sample.inputs)
        wanted = torch.from_numpy(np.ascontiguousarray(old, dtype=np.float32))
        weights = torch.from_numpy((self.alpha + self.beta * was_right(sample, old)).astype(np.float32))

        def loss(step: Step) -> Tensor:
            outputs, rows = step.outputs[0, 0], step.rows[0]
            target, weight = wanted.to(outputs.device)[rows], weights.to(outputs.device)[rows]
            if sample.task == "regression":
                distances = (outputs - step.unit.standardised(target)).square().mean(-1)
            else:
                log_old = target.clamp(min=1e-12).log()
                distances = (target * (log_old - outputs.log_softmax(-1))).sum(-1)
            return step.fit.sum() + (weight * distances).mean()

        return learner.train(sample, sample.rows[None], loss=loss)
