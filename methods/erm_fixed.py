"""ERM of whose three sources of randomness some are held fixed: to tell which of them makes predictions flip. Ours.

No method to be ranked, but the instrument of the study ``decomposition``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Problem


@method("erm_fixed", title="ERM, some randomness fixed")
@dataclass(frozen=True)
class ERMFixed:
    data: int | None = None
    """The train seed whose bootstrap all retrainings see; by default each draws its own."""
    initialisation: int | None = None
    """The same for the weights that training starts from."""
    batches: int | None = None
    """The same for the order of the batches."""

    def __post_init__(self) -> None:
        if any(seed is not None and seed < 0 for seed in (self.data, self.initialisation, self.batches)):
            raise ValueError("data, initialisation and batches are train seeds, 0 or more")

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        def of(fixed: int | None) -> list[int]:
            return [seed if fixed is None else fixed for seed in seeds]

        rows = bootstrap(problem, of(self.data))
        return fit_stack(problem, rows, of(self.initialisation), batches=of(self.batches))
