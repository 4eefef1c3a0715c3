"""Codistillation: two networks on disjoint shards, pulled together by a consistency loss (paper, overlap appendix).

After Anil et al. 2018, arXiv:1804.03235, where each network learns from stale copies of the others after a burn-in;
here both are pulled together on both batches from the first step, as in ``twin``. ERM's bootstrap is divided between
the two networks, so each has half as many draws and takes half as many steps. If the whole pool were divided instead,
all retrainings would contain the same molecules, and their agreement would say nothing about resampling.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import Weight, consistency, fit_stack, shards
from benchmark.types import Fitted, Problem


@method("codistillation", title="Codistillation λ={lam:g}", regression={"lam": 3.0})
@dataclass(frozen=True)
class Codistillation:
    lam: Weight = 300.0
    """Weight of the consistency loss, as in ``twin``."""

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        rows = shards(problem, seeds)
        return fit_stack(problem, rows, seeds, coupling=lambda step: self.lam * consistency(problem.task, step.outputs))
