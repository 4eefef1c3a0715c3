"""Twin-bootstrap: networks on independent bootstraps, pulled together by a consistency loss (paper, Algorithm 1)."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import Weight, bootstrap, consistency, fit_stack
from benchmark.types import Fitted, Sample


@method("twin", title="Twin-bootstrap λ={lam:g}", regression={"lam": 3.0})
@dataclass(frozen=True)
class Twin:
    lam: Weight = 300.0
    """Weight of the consistency loss; the paper's rule selects 300 for classification and 3 for regression."""
    members: Annotated[int, Field(ge=2)] = 2
    """Number of networks trained together; the disagreement is averaged over their pairs."""

    def fit(self, sample: Sample) -> Fitted:
        rows = bootstrap(sample, self.members)
        return fit_stack(sample, rows, coupling=lambda step: self.lam * consistency(sample.task, step.outputs))
