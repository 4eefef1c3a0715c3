r"""Bagging: the average of k networks on k bootstraps.

Each network is trained on rows of its own, drawn with replacement from what the sampling lets a retraining resample.

$$
\min_{\theta_k} L_{S_k}(\theta_k), \qquad \hat p(x) = \frac{1}{K} \sum_{k=1}^{K} p_{\theta_k}(x)
$$

Source: Breiman 1996, doi:10.1007/BF00058655; Prastalo and Jablonka 2026, section Methods.

Difference: none from the paper, in which all predictors are networks; Breiman averages trees and others.
"""

from benchmark.pipeline import Learner, Model, PositiveInt, Remedy, Sample, method
from benchmark.train import Mean, bootstrap


@method("bagging", title="Bagging K={k}", revision=1)
class Bagging(Remedy):
    k: PositiveInt = 5
    """Number of models; the paper sets 5 in advance, and adds 2 to match the compute of a twin."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        return Mean([learner.fit(sample.of(rows, k)) for k, rows in enumerate(bootstrap(sample, self.k))])
