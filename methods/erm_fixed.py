"""ERM with some of its three sources of randomness held fixed, to find out which of them flips predictions. Ours.

This is the instrument of the study ``decomposition``, not a method to be ranked.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import NonNegativeInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Problem


@method("erm_fixed", title="ERM, some randomness fixed")
@dataclass(frozen=True)
class ERMFixed:
    data: NonNegativeInt | None = None
    """Train seed whose bootstrap all retrainings share; by default each draws its own."""
    initialisation: NonNegativeInt | None = None
    """The same for the initial weights."""
    batches: NonNegativeInt | None = None
    """The same for the order of the batches."""

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        sources = (self.data, self.initialisation, self.batches)
        data, initialisation, batches = ([seed if s is None else s for seed in seeds] for s in sources)
        return fit_stack(problem, bootstrap(problem, data), initialisation, batches=batches)
