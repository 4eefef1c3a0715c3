r"""Extremely randomised trees (scikit-learn): a forest with random thresholds and no second bootstrap.

With scikit-learn's defaults, regression trees consider all features at each split. A bit has only one threshold, so on
fingerprints these trees are nearly identical and averaging helps little: expect a churn close to that of a single tree.

$$
\hat p(x) = \frac{1}{T} \sum_{t=1}^{T} p_t(x)
$$

Source: Geurts et al. 2006, doi:10.1007/s10994-006-6226-1.

Difference: none; it is scikit-learn's implementation with its defaults.

Cost: grows as many trees as ``trees`` and trains no network.
"""

from typing import Any

from benchmark.learners._estimator import Estimators, TrainingSet
from benchmark.pipeline import PositiveInt, learner


@learner("extra_trees", title="Extra trees", revision=1)
class ExtraTrees(Estimators):
    trees: PositiveInt = 500
    """Number of trees, T in the formula."""

    offers = frozenset({"targets", "randomness"})

    def trained(self, data: TrainingSet) -> Any:
        data = data.weighted()
        from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

        kind = ExtraTreesClassifier if data.task == "classification" else ExtraTreesRegressor
        return kind(self.trees, random_state=data.random_state, n_jobs=1).fit(data.x, data.y, sample_weight=data.weight)
