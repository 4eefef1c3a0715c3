"""Twin-shared: two networks on the same data, pulled together by a consistency loss (paper, overlap appendix).

They differ only in initialisation and batch order. After Bhojanapalli et al. 2021, arXiv:2102.03349.
"""

import numpy as np
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import Weight, consistency, fit_stack
from benchmark.train.stack import Stack
from benchmark.types import Sample


@method("twin_shared", title="Twin-shared λ={lam:g}", regression={"lam": 3.0})
@dataclass(frozen=True)
class TwinShared:
    lam: Weight = 300.0
    """Weight of the consistency loss, as in ``twin``."""

    def fit(self, sample: Sample) -> Stack:
        rows = np.tile(sample.rows, (2, 1))
        return fit_stack(sample, rows, coupling=lambda step: self.lam * consistency(sample.task, step.outputs))
