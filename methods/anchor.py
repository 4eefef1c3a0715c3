r"""Anchor: one network pulled towards an incumbent, the ERM of train seed 0, which is trained first (distillation).

Under ``update``, the incumbent is the earlier model of the update, as with all methods there. The weights of the
incumbent have the index 0 in the formula.

All retrainings share the incumbent and its bootstrap, so part of their agreement comes from it, whether it is right or
wrong. Any comparison with methods that share nothing between retrainings should say so. The incumbent must be kept for
ever.

$$
L_B(\theta) + \lambda \, D_B(\theta, \theta_0)
$$

Source: after Jiang et al. 2022, Churn Reduction via Distillation, arXiv:2106.02654.

Difference: they mix the losses on labels and on the incumbent's probabilities, as ``distilled_incumbent`` does; here
the symmetric disagreement of ``twin`` is added to the fit loss, on the network's own batches.

Cost: trains one network beside the incumbent, which all retrainings share; a prediction uses the new one alone.
"""

from benchmark.errors import UserError
from benchmark.pipeline import Model, Sample, Weight, method
from benchmark.train import NetworkLearner, NetworkRemedy, Step, Tensor, at_seed, before_update, disagreement

INCUMBENT = 0
"""The train seed of the incumbent."""


@method("anchor", title="Anchor λ={lam:g}", regression={"lam": 3.0}, revision=1)
class Anchor(NetworkRemedy):
    samplings = ("paper", "update")
    incumbent = "erm"

    lam: Weight = 300.0
    """Weight of the disagreement with the incumbent; the default is that of ``twin``."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        import torch

        if sample.sampling != "update" and sample.seed == INCUMBENT:
            raise UserError(f"anchor: train seed {INCUMBENT} is the incumbent's; omit it")
        earlier = before_update(sample) if sample.sampling == "update" else at_seed(sample, INCUMBENT)
        target = torch.from_numpy(learner.fit(earlier).predict(sample.inputs))
        if sample.task == "classification":
            target = target.clamp(min=1e-12).log()

        def loss(step: Step) -> Tensor:
            outputs = step.outputs[0, 0]
            wanted = step.unit.standardised(target.to(outputs.device)[step.rows[0]])
            return step.fit.sum() + self.lam * disagreement(sample.task, outputs, wanted)

        return learner.train(sample, sample.rows[None], loss=loss)
