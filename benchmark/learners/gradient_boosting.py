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

from typing import Any

from benchmark.learners._estimator import Estimators, TrainingSet, are_bits
from benchmark.pipeline import PositiveInt, PositiveShare, learner


@learner("gradient_boosting", title="Gradient boosting", revision=1)
class GradientBoosting(Estimators):
    trees: PositiveInt = 100
    """Number of iterations."""
    rate: PositiveShare = 0.1
    """Learning rate, the factor that shrinks each tree, ν in the formula."""

    def trained(self, data: TrainingSet) -> Any:
        data = data.weighted()
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        kind = HistGradientBoostingClassifier if data.task == "classification" else HistGradientBoostingRegressor
        bins = 2 if are_bits(data.x) else 255  # bits have two values: more bins give the same trees, more slowly
        model = kind(max_iter=self.trees, learning_rate=self.rate, max_bins=bins, random_state=data.random_state)
        return model.fit(data.x, data.y, sample_weight=data.weight)
