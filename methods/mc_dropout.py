"""MC dropout: one network with dropout that stays on at prediction, averaged over many passes.

Gal and Ghahramani 2016, arXiv:1506.02142; paper, section Methods.
"""

from typing import Annotated

from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import fit_stack
from benchmark.types import Fitted, Sample


@method("mc_dropout", title="MC dropout")
@dataclass(frozen=True)
class MCDropout:
    p: Annotated[float, Field(ge=0, lt=1)] = 0.2
    """Dropout rate after each hidden layer."""
    passes: PositiveInt = 20
    """Stochastic forward passes averaged at prediction (T in the paper)."""

    def fit(self, sample: Sample) -> Fitted:
        return fit_stack(sample, sample.rows[None], dropout=self.p, passes=self.passes)
