"""Least squares on class labels, as an estimator that scikit-learn can calibrate."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.kernel_ridge import KernelRidge


class Labels(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares on labels of ±1 for each class, centred, from similarities (N, N)."""

    def __init__(self, l2: float = 1.0) -> None:
        self.l2 = l2

    def fit(self, similar: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> "Labels":
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
