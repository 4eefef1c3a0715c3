"""Codistillation: two networks on disjoint shards, pulled together by a consistency loss (paper, overlap appendix).

After Anil et al. 2018, arXiv:1804.03235, where each network learns from stale copies of the others after a burn-in;
here both are pulled together on both batches from the first step, as in ``twin``. ERM's bootstrap is divided between
the two networks, so each has half as many draws and takes half as many steps. If the whole pool is divided instead
(``whole``), all retrainings contain the same molecules, and their agreement says nothing about resampling.
"""

from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import Weight, consistency, fit_stack, shards
from benchmark.train.stack import Stack
from benchmark.types import Sample


@method("codistillation", title="Codistillation λ={lam:g}", regression={"lam": 3.0})
@dataclass(frozen=True)
class Codistillation:
    lam: Weight = 300.0
    """Weight of the consistency loss, as in ``twin``."""
    whole: bool = False
    """Under ``paper``, divide the whole pool instead of the bootstrap, which reproduces the published numbers."""

    def fit(self, sample: Sample) -> Stack:
        rows = shards(sample, sample.resampled if self.whole else sample.rows)
        return fit_stack(sample, rows, coupling=lambda step: self.lam * consistency(sample.task, step.outputs))
