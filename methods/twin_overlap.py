"""Twin-bootstrap with a knob for how much the two networks' training data overlap, from nothing to all. Ours.

At share 0 they hold no molecule together, as in codistillation (but with N draws each, from half of the pool); at share
1 they are twin-shared. At 0.5 they hold 39 % of the pool together, about as twin-bootstrap's independent bootstraps do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import consistency, fit_stack, overlapping
from benchmark.types import Fitted, Problem


@method("twin_overlap", title="Twin-overlap {share:g} λ={lam:g}", regression={"lam": 3.0})
@dataclass(frozen=True)
class TwinOverlap:
    lam: float = 300.0
    """Weight of the consistency loss, as of ``twin``."""
    share: float = 0.5
    """Probability that a draw of training data is one for both networks; ``benchmark.train.overlap`` measures."""

    def __post_init__(self) -> None:
        if not (0 <= self.lam < math.inf and 0 <= self.share <= 1):
            raise ValueError(f"lam must be at least 0 and share in [0, 1], got {self.lam} and {self.share}")

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        rows = overlapping(problem, seeds, self.share)
        return fit_stack(problem, rows, seeds, coupling=lambda step: self.lam * consistency(problem.task, step.outputs))
