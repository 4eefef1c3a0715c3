r"""ERM on the whole training pool: an unranked control that shows the effect on churn of seeing every row.

Nothing is resampled, so retrainings differ only in their initial weights and in the order of their batches. P is the
training pool.

$$
\min_\theta L_P(\theta), \qquad \hat p(x) = p_\theta(x)
$$

Source: ours, as a control.
"""

from benchmark.pipeline import Learner, Model, Remedy, Sample, method


@method("erm_whole", title="ERM on the whole pool", revision=1)
class ERMWhole(Remedy):
    control = True
    samplings = ("paper",)

    def fit(self, sample: Sample, learner: Learner) -> Model:
        return learner.fit(sample.of(sample.bootstrap_pool))
