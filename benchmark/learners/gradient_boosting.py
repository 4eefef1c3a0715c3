r"""Gradient boosting (scikit-learn): trees on histograms, each fitted to the gradient of the loss of those before it.

F is the score before the softmax or, in a regression, the prediction; ν is the learning rate ``rate``.

$$
F_m(x) = F_{m-1}(x) + \nu \, h_m(x), \qquad
h_m(x_i) \approx -\frac{\partial \ell(y_i, F_{m-1}(x_i))}{\partial F_{m-1}(x_i)}
$$

Source: Friedman 2001, doi:10.1214/aos/1013203451; Ke et al. 2017 (LightGBM, NeurIPS).

Difference: scikit-learn's implementation, which follows LightGBM.

Cost: grows one tree in each iteration, or one for each class if there are more than two; trains no network.
"""

from typing import Annotated, Any

from benchmark.learners._estimator import TrainingSet, are_bits
from benchmark.learners._library import BY_LEAVES, LibraryEstimator
from benchmark.pipeline import Field, PositiveInt, PositiveShare, learner


@learner("gradient_boosting", title="Gradient boosting", revision=1)
class GradientBoosting(LibraryEstimator):
    trees: PositiveInt = 100
    """Number of iterations."""
    rate: PositiveShare = 0.1
    """Learning rate, the factor that shrinks each tree, ν in the formula."""
    leaves: Annotated[int, Field(ge=2)] = 31
    """Most leaves of a tree."""

    later = frozenset({"leaves"})
    swept = "trees"
    grid = BY_LEAVES
    estimator = "sklearn.ensemble.HistGradientBoosting"
    named = ("max_iter", "learning_rate", "max_leaf_nodes")

    def settings(self, data: TrainingSet) -> dict[str, Any]:
        bins = 2 if are_bits(data.x) else 255  # bits have two values: more bins give the same trees, more slowly
        return super().settings(data) | {"max_bins": bins}
