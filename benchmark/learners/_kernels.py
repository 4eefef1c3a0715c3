"""Base class of the learners that are fitted to the similarities of pairs of rows, and the mean of two kernels."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmark.learners._estimator import Estimators, Kernel, TrainingSet, refuse_rows, tanimoto
from benchmark.pipeline import Inputs, Sample
from benchmark.types import Task

COUNTED = ("morgan_counts:4096:2", "atom_pairs:4096", "rdkit_descriptors")
"""Features for the mean of two kernels: bits that encode counts, and numbers."""
MOST = 3.0
"""The largest distance of a number from the mean of the training pool, in standard deviations."""


@dataclass(frozen=True)
class MeanKernel:
    """The mean of a Tanimoto kernel on the columns ``bits`` (D,) and a Gaussian one, with ``gamma``, on the others."""

    bits: np.ndarray
    gamma: float

    @classmethod
    def of(cls, x: np.ndarray, width: float = 1.0) -> "MeanKernel":
        """Return the kernel for rows like ``x`` (N, D); the Gaussian is as in ``kernel_for``."""
        refuse_rows(len(x))
        bits = ((x == 0) | (x == 1)).all(axis=0)
        numbers = x[:, ~bits].clip(-MOST, MOST)
        return cls(bits, 1 / (width**2 * numbers.shape[1] * (float(numbers.var()) or 1.0)) if numbers.size else 0.0)

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the similarity (A, B) of rows (A, D) and rows (B, D), from 0 to 1."""
        from sklearn.metrics.pairwise import rbf_kernel

        parts = []
        if self.bits.any():
            parts.append(tanimoto(a[:, self.bits], b[:, self.bits]))
        if not self.bits.all():
            parts.append(rbf_kernel(*(x[:, ~self.bits].clip(-MOST, MOST) for x in (a, b)), gamma=self.gamma))
        return np.asarray(np.mean(parts, axis=0))


class KernelMachine(Estimators):
    """A learner of similarities; probabilities are a sigmoid of its decision function (Platt).

    The sigmoid is fitted to the decision function's values on five held-out folds, which are the same every time and
    keep the repeats of a molecule together.
    """

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
        machines = [replace(self, **{self.swept: value}).machine for value in values]
        fits = [partial(machine, similar=similar, kernel=lambda *_: new) for machine in machines]
        return [self.fitted(sample, data, fit).predict(inputs) for fit in fits]

    def machine(self, data: TrainingSet, similar: np.ndarray, kernel: Kernel) -> "OfSimilarities":
        """Return a machine fitted to the similarities (N, N) of the rows of ``data``."""
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.preprocessing import StandardScaler

        from benchmark.learners._folds import GroupFolds

        if data.task == "regression":
            model = TransformedTargetRegressor(self.estimator(data.task), transformer=StandardScaler())
        else:
            with warnings.catch_warnings():  # fewer molecules of a class than folds are spread over some of them
                warnings.filterwarnings("ignore", "The least populated class")
                folds = list(GroupFolds(5).split(data.x, data.y, groups=data.rows))
            model = CalibratedClassifierCV(self.estimator(data.task), cv=folds, ensemble=False)
        model.fit(similar, data.y, sample_weight=data.weight)
        return OfSimilarities(model, kernel, data.x, getattr(model, "classes_", None))

    def estimator(self, task: Task) -> Any:
        """Return scikit-learn's estimator of similarities: of classes with a decision function, or of values."""
        raise NotImplementedError

    def kernel(self, x: np.ndarray) -> Kernel:
        """Return the kernel for rows like ``x`` (N, D)."""
        raise NotImplementedError


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
