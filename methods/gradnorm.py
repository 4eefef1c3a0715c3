"""Twin-bootstrap whose λ balances gradients anew at each step: GradNorm in the space of the networks' outputs.

After Chen et al. 2018, arXiv:1711.02257, which learns the weights of several tasks by gradient descent, so that the
norms of their gradients with respect to shared weights keep pace with how fast each task is learnt. Here there are two
losses and no shared weights: the fit loss keeps weight 1, and at each step the consistency loss of each train seed gets
the weight with which its gradient with respect to the networks' outputs has ``ratio`` times the norm of the fit loss's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from benchmark.registry import method
from benchmark.train import Step, bootstrap, consistency, fit_stack
from benchmark.types import Fitted, Problem


@method("gradnorm", title="GradNorm twin ratio={ratio:g}")
@dataclass(frozen=True)
class GradNorm:
    ratio: float = 1.0
    """Norm of the consistency loss's gradient, as a multiple of the fit loss's."""

    def __post_init__(self) -> None:
        if not 0 <= self.ratio < math.inf:
            raise ValueError(f"ratio must be at least 0, got {self.ratio}")

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        def pull(step: Step) -> Tensor:
            apart = consistency(problem.task, step.outputs)
            fit_norm, apart_norm = norms(step.fit.sum(1), step.outputs), norms(apart, step.outputs)
            lam = torch.where(apart_norm > 0, self.ratio * fit_norm / apart_norm, 0)  # where they agree, nothing pulls
            return lam * apart

        return fit_stack(problem, bootstrap(problem, seeds, members=2), seeds, coupling=pull)


def norms(losses: Tensor, outputs: Tensor) -> Tensor:
    """Norms (S,), constants, of the gradients of each train seed's loss (S,) with respect to its outputs (S, ...)."""
    (gradients,) = torch.autograd.grad(losses.sum(), outputs, retain_graph=True)
    return torch.stack([own.flatten().square().sum() for own in gradients]).sqrt()  # each alone: to the bit
