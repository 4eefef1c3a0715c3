r"""ERM: one network on one bootstrap, the reference for all other methods.

The network minimises the fit loss on the rows that a single model is given at a train seed (empirical risk
minimisation). Every difference on the board is taken against it.

$$
\min_\theta L_S(\theta), \qquad \hat p(x) = p_\theta(x)
$$

Source: Prastalo and Jablonka 2026, section Methods.
"""

from benchmark.pipeline import Learner, Model, Remedy, Sample, method


@method("erm", title="ERM", revision=1)
class ERM(Remedy):
    def fit(self, sample: Sample, learner: Learner) -> Model:
        return learner.fit(sample)
