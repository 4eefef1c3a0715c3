"""Codistillation: two networks on disjoint shards, pulled together by a consistency loss (paper, overlap appendix).

After Anil et al. 2018, arXiv:1804.03235, where each network learns from stale copies of the others, after a burn-in;
here both are pulled on both batches from the first step on, as in ``twin``. A retraining sees the bootstrap that ERM
sees, divided between its two networks: each has half as many draws, and takes half as many steps. Were the whole pool
divided, all retrainings would hold the same molecules, and their agreement would say nothing about resampling.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import consistency, fit_stack, shards
from benchmark.types import Fitted, Problem


@method("codistillation", title="Codistillation λ={lam:g}", regression={"lam": 3.0})
@dataclass(frozen=True)
class Codistillation:
    lam: float = 300.0
    """Weight of the consistency loss, as of ``twin``."""

    def __post_init__(self) -> None:
        if not 0 <= self.lam < math.inf:
            raise ValueError(f"lam must be at least 0, got {self.lam}")

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        rows = shards(problem, seeds)
        return fit_stack(problem, rows, seeds, coupling=lambda step: self.lam * consistency(problem.task, step.outputs))
