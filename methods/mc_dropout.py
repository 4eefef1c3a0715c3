r"""MC dropout: one network with dropout that stays on at prediction, averaged over many passes.

Each of the T passes sets every hidden unit to zero with probability ``p``; the mask m says which.

$$
\hat p(x) = \frac{1}{T} \sum_{t=1}^{T} p_{\theta, m_t}(x)
$$

Source: Gal and Ghahramani 2016, arXiv:1506.02142; Prastalo and Jablonka 2026, section Methods.

Difference: as in the paper, except that training uses AdamW, as with all networks here.
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
    """Dropout rate after each hidden layer; the default is the paper's."""
    passes: PositiveInt = 20
    """Forward passes with dropout that are averaged at prediction; the default is the paper's T."""

    def fit(self, sample: Sample) -> Fitted:
        return fit_stack(sample, sample.rows[None], dropout=self.p, passes=self.passes)
