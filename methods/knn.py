r"""k nearest neighbours: the labels of the most similar training rows, averaged.

The similarity is Tanimoto's of bits, or the Euclidean distance of other features. A row that the bootstrap repeats
counts repeatedly. NN is the set of the k nearest rows.

$$
\hat p(x)_c = \frac{1}{k} \sum_{j \in \mathrm{NN}_k(x)} [y_j = c]
$$

Source: Cover and Hart 1967, doi:10.1109/TIT.1967.1053964.

Difference: none. It is equivalent to scikit-learn's with ``metric="jaccard"``, but many times faster, as one matrix
product gives all similarities.

Cost: trains nothing; a prediction compares a molecule with all training rows.
"""

from typing import Any, NamedTuple

import numpy as np
from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from methods._estimator import Estimators, Kernel, TrainingSet, kernel_for


@method("knn", title="k-NN")
@dataclass(frozen=True)
class KNN(Estimators):
    k: PositiveInt = 5
    """Number of neighbours; the default is scikit-learn's."""

    def trained(self, data: TrainingSet) -> Any:
        return Neighbours(self.k, kernel_for(data.x), data.x, data.y)


class Neighbours(NamedTuple):
    """Rows ``x`` (N, D) and their labels ``y`` (N,). Repeated rows count repeatedly; the first drawn wins a tie."""

    k: int
    kernel: Kernel
    x: np.ndarray
    y: np.ndarray

    @property
    def classes_(self) -> np.ndarray:
        return np.unique(self.y)

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """Return the labels (T, k) of the nearest rows, nearest first."""
        order = np.argsort(-self.kernel(x, self.x), axis=1, kind="stable")
        return self.y[order[:, : self.k]]

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.nearest(x).mean(axis=1))

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return np.asarray((self.nearest(x)[..., None] == self.classes_).mean(axis=1))
