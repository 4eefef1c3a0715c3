"""Twin-bootstrap: networks on independent bootstraps, pulled together by a consistency loss (paper, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, consistency, fit_stack
from benchmark.types import Fitted, Problem


@method("twin", title="Twin-bootstrap λ={lam:g}", regression={"lam": 3.0})
@dataclass(frozen=True)
class Twin:
    lam: float = 300.0
    """Weight of the consistency loss; the paper's rule selects 300 for classification and 3 for regression."""
    members: int = 2
    """Networks trained together; with more than two, the disagreement is averaged over their pairs."""

    def __post_init__(self) -> None:
        if not 0 <= self.lam < math.inf or self.members < 2:
            raise ValueError(f"lam must be at least 0 and members at least 2, got {self.lam} and {self.members}")

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        rows = bootstrap(problem, seeds, members=self.members)
        return fit_stack(problem, rows, seeds, coupling=lambda step: self.lam * consistency(problem.task, step.outputs))
