"""Bagging: the average of k networks on k bootstraps. Breiman 1996, doi:10.1007/BF00058655; paper, Methods."""

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Sample


@method("bagging", title="Bagging K={k}")
@dataclass(frozen=True)
class Bagging:
    k: PositiveInt = 5

    def fit(self, sample: Sample) -> Fitted:
        return fit_stack(sample, bootstrap(sample, self.k))
