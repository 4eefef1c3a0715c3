r"""Stochastic weight averaging: the mean of ERM's weights at the ends of the later epochs.

The network is trained like ERM, and predicts with the mean weights. E is the set of epochs after the
share ``start`` of training, and θ with the index e are the weights at the end of epoch e.

$$
\bar\theta = \frac{1}{|E|} \sum_{e \in E} \theta_e, \qquad \hat p(x) = p_{\bar\theta}(x)
$$

Source: Izmailov et al. 2018, arXiv:1803.05407; Prastalo and Jablonka 2026, section Methods.

Difference: Izmailov et al. average at a constant or cyclical learning rate; here, as in the paper, the optimiser and
its rate are ERM's.
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
    """Share of training after which the weights are averaged; the paper averages over the second half."""

    def fit(self, sample: Sample) -> Fitted:
        return fit_stack(sample, sample.rows[None], average_from=self.start)
