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

from typing import ClassVar

from pydantic.dataclasses import dataclass

from benchmark.errors import UserError
from benchmark.registry import method
from benchmark.train import Step, Weight, at_seed, disagreement, fit_stack
from benchmark.types import Fitted, Sample, Sampling
from methods._incumbent import erm, incumbent

INCUMBENT = 0
"""The train seed of the incumbent."""


@method("anchor", title="Anchor λ={lam:g}", regression={"lam": 3.0})
@dataclass(frozen=True)
class Anchor:
    samplings: ClassVar[tuple[Sampling, ...]] = ("paper", "update")
    incumbent: ClassVar[str] = "erm"

    lam: Weight = 300.0
    """Weight of the disagreement with the incumbent; the default is that of ``twin``."""

    def fit(self, sample: Sample) -> Fitted:
        import torch
        from torch import Tensor

        if sample.sampling == "update":
            outputs = incumbent(sample).predict(sample.x)
        elif sample.seed == INCUMBENT:
            raise UserError(f"anchor: train seed {INCUMBENT} is the incumbent's; omit it")
        else:
            outputs = erm(at_seed(sample, INCUMBENT)).predict(sample.x)
        target = torch.from_numpy(outputs)
        if sample.task == "classification":
            target = target.clamp(min=1e-12).log()

        def pull(step: Step) -> Tensor:
            outputs = step.outputs[0, 0]
            wanted = step.unit.standardised(target.to(outputs.device)[step.rows[0]])
            return self.lam * disagreement(sample.task, outputs, wanted)

        return fit_stack(sample, sample.rows[None], coupling=pull)
