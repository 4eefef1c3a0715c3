r"""Average of old and new: the mean of the predictions of the earlier model and of ERM on all rows.

A cheap control for every method that uses an earlier model. Both models have to be kept. The average is not averaged
again at the next update: the earlier model is always ERM.

$$
\hat p(x) = \frac{1}{2} \left[ p_{\mathrm{old}}(x) + p_\theta(x) \right]
$$

Source: ours, as a control.

Cost: trains one network beside the earlier one; a prediction uses both.
"""

from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import fit_stack
from benchmark.types import Fitted, Sample
from methods._incumbent import Updates, incumbent
from methods._soft import Mean, Trained


@method("average_incumbent", title="Average of old and new")
@dataclass(frozen=True)
class AverageIncumbent(Updates):
    def fit(self, sample: Sample) -> Fitted:
        return Mean((incumbent(sample), Trained(fit_stack(sample, sample.rows[None]))), sample.rows)
