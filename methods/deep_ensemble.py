"""Deep ensemble: k networks on the same bootstrap, differing in initialisation and batch order, averaged.

Lakshminarayanan et al. 2017, arXiv:1612.01474; paper, section Methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Problem


@method("deep_ensemble", title="Deep ensemble K={k}")
@dataclass(frozen=True)
class DeepEnsemble:
    k: int = 5

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k must be at least 1, got {self.k}")

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        rows = bootstrap(problem, seeds).repeat(self.k, axis=1)
        return fit_stack(problem, rows, seeds)
