"""Twin-shared: two networks on the same bootstrap, pulled together by a consistency loss (paper, overlap appendix).

They differ only in initialisation and batch order. After Bhojanapalli et al. 2021, arXiv:2102.03349.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import Weight, bootstrap, consistency, fit_stack
from benchmark.types import Fitted, Problem


@method("twin_shared", title="Twin-shared λ={lam:g}", regression={"lam": 3.0})
@dataclass(frozen=True)
class TwinShared:
    lam: Weight = 300.0
    """Weight of the consistency loss, as in ``twin``."""

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        rows = bootstrap(problem, seeds).repeat(2, axis=1)
        return fit_stack(problem, rows, seeds, coupling=lambda step: self.lam * consistency(problem.task, step.outputs))
