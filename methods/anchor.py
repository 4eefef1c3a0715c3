"""Anchor: one network pulled towards an incumbent, the ERM of train seed 0, which is trained first (distillation).

After Jiang et al. 2022, Churn Reduction via Distillation, arXiv:2106.02654, who mix the losses on labels and on the
incumbent's probabilities; here the symmetric disagreement of ``twin`` is added to the fit loss, on the network's own
batches.

All retrainings share the incumbent and thereby its bootstrap, right or wrong, so part of their agreement comes from it.
Any comparison with methods that share nothing between retrainings should say so. The incumbent must be kept for ever.
"""

from functools import cache
from typing import ClassVar

from pydantic.dataclasses import dataclass

from benchmark.errors import UserError
from benchmark.registry import method
from benchmark.train import Step, Weight, at_seed, disagreement, fit_stack
from benchmark.train.device import DEVICES
from benchmark.types import Fitted, Sample, Sampling

INCUMBENT = 0
"""The train seed of the incumbent."""


@method("anchor", title="Anchor λ={lam:g}", regression={"lam": 3.0})
@dataclass(frozen=True)
class Anchor:
    samplings: ClassVar[tuple[Sampling, ...]] = ("paper",)

    lam: Weight = 300.0
    """Weight of the disagreement with the incumbent, like that of ``twin``'s consistency loss."""

    def fit(self, sample: Sample) -> Fitted:
        import torch
        from torch import Tensor

        from benchmark.train import bank

        if sample.seed == INCUMBENT:
            raise UserError(f"anchor: train seed {INCUMBENT} is the incumbent's; omit it")
        earlier = at_seed(sample, INCUMBENT)
        incumbent = fit_stack(earlier, earlier.rows[None])

        @cache
        def target(device: torch.device) -> Tensor:  # (R, C), computed on first use
            (outcome,) = bank.predict_all(
                [[bank.on_its_own(incumbent)]], {"pool": sample.x}, device=DEVICES[device.type]
            )
            if isinstance(outcome, str):
                raise RuntimeError(f"the incumbent: {outcome}")
            outputs = torch.from_numpy(outcome.values["pool"][0]).to(device)
            return outputs.clamp(min=1e-12).log() if sample.task == "classification" else outputs

        def pull(step: Step) -> Tensor:
            outputs = step.outputs[0, 0]
            wanted = step.unit.standardised(target(outputs.device)[step.rows[0]])
            return self.lam * disagreement(sample.task, outputs, wanted)

        return fit_stack(sample, sample.rows[None], coupling=pull)
