"""Least squares on similarities: of class labels, for scikit-learn to calibrate, and of numbers, calibrated."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GroupKFold, cross_val_predict


class Labels(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares on labels of ±1 for each class, centred, from similarities (N, N)."""

    def __init__(self, l2: float = 1.0) -> None:
        self.l2 = l2

    def fit(self, similar: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        self.classes_ = np.unique(y)
        labels = np.where(y[:, None] == self.classes_, 1.0, -1.0)
        self.mean_ = np.average(labels, axis=0, weights=sample_weight)
        model = KernelRidge(self.l2, kernel="precomputed")
        self.model_ = model.fit(similar, labels - self.mean_, sample_weight)
        return self

    def decision_function(self, similar: np.ndarray) -> np.ndarray:
        """Return the scores (T,) of the second of two classes, or (T, C) of each of more."""
        scores = np.asarray(self.model_.predict(similar) + self.mean_)
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict(self, similar: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes_[(self.model_.predict(similar) + self.mean_).argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True  # a fold takes its rows and its columns
        return tags


@dataclass
class Stretched:
    """A regression from similarities whose deviations from the mean are multiplied by a factor.

    The factor is the least-squares one for values predicted from other molecules, on five folds. It is 0 where these
    point the wrong way, as without any signal, so that all predictions are the mean; and 1 if there are fewer than two
    molecules. Row numbers tell the repeats of a molecule.
    """

    model: KernelRidge
    mean: float = 0.0
    factor: float = 1.0

    def fit(self, similar: np.ndarray, y: np.ndarray, rows: np.ndarray) -> Self:
        self.mean = float(y.mean())
        deviations, groups = y.astype(np.float64) - self.mean, len(np.unique(rows))
        if groups > 1:
            folds = GroupKFold(min(5, groups))
            held_out = cross_val_predict(self.model, similar, deviations, groups=rows, cv=folds)
            self.factor = max(0.0, float(held_out @ deviations / (held_out @ held_out))) if held_out.any() else 1.0
        self.model.fit(similar, deviations)
        return self

    def predict(self, similar: np.ndarray) -> np.ndarray:
        return np.asarray(self.mean + self.factor * self.model.predict(similar))
