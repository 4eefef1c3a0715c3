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

from benchmark.learners._library import Forest
from benchmark.pipeline import PositiveInt, PositiveShare, learner


@learner("extra_trees", title="Extra trees", revision=1)
class ExtraTrees(Forest):
    trees: PositiveInt = 500
    """Number of trees, T in the formula."""
    leaf: PositiveInt = 1
    """Fewest training rows in a leaf."""
    share: PositiveShare | None = None
    """Share of the features that are tried at a split, as in ``random_forest``."""

    later = frozenset({"leaf", "share"})
    estimator = "sklearn.ensemble.ExtraTrees"
