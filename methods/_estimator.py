"""What the methods that train an estimator share: one fit on each bootstrap, on one thread, and a kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from benchmark.train import bootstrap, generator
from benchmark.types import Fitted, Problem, Task

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Sample:
    """The bootstrap of one train seed: features ``x`` (N, D) float64 and labels ``y`` (N,)."""

    task: Task
    x: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    """Row numbers (N,) of the training pool: equal ones are repeats of one molecule."""
    random_state: int
    """Drawn from the train seed, for an estimator that is random."""


class Estimators:
    """A method that trains an estimator with scikit-learn's interface on each bootstrap: derive from it."""

    trains_networks: ClassVar[bool] = False

    def trained(self, sample: Sample) -> Any:
        """An estimator fitted to ``sample``: with ``predict``, and ``predict_proba`` and ``classes_`` to classify."""
        raise NotImplementedError

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        x, y = problem.train.x.astype(np.float64), problem.train.y
        fits = []
        with threadpool_limits(1):  # sums on several threads would depend on the machine's core count
            for seed, (rows,) in zip(seeds, bootstrap(problem, seeds), strict=True):
                state = int(generator("forest", seed).integers(2**31))
                fits.append(self.trained(Sample(problem.task, x[rows], y[rows], rows, state)))
        return Fits(fits, problem.n_outputs)


@dataclass(frozen=True)
class Fits:
    """Estimators, one for each train seed. A class that a bootstrap lacks has probability 0.

    A classifier without ``predict_proba`` gives its class a probability of 1.
    """

    fits: Sequence[Any]
    n_outputs: int

    def predict(self, x: np.ndarray) -> np.ndarray:
        with threadpool_limits(1):
            return np.stack([self._predict(one, x.astype(np.float64)) for one in self.fits])

    def _predict(self, one: Any, x: np.ndarray) -> np.ndarray:
        if self.n_outputs == 1:
            return np.asarray(one.predict(x), dtype=np.float64).reshape(len(x), 1)
        if not hasattr(one, "predict_proba"):
            return np.eye(self.n_outputs)[np.asarray(one.predict(x), dtype=np.int64)]
        values = np.zeros((len(x), self.n_outputs))
        values[:, one.classes_] = one.predict_proba(x)
        return values


def are_bits(x: np.ndarray) -> bool:
    """Whether all features are 0 or 1, as those of a fingerprint."""
    return bool(((x == 0) | (x == 1)).all())


def tanimoto(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Tanimoto's similarity (A, B) of bits (A, D) to bits (B, D): common ones over ones in either. It is a kernel.

    Without any ones, two rows are equal. Ralaivola et al. 2005, doi:10.1016/j.neunet.2005.07.009.

    >>> tanimoto(np.array([[1.0, 1, 0], [0, 0, 0]]), np.array([[1.0, 0, 1], [0, 0, 0]]))
    array([[0.33333333, 0.        ],
           [0.        , 1.        ]])
    """
    common = a @ b.T
    either = a.sum(axis=1)[:, None] + b.sum(axis=1) - common
    return np.divide(common, either, out=np.ones_like(common), where=either > 0)


def kernel_for(x: np.ndarray) -> Kernel:
    """The similarity for rows such as ``x`` (N, D), from 0 to 1: Tanimoto's of bits, else a Gaussian of the distance.

    The Gaussian is scikit-learn's RBF kernel with ``gamma="scale"``.
    """
    if are_bits(x):
        return tanimoto
    return partial(rbf_kernel, gamma=1 / (x.shape[1] * (float(x.var()) or 1.0)))
