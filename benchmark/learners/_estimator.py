"""Learners that fit an estimator to a sample on one thread: their base class, kernels and probabilities."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, Self

import numpy as np
from threadpoolctl import ThreadpoolController

from benchmark.errors import UserError
from benchmark.pipeline import Learner, Need
from benchmark.train.resampling import generator
from benchmark.types import Inputs, Sample, Task

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]
MOST_ROWS = 20_000
"""Training rows of a kernel method: the similarities of all pairs then take 3 GiB."""


@dataclass(frozen=True)
class TrainingSet:
    """The rows that an estimator is fitted to: features ``x`` (N, D) float64 and labels ``y`` (N,).

    The labels are nan where there are ``targets``: to learn labels in their place is an error, and not another method.
    """

    task: Task
    x: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    """Row numbers (N,) of the sample, equal for repeats of a molecule."""
    random_state: int
    """Seed of a random estimator, drawn from the train seed."""
    targets: np.ndarray | None = None
    """Class probabilities (N, C) to learn in place of the labels of a classification."""
    weight: np.ndarray | None = None
    """Weights (N,) of the rows; all equal if None."""

    def weighted(self) -> Self:
        """Return the same set with a row for each molecule and class that has a probability, which is its weight."""
        if self.targets is None:
            return self
        row, label = np.nonzero(self.targets)
        weight = self.targets[row, label]
        given = None if (weight == 1).all() else weight  # with weights, a forest would draw other random numbers
        return replace(self, x=self.x[row], y=label, rows=self.rows[row], weight=given, targets=None)


class Estimators(Learner):
    """Base class of learners that fit an estimator with scikit-learn's interface to a sample."""

    offers: ClassVar[frozenset[Need]] = frozenset({"targets"})

    def trained(self, data: TrainingSet) -> Any:
        """Return an estimator fitted to ``data``; classifiers also have ``predict_proba`` and ``classes_``."""
        raise NotImplementedError

    def data(self, sample: Sample) -> TrainingSet:
        """Return the rows of ``sample`` that a model is trained on."""
        rows, state = sample.rows, int(generator("forest", sample.seed, sample.member).integers(2**31))
        y, targets = sample.y, sample.targets
        if targets is not None and sample.task == "regression":
            y, targets = targets[:, 0], None
        soft = None if targets is None else targets[rows].astype(np.float64)
        y = y[rows] if soft is None else np.full(len(rows), np.nan)
        return TrainingSet(sample.task, sample.x[rows].astype(np.float64), y, rows, state, soft)

    def fit(self, sample: Sample) -> "FittedEstimator":
        return self.fitted(sample, self.data(sample), self.trained)

    @staticmethod
    def fitted(sample: Sample, data: TrainingSet, trained: Callable[[TrainingSet], Any]) -> "FittedEstimator":
        """Return what ``trained`` makes of ``data``, or a constant if there is one class: many have no model of it."""
        with one_thread():  # sums on several threads would depend on the number of cores
            if data.task == "classification" and data.targets is None and len(np.unique(data.y)) == 1:
                from sklearn.dummy import DummyClassifier

                estimator = DummyClassifier().fit(data.x, data.y)
            else:
                estimator = trained(data)
            return FittedEstimator(estimator, sample.n_outputs, sample.rows)


@dataclass(frozen=True)
class FittedEstimator:
    """An estimator that was fitted to ``rows``; it predicts values, or probabilities as in ``probabilities``."""

    estimator: Any
    n_outputs: int
    rows: np.ndarray

    def predict(self, inputs: Inputs) -> np.ndarray:
        estimator, x = self.estimator, inputs.x.astype(np.float64)
        with one_thread():
            if self.n_outputs == 1:
                return np.asarray(estimator.predict(x), dtype=np.float64).reshape(len(x), 1)
            return probabilities(estimator, x, np.arange(self.n_outputs))


def probabilities(estimator: Any, x: Any, classes: np.ndarray) -> np.ndarray:
    """Return an estimator's probabilities (T, C) of the sorted ``classes`` (C,); 0 of a class that its rows lacked.

    If it has no ``predict_proba``, the class that it predicts has probability 1. Raises UserError if it does not say
    which classes its probabilities are of, or has learned others.
    """
    if not hasattr(estimator, "predict_proba"):
        learned, label = np.unique(np.asarray(estimator.predict(x)).ravel(), return_inverse=True)
        known = np.eye(len(learned))[label]
    else:
        known = estimator.predict_proba(x)  # first: an estimator that is not fitted says so, and has no classes_
        if not hasattr(estimator, "classes_"):
            raise UserError(
                f"{type(estimator).__name__} has predict_proba, but no classes_ to say which class each column is of: "
                "set self.classes_ = np.unique(y) in fit, as scikit-learn's classifiers do"
            )
        learned = np.asarray(estimator.classes_)
    expected = classes.tolist()
    if other := [value for value in learned.tolist() if value not in expected]:
        raise UserError(
            f"{type(estimator).__name__} predicts {other[0]!r}, which is none of the classes "
            f"{', '.join(map(repr, expected))}: train a classifier, on the labels as they are given"
        )
    values = np.zeros((len(x), len(classes)))
    values[:, np.searchsorted(classes, learned)] = known
    return values


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which the libraries that are loaded compute on one thread."""
    return _libraries(len(sys.modules)).limit(limits=1)


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """Find the libraries, which takes as long as a small fit; again once more ``modules`` are imported."""
    return ThreadpoolController()


def are_bits(x: np.ndarray) -> bool:
    """Return whether all features are 0 or 1, as in a fingerprint."""
    return bool(((x == 0) | (x == 1)).all())


def tanimoto(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the Tanimoto similarity (A, B), a kernel, of bits (A, D) and bits (B, D): common ones over ones in either.

    Two rows without ones have similarity 1. Ralaivola et al. 2005, doi:10.1016/j.neunet.2005.07.009.

    >>> tanimoto(np.array([[1.0, 1, 0], [0, 0, 0]]), np.array([[1.0, 0, 1], [0, 0, 0]]))
    array([[0.33333333, 0.        ],
           [0.        , 1.        ]])
    """
    common = a @ b.T
    either = a.sum(axis=1)[:, None] + b.sum(axis=1) - common
    return np.divide(common, either, out=np.ones_like(common), where=either > 0)


def refuse_rows(rows: int) -> None:
    """Raise UserError if there are too many training rows for the similarities of all pairs."""
    if rows > MOST_ROWS:
        raise UserError(
            f"{rows:,} training rows: the similarities of all pairs need {8 * rows**2 / 2**30:,.0f} GiB of memory, and "
            f"at most {MOST_ROWS:,} rows are allowed: choose another learner, such as random_forest, or train on fewer "
            f"rows, as in DATASET@train={MOST_ROWS}"
        )


def kernel_for(x: np.ndarray, width: float = 1.0) -> Kernel:
    """Return a similarity from 0 to 1 for rows like ``x`` (N, D): Tanimoto for bits, otherwise Gaussian.

    The Gaussian is scikit-learn's RBF kernel, for a ``width`` of 1 with ``gamma="scale"``. Raises UserError for more
    rows than ``MOST_ROWS``.
    """
    refuse_rows(len(x))
    from sklearn.metrics.pairwise import rbf_kernel  # slow to import: methods are listed without it

    if are_bits(x):
        return tanimoto
    return partial(rbf_kernel, gamma=1 / (width**2 * x.shape[1] * (float(x.var()) or 1.0)))
