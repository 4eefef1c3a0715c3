r"""Linear models (scikit-learn): logistic regression for classes, ridge regression for numbers.

The intercept is not penalised. The loss ℓ is the cross-entropy of the softmax. In ridge regression it is the squared
error, and the penalty is not halved.

$$
\min_{w, b} \sum_{i=1}^{N} \ell(w^\top x_i + b, y_i) + \frac{\mathrm{l2}}{2} \|w\|^2
$$

Source: Hoerl and Kennard 1970, doi:10.1080/00401706.1970.10488634; le Cessie and van Houwelingen 1992,
doi:10.2307/2347628.

Difference: none; scikit-learn's implementations with its defaults.

Cost: solves one convex problem and trains no network.
"""

from typing import Any

from benchmark.learners._estimator import Estimators, TrainingSet
from benchmark.learners._library import fitted
from benchmark.pipeline import Positive, learner


@learner("linear", title="Logistic or ridge regression", revision=1)
class Linear(Estimators):
    l2: Positive = 1.0
    """Weight of the squared coefficients: ``alpha`` of ridge regression, ``1 / C`` of logistic regression."""

    grid = tuple({"l2": l2} for l2 in (3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1))
    """Larger penalties first."""

    def trained(self, data: TrainingSet) -> Any:
        from sklearn.linear_model import LogisticRegression, Ridge

        classify = data.task == "classification"
        return fitted(LogisticRegression(C=1 / self.l2, max_iter=5000) if classify else Ridge(self.l2), data)
