r"""LightGBM: boosted trees that grow leaf by leaf, always at the leaf whose split lowers the loss most.

Each tree follows the gradient of the loss of those before it; ν is the learning rate ``rate``. A split is as good as
its gain, in which G and H are the sums of the first and second derivatives of the loss on its left and right sides.

$$
F_m(x) = F_{m-1}(x) + \nu \, h_m(x), \qquad
\text{gain} = \frac{G_L^2}{H_L} + \frac{G_R^2}{H_R} - \frac{(G_L + G_R)^2}{H_L + H_R}
$$

Source: Ke et al. 2017 (LightGBM, NeurIPS).

Difference: the library's defaults, which leave out the paper's sampling of rows by their gradients (GOSS).

Cost: grows one tree in each iteration, or one for each class if there are more than two; trains no network.
"""

from typing import Annotated

from benchmark.learners._library import BOOSTING, BY_LEAVES, LibraryEstimator
from benchmark.pipeline import Field, PositiveInt, PositiveShare, learner


@learner("lightgbm", title="LightGBM", revision=1)
class LightGBM(LibraryEstimator):
    trees: PositiveInt = 100
    """Number of iterations."""
    rate: PositiveShare = 0.1
    """Learning rate, the factor that shrinks each tree, ν in the formula."""
    leaves: Annotated[int, Field(ge=2, le=131072)] = 31
    """Most leaves of a tree."""

    swept, limit = "trees", "num_iteration"
    grid = BY_LEAVES
    requires, extra = ("lightgbm",), BOOSTING
    estimator = "lightgbm.LGBM"
    named = ("n_estimators", "learning_rate", "num_leaves")
