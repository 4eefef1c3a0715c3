r"""ERM: one network on one bootstrap, the reference for all other methods.

The network minimises the fit loss on the rows that a single model is given at a train seed (empirical risk
minimisation). Every difference on the board is taken against it.

$$
\min_\theta L_S(\theta), \qquad \hat p(x) = p_\theta(x)
$$

Source: Prastalo and Jablonka 2026, section Methods.
"""

from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import fit_stack
from benchmark.types import Fitted, Sample


@method("erm", title="ERM")
@dataclass(frozen=True)
class ERM:
    def fit(self, sample: Sample) -> Fitted:
        return fit_stack(sample, sample.rows[None])
