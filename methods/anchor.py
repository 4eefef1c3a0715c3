"""Anchor: one network that is pulled to an incumbent, an ERM trained before it and kept (distillation).

After Jiang et al. 2022, Churn Reduction via Distillation, arXiv:2106.02654, which mixes the losses of labels and of the
incumbent's probabilities; here the symmetric disagreement of ``twin`` is added to the fit loss, on the network's own
batches. The incumbent is the ERM of train seed 0.

All retrainings share one incumbent, so part of their agreement comes from it: its bootstrap, right or wrong, is in each
of them, and a comparison with methods that share nothing between retrainings has to say so. And the incumbent has to be
kept for ever.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from benchmark.errors import UserError
from benchmark.registry import method
from benchmark.train import Step, bank, bootstrap, disagreement, fit_stack
from benchmark.train.device import DEVICES
from benchmark.types import Fitted, Problem

INCUMBENT = 0
"""The train seed of the incumbent."""


@method("anchor", title="Anchor λ={lam:g}", regression={"lam": 3.0})
@dataclass(frozen=True)
class Anchor:
    lam: float = 300.0
    """Weight of the disagreement with the incumbent, as of ``twin``'s consistency loss."""

    def __post_init__(self) -> None:
        if not 0 <= self.lam < math.inf:
            raise ValueError(f"lam must be at least 0, got {self.lam}")

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        if INCUMBENT in seeds:
            raise UserError(
                f"anchor: train seed {INCUMBENT} is the incumbent's, which the others are pulled to: leave it out"
            )
        incumbent = fit_stack(problem, bootstrap(problem, [INCUMBENT]), [INCUMBENT])

        @cache
        def target(device: torch.device) -> Tensor:  # (N, C), made when first asked for
            (outcome,) = bank.predict_all([incumbent], {"pool": problem.train.x}, device=DEVICES[device.type])
            if isinstance(outcome, str):
                raise RuntimeError(f"the incumbent: {outcome}")
            said = torch.from_numpy(outcome.values["pool"][0]).to(device)
            return said.clamp(min=1e-12).log() if problem.task == "classification" else said

        def pull(step: Step) -> Tensor:
            outputs = step.outputs[:, 0, 0]
            return self.lam * disagreement(problem.task, outputs, target(outputs.device)[step.rows[:, 0]])

        return fit_stack(problem, bootstrap(problem, seeds), seeds, coupling=pull)
