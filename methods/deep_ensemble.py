"""Deep ensemble: the average of k networks on one bootstrap, which differ in initialisation and batch order.

Lakshminarayanan et al. 2017, arXiv:1612.01474; paper, section Methods.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Problem


@method("deep_ensemble", title="Deep ensemble K={k}")
@dataclass(frozen=True)
class DeepEnsemble:
    k: PositiveInt = 5

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        return fit_stack(problem, bootstrap(problem, seeds).repeat(self.k, axis=1), seeds)
