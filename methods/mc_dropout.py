"""MC dropout: one network with dropout, which stays on at prediction and is averaged over many passes.

Gal and Ghahramani 2016, arXiv:1506.02142; paper, section Methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Problem


@method("mc_dropout", title="MC dropout")
@dataclass(frozen=True)
class MCDropout:
    p: float = 0.2
    """Dropout rate after each hidden layer."""
    passes: int = 20
    """Stochastic forward passes averaged at prediction (T in the paper)."""

    def __post_init__(self) -> None:
        if not 0 <= self.p < 1 or self.passes < 1:
            raise ValueError(f"p must be in [0, 1) and passes at least 1, got p={self.p}, passes={self.passes}")

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        return fit_stack(problem, bootstrap(problem, seeds), seeds, dropout=self.p, passes=self.passes)
