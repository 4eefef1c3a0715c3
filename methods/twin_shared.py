"""Twin-shared: two networks on the same bootstrap, pulled together by a consistency loss (paper, overlap appendix).

They differ in initialisation and batch order alone. After Bhojanapalli et al. 2021, arXiv:2102.03349.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, consistency, fit_stack
from benchmark.types import Fitted, Problem


@method("twin_shared", title="Twin-shared λ={lam:g}", regression={"lam": 3.0})
@dataclass(frozen=True)
class TwinShared:
    lam: float = 300.0
    """Weight of the consistency loss, as of ``twin``."""

    def __post_init__(self) -> None:
        if not 0 <= self.lam < math.inf:
            raise ValueError(f"lam must be at least 0, got {self.lam}")

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        rows = bootstrap(problem, seeds).repeat(2, axis=1)
        return fit_stack(problem, rows, seeds, coupling=lambda step: self.lam * consistency(problem.task, step.outputs))
