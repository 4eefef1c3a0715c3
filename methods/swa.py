"""Stochastic weight averaging: ERM's own trajectory, its weights averaged at the ends of the later epochs.

Izmailov et al. 2018, arXiv:1803.05407; paper, section Methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Problem


@method("swa", title="SWA")
@dataclass(frozen=True)
class SWA:
    start: float = 0.5
    """Share of training after which the weights are averaged."""

    def __post_init__(self) -> None:
        if not 0 <= self.start < 1:
            raise ValueError(f"start must be at least 0 and below 1, got {self.start}")

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        return fit_stack(problem, bootstrap(problem, seeds), seeds, average_from=self.start)
