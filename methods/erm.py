"""ERM: one network on one bootstrap, the reference for all other methods (paper, section Methods)."""

from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import fit_stack
from benchmark.types import Fitted, Sample


@method("erm", title="ERM")
@dataclass(frozen=True)
class ERM:
    def fit(self, sample: Sample) -> Fitted:
        return fit_stack(sample, sample.rows[None])
