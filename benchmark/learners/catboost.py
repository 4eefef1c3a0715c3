r"""CatBoost: boosted symmetric trees, which ask the same question at all nodes of a level.

A tree of depth d has d questions, whether the feature j is above the threshold t, and a value v for each pattern of
answers. It follows the gradient of the loss of those before it; ν is the learning rate ``rate``. Questions are chosen
on randomly drawn and weighted rows, by scores with noise.

$$
F_m(x) = F_{m-1}(x) + \nu \, h_m(x), \qquad
h_m(x) = v_m\left( [x_{j_1} > t_1], \ldots, [x_{j_d} > t_d] \right)
$$

Source: Prokhorenkova et al. 2018, arXiv:1706.09516.

Difference: the library's defaults, with plain instead of the paper's ordered boosting; all features are numbers.

Cost: grows as many trees as ``trees`` and trains no network.
"""

from typing import Annotated

from benchmark.learners._library import BOOSTING, LibraryEstimator
from benchmark.pipeline import Field, PositiveInt, PositiveShare, learner


@learner("catboost", title="CatBoost", revision=1)
class CatBoost(LibraryEstimator):
    trees: PositiveInt = 1000
    """Number of iterations."""
    depth: Annotated[int, Field(gt=0, le=16)] = 6
    """Number of questions in a tree, d in the formula."""
    rate: PositiveShare | None = None
    """Learning rate, the factor that shrinks each tree, ν in the formula. By default, the library derives it from the
    number of rows and of trees."""

    offers = frozenset({"targets", "randomness"})
    swept, limit = "trees", "ntree_end"
    grid = (*({"depth": depth, "rate": 0.05, "trees": trees} for depth in (4, 6) for trees in (100, 250, 500)), {})
    """Small trees first, then fewer of them; the default has the most."""
    requires, extra = ("catboost",), BOOSTING
    estimator = "catboost.CatBoost"
    named = ("iterations", "depth", "learning_rate")
