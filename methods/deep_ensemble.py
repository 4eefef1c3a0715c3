"""Deep ensemble: the average of k networks on one sample, which differ in initialisation and batch order.

Lakshminarayanan et al. 2017, arXiv:1612.01474; paper, section Methods.
"""

import numpy as np
from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import fit_stack
from benchmark.types import Fitted, Sample


@method("deep_ensemble", title="Deep ensemble K={k}")
@dataclass(frozen=True)
class DeepEnsemble:
    k: PositiveInt = 5

    def fit(self, sample: Sample) -> Fitted:
        return fit_stack(sample, np.tile(sample.rows, (self.k, 1)))
