r"""Random forest (scikit-learn): the average of trees on bootstraps, with each split chosen among some of the features.

The forest is grown on the rows that ERM is trained on, and resamples them once more for each of its T trees.

$$
\hat p(x) = \frac{1}{T} \sum_{t=1}^{T} p_t(x)
$$

Source: Breiman 2001, doi:10.1023/A:1010933404324.

Difference: scikit-learn's defaults: its trees give probabilities, which are averaged, and regression trees consider all
features at each split.

Cost: grows as many trees as ``trees`` and trains no network.
"""

from typing import Any

from benchmark.learners._estimator import Estimators, TrainingSet
from benchmark.pipeline import PositiveInt, learner


@learner("random_forest", title="Random forest", revision=1)
class RandomForest(Estimators):
    trees: PositiveInt = 500
    """Number of trees, T in the formula."""
    leaf: PositiveInt = 1
    """Fewest training rows in a leaf."""

    offers = frozenset({"targets", "randomness"})

    def trained(self, data: TrainingSet) -> Any:
        n, data = len(data.y), data.weighted()
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        kind = RandomForestClassifier if data.task == "classification" else RandomForestRegressor
        # A tree draws as many rows as there are molecules, also where a soft label is several rows.
        about = {"min_samples_leaf": self.leaf, "max_samples": n, "random_state": data.random_state}
        forest = kind(self.trees, **about, n_jobs=1)
        return forest.fit(data.x, data.y, sample_weight=data.weight)
