"""ERM: one network on one bootstrap, the reference for all other methods (paper, section Methods)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Problem


@method("erm", title="ERM")
@dataclass(frozen=True)
class ERM:
    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        return fit_stack(problem, bootstrap(problem, seeds), seeds)
