"""Stochastic weight averaging: the mean of ERM's weights at the ends of the later epochs.

Izmailov et al. 2018, arXiv:1803.05407; paper, section Methods.
"""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import fit_stack
from benchmark.types import Fitted, Sample


@method("swa", title="SWA")
@dataclass(frozen=True)
class SWA:
    start: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Share of training after which the weights are averaged."""

    def fit(self, sample: Sample) -> Fitted:
        return fit_stack(sample, sample.rows[None], average_from=self.start)
