"""Twin-bootstrap with a λ that balances gradients at each step: GradNorm in the space of the networks' outputs.

After Chen et al. 2018, arXiv:1711.02257, who learn the weights of several tasks by gradient descent, so that the norms
of their gradients with respect to shared weights keep pace with how fast each task is learnt. Here there are two losses
and no shared weights. The fit loss has weight 1. At each step and train seed, the weight of the consistency loss makes
the norm of its gradient with respect to the networks' outputs ``ratio`` times that of the fit loss.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from benchmark.registry import method
from benchmark.train import Step, Weight, bootstrap, consistency, fit_stack
from benchmark.types import Fitted, Problem


@method("gradnorm", title="GradNorm twin ratio={ratio:g}")
@dataclass(frozen=True)
class GradNorm:
    ratio: Weight = 1.0
    """Gradient norm of the consistency loss, as a multiple of that of the fit loss."""

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        def pull(step: Step) -> Tensor:
            apart = consistency(problem.task, step.outputs)
            fit_norm, apart_norm = norms(step.fit.sum(1), step.outputs), norms(apart, step.outputs)
            lam = torch.where(apart_norm > 0, self.ratio * fit_norm / apart_norm, 0)  # no pull where they agree
            return lam * apart

        return fit_stack(problem, bootstrap(problem, seeds, members=2), seeds, coupling=pull)


def norms(losses: Tensor, outputs: Tensor) -> Tensor:
    """Return detached norms (S,) of the gradients of each seed's loss (S,) with respect to its outputs (S, ...)."""
    (gradients,) = torch.autograd.grad(losses.sum(), outputs, retain_graph=True)
    return torch.stack([g.flatten().square().sum() for g in gradients]).sqrt()  # one by one: the same bits in any stack
