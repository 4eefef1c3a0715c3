r"""Support vector machine (scikit-learn): the widest margin, with a Tanimoto kernel on bits, otherwise a Gaussian one.

Probabilities are Platt's: a sigmoid of the decision function, fitted to its values on five held-out folds. The formulas
are the Tanimoto kernel k of two fingerprints a and b (bars count the ones), the decision function g, and the sigmoid σ
with its parameters u and v.

$$
k(a, b) = \frac{a^\top b}{\lvert a \rvert + \lvert b \rvert - a^\top b}
$$

$$
g(x) = \sum_{i=1}^{N} \alpha_i y_i \, k(x_i, x) + b, \quad 0 \le \alpha_i \le C, \qquad
\hat p(x) = \sigma(u \, g(x) + v)
$$

Source: Cortes and Vapnik 1995, doi:10.1007/BF00994018; the kernel: Ralaivola et al. 2005,
doi:10.1016/j.neunet.2005.07.009.

Difference: unlike with scikit-learn's ``SVC(probability=True)``, the folds are the same every time and keep the repeats
of a molecule in the bootstrap together, because a model that has seen one of them would be overconfident.

Cost: trains one machine, and for probabilities five more on the folds; trains no network.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmark.learners._estimator import Estimators, Kernel, TrainingSet, kernel_for
from benchmark.pipeline import Inputs, Positive, Sample, learner


@learner("svm", title="SVM", revision=1)
class SVM(Estimators):
    C: Positive = 1.0
    """Weight of errors relative to the margin; the default is scikit-learn's. The targets of a regression are
    standardised first."""
    width: Positive = 1.0
    """Width of a Gaussian kernel, in units of scikit-learn's default; the Tanimoto kernel has none."""

    later = frozenset({"width"})
    swept = "C"
    grid = (
        *({"C": C} for C in (0.1, 0.2, 0.35, 0.7)),
        *({"C": C, "width": width} for C, width in ((1.0, 2.0), (1.0, 1.0), (2.5, 2.0), (1.0, 0.5))),
        *({"C": C} for C in (1.5, 2.5, 5.0)),
    )
    """Smaller C first, and at about the same C the wider kernel."""

    def data(self, sample: Sample) -> TrainingSet:
        """Return the rows without a class that has one molecule: calibration holds it out, and no other is left."""
        data = super().data(sample).weighted()
        if data.task == "regression":
            return data
        single = [label for label in np.unique(data.y) if len(np.unique(data.rows[data.y == label])) == 1]
        kept = ~np.isin(data.y, single)
        if not kept.any():
            kept = data.y == data.y[0]
        weight = None if data.weight is None else data.weight[kept]
        return replace(data, x=data.x[kept], y=data.y[kept], rows=data.rows[kept], weight=weight)

    def trained(self, data: TrainingSet) -> Any:
        kernel = self.kernel(data.x)
        return self.machine(data, kernel(data.x, data.x), kernel)

    def along(self, sample: Sample, values: Sequence[float], inputs: Inputs) -> Sequence[np.ndarray]:
        data = self.data(sample)
        kernel = self.kernel(data.x)
        similar, new = kernel(data.x, data.x), kernel(inputs.x.astype(np.float64), data.x)
        machines = [replace(self, C=C).machine for C in values]
        fits = [partial(machine, similar=similar, kernel=lambda *_: new) for machine in machines]
        return [self.fitted(sample, data, fit).predict(inputs) for fit in fits]

    def machine(self, data: TrainingSet, similar: np.ndarray, kernel: Kernel) -> "OfSimilarities":
        """Return a machine fitted to the similarities (N, N) of the rows of ``data``."""
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVC, SVR

        from benchmark.learners._folds import GroupFolds

        if data.task == "regression":
            model = TransformedTargetRegressor(SVR(C=self.C, kernel="precomputed"), transformer=StandardScaler())
        else:
            with warnings.catch_warnings():  # fewer molecules of a class than folds are spread over some of them
                warnings.filterwarnings("ignore", "The least populated class")
                folds = list(GroupFolds(5).split(data.x, data.y, groups=data.rows))
            model = CalibratedClassifierCV(SVC(C=self.C, kernel="precomputed"), cv=folds, ensemble=False)
        model.fit(similar, data.y, sample_weight=data.weight)
        return OfSimilarities(model, kernel, data.x, getattr(model, "classes_", None))

    def kernel(self, x: np.ndarray) -> Kernel:
        """Return the kernel for rows like ``x`` (N, D)."""
        return kernel_for(x, self.width)


@dataclass(frozen=True)
class OfSimilarities:
    """An estimator that was fitted to the similarities (N, N) of its training rows ``x`` (N, D)."""

    estimator: Any
    kernel: Kernel
    x: np.ndarray
    classes_: np.ndarray | None

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.estimator.predict(self.kernel(x, self.x)))

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.estimator.predict_proba(self.kernel(x, self.x)))
