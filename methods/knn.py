"""The k nearest neighbours: by Tanimoto's similarity of bits, by Euclidean distance of other features.

Cover and Hart 1967, doi:10.1109/TIT.1967.1053964. As scikit-learn's with ``metric="jaccard"``, but with all
similarities from one product of matrices, which is many times as fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.registry import method
from methods._estimator import Estimators, Kernel, Sample, kernel_for


@method("knn", title="k-NN")
@dataclass(frozen=True)
class KNN(Estimators):
    k: int = 5

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k must be at least 1, got {self.k}")

    def trained(self, sample: Sample) -> Any:
        return Neighbours(self.k, kernel_for(sample.x), sample.x, sample.y)


@dataclass(frozen=True)
class Neighbours:
    """Rows ``x`` (N, D) and their labels ``y`` (N,). Those drawn twice count twice; the first drawn wins a tie."""

    k: int
    kernel: Kernel
    x: np.ndarray
    y: np.ndarray

    @property
    def classes_(self) -> np.ndarray:
        return np.unique(self.y)

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """The labels (T, k) of the nearest rows, nearest first."""
        order = np.argsort(-self.kernel(x, self.x), axis=1, kind="stable")
        return self.y[order[:, : self.k]]

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.nearest(x).mean(axis=1))

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return np.asarray((self.nearest(x)[..., None] == self.classes_).mean(axis=1))
