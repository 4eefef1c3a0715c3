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

from benchmark.learners._estimator import TrainingSet
from benchmark.learners._library import Forest
from benchmark.pipeline import PositiveInt, PositiveShare, learner


@learner("random_forest", title="Random forest", revision=1)
class RandomForest(Forest):
    trees: PositiveInt = 500
    """Number of trees, T in the formula."""
    leaf: PositiveInt = 1
    """Fewest training rows in a leaf."""
    share: PositiveShare | None = None
    """Share of the features that are tried at a split: by default √D of them for classes, and all for regressions."""

    later = frozenset({"share"})
    estimator = "sklearn.ensemble.RandomForest"

    def settings(self, data: TrainingSet) -> dict[str, Any]:
        # A tree draws as many rows as there are molecules, also where a soft label is several rows.
        return super().settings(data) | {"max_samples": len(data.y)}
