r"""XGBoost: boosted trees of limited depth, with a penalty on what their leaves say.

Each tree follows the gradient and the curvature of the loss of those before it; ν is the learning rate ``rate``. In a
leaf, G and H are the sums of the first and second derivatives of the loss of its rows, and λ is 1.

$$
F_m(x) = F_{m-1}(x) + \nu \, h_m(x), \qquad h_m(x) = -\frac{G}{H + \lambda} \text{ in the leaf of } x
$$

Source: Chen and Guestrin 2016, doi:10.1145/2939672.2939785.

Difference: none; the library's defaults.

Cost: grows one tree in each iteration, or one for each class if there are more than two; trains no network.
"""

from benchmark.learners._library import BOOSTING, LibraryEstimator
from benchmark.pipeline import PositiveInt, PositiveShare, learner


@learner("xgboost", title="XGBoost", revision=1)
class XGBoost(LibraryEstimator):
    trees: PositiveInt = 100
    """Number of iterations."""
    rate: PositiveShare = 0.3
    """Learning rate, the factor that shrinks each tree, ν in the formula."""
    depth: PositiveInt = 6
    """Most splits between the root and a leaf."""

    swept, limit = "trees", "iteration_range"
    grid = (
        *({"depth": 3, "rate": 0.1, "trees": trees} for trees in (50, 100, 200)),
        *({"depth": depth, "trees": trees} for depth in (3, 6) for trees in (25, 50, 100, 200)),
    )
    """Small trees first, then a lower rate, then fewer of them."""
    requires, extra = ("xgboost",), BOOSTING
    estimator = "xgboost.XGB"
    named = ("n_estimators", "learning_rate", "max_depth")
