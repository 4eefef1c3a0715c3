"""Bagging: k networks on k independent bootstraps, averaged. Breiman 1996, doi:10.1007/BF00058655; paper, Methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Problem


@method("bagging", title="Bagging K={k}")
@dataclass(frozen=True)
class Bagging:
    k: int = 5

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k must be at least 1, got {self.k}")

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        return fit_stack(problem, bootstrap(problem, seeds, members=self.k), seeds)
