r"""k nearest neighbours: the labels of the most similar training rows, averaged.

Rows are compared by the Tanimoto similarity of bits, or by the Euclidean distance of other features. A row that the
bootstrap repeats counts each time. NN is the set of the k nearest rows.

$$
\hat p(x)_c = \frac{1}{k} \sum_{j \in \mathrm{NN}_k(x)} [y_j = c]
$$

Source: Cover and Hart 1967, doi:10.1109/TIT.1967.1053964.

Difference: none. It is equivalent to scikit-learn's with ``metric="jaccard"``, but many times faster, as one matrix
product gives all similarities.

Cost: trains nothing; a prediction compares a molecule with all training rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.learners._estimator import Estimators, Kernel, TrainingSet, kernel_for, one_thread
from benchmark.pipeline import PositiveInt, Sample, learner


@learner("knn", title="k-NN", revision=1)
class KNN(Estimators):
    k: PositiveInt = 5
    """Number of neighbours; the default is scikit-learn's."""
    weighted: bool = False
    """Whether a neighbour's vote counts as much as it is similar."""

    later = frozenset({"weighted"})
    grid = tuple({"k": k, "weighted": weighted} for k in (40, 20, 10, 5, 3) for weighted in (False, True))
    """More neighbours first."""

    def trained(self, data: TrainingSet) -> Any:
        if data.task == "regression":
            return Neighbours(self.k, kernel_for(data.x), data.x, data.y, None, self.weighted)
        classes = np.unique(data.y) if data.targets is None else np.arange(data.targets.shape[1])
        shares = (data.y[:, None] == classes).astype(np.float64) if data.targets is None else data.targets
        return Neighbours(self.k, kernel_for(data.x), data.x, shares, classes, self.weighted)


@dataclass(frozen=True)
class Neighbours:
    """Rows ``x`` (N, D) and what they vote for, ``y``: numbers (N,) or probabilities (N, C) of ``classes_`` (C,).

    Repeated rows count repeatedly; the first drawn wins a tie.
    """

    k: int
    kernel: Kernel
    x: np.ndarray
    y: np.ndarray
    classes_: np.ndarray | None
    weighted: bool = False

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Return the mean vote (T,) or (T, C) of the nearest rows."""
        similar = self.kernel(x, self.x)
        order = np.argsort(-similar, axis=1, kind="stable")[:, : self.k]
        if not self.weighted:
            return np.asarray(self.y[order].mean(axis=1))
        weight = np.take_along_axis(similar, order, axis=1) + 1e-12  # of equal votes, where all similarities are 0
        weight /= weight.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("tk,tk...->t...", weight, self.y[order]))

    predict_proba = predict


def of_neighbours(sample: Sample, x: np.ndarray, k: int, others: bool = False) -> np.ndarray:
    """Average the labels of the ``k`` most similar training molecules, (T, C) or (T, 1), for rows ``x`` (T, D).

    These are the distinct molecules of ``sample.rows``. The similarity is that of k-NN; the first of equals wins.
    ``others`` leaves out the molecule in the same row, for the rows of the sample itself.
    """
    with one_thread():
        near = kernel_for(sample.x)(x.astype(np.float64), sample.x.astype(np.float64))
    if others:
        np.fill_diagonal(near, -np.inf)
    seen = np.unique(sample.rows)
    nearest = seen[np.argsort(-near[:, seen], axis=1, kind="stable")[:, : min(k, len(seen) - others)]]
    return np.asarray(sample.labels[nearest].mean(axis=1))
