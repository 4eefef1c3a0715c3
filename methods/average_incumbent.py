r"""Average of old and new: the mean of the predictions of the earlier model and of ERM on all rows.

A cheap control for every method that uses an earlier model. Both models have to be kept. The average is not averaged
again at the next update: the earlier model is always ERM.

$$
\hat p(x) = \frac{1}{2} \left[ p_{\mathrm{old}}(x) + p_\theta(x) \right]
$$

Source: ours, as a control.

Cost: trains one network beside the earlier one; a prediction uses both.
"""

from benchmark.pipeline import Learner, Model, Remedy, Sample, method
from benchmark.train import LearnedFrom, Mean, before_update


@method("average_incumbent", title="Average of old and new", revision=1)
class AverageIncumbent(Remedy):
    samplings = ("update",)
    incumbent = "erm"

    def fit(self, sample: Sample, learner: Learner) -> Model:
        both = [learner.fit(known) for known in (before_update(sample), sample)]
        return LearnedFrom(Mean(both), sample.rows)
