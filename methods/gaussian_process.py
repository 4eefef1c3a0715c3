"""Gaussian process with Tanimoto's kernel on bits, and a Gaussian one on other features.

Rasmussen and Williams 2006 (ISBN 026218253X), chapter 2; the kernel on molecules: Griffiths et al. 2023 (GAUCHE),
arXiv:2212.04450. Exact, for classes too: labels of ±1 are regressed, and the probability of a class is that of a
positive label (section 6.5, least-squares classification). Laplace's approximation would take a Newton iteration with
a Cholesky factor in each step for every set of hyperparameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from benchmark.registry import method
from methods._estimator import Estimators, Kernel, Sample, kernel_for

RATIOS = (1e-4, 1e2)
"""Between which the ratio of the noise's variance to the signal's is looked for."""


@method("gaussian_process", title="Gaussian process")
@dataclass(frozen=True)
class GaussianProcess(Estimators):
    """No hyperparameters: noise and signal are those of the largest marginal likelihood."""

    def trained(self, sample: Sample) -> Any:
        """A molecule that was drawn w times is one observation with a w-th of the noise: the same posterior.

        The marginal likelihood is that of the distinct molecules: to it, repeats would prove that there is no noise.
        """
        _, first, weight = np.unique(sample.rows, return_index=True, return_counts=True)
        x, y = sample.x[first], sample.y[first]
        classes = np.unique(y) if sample.task == "classification" else None
        targets = y[:, None] if classes is None else np.where(y[:, None] == classes, 1.0, -1.0)
        kernel = kernel_for(x)
        similar, mean = kernel(x, x), np.average(targets, axis=0, weights=weight)
        ratio, variance = most_likely(similar, targets - mean)
        factor = cho_factor(similar + np.diag(ratio / weight), lower=True)
        return Posterior(kernel, x, classes, mean, factor[0], cho_solve(factor, targets - mean), ratio, variance)


def most_likely(similar: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray]:
    """The noise ratio r and the signal's variances (C,) under which ``targets`` (N, C) are the most likely.

    They are drawn from N(0, s² (K + r I)), each column with its own s². For every r the best s² is known, and with the
    eigenvalues of ``similar``, K (N, N), a likelihood costs O(N), so that r is found in one dimension.
    """
    values, vectors = np.linalg.eigh(similar)
    squared, values = (vectors.T @ targets) ** 2, np.maximum(values, 0.0)[:, None]

    def variances(r: float) -> np.ndarray:
        return np.asarray((squared / (values + r)).mean(axis=0))

    def loss(log_r: float) -> float:
        r = np.exp(log_r)
        return float(np.log(variances(r)).mean() + np.log(values + r).mean())

    found = minimize_scalar(loss, bounds=np.log(RATIOS), method="bounded")
    ratio = float(np.exp(found.x))
    return ratio, variances(ratio)


@dataclass(frozen=True)
class Posterior:
    """The process after ``x`` (N, D); ``alpha`` (N, C) are the targets times the inverse that ``factor`` is of."""

    kernel: Kernel
    x: np.ndarray
    classes_: np.ndarray | None
    mean: np.ndarray
    factor: np.ndarray
    alpha: np.ndarray
    ratio: float
    variance: np.ndarray

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.mean + self.kernel(x, self.x) @ self.alpha)

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Probabilities (T, C) that a label is positive, noise included, scaled to a sum of 1 (two classes have it)."""
        known = solve_triangular(self.factor, self.kernel(self.x, x), lower=True)
        left = np.maximum(1 - (known**2).sum(axis=0), 0.0) + self.ratio
        positive = norm.cdf(self.predict(x) / np.sqrt(left[:, None] * self.variance))
        return np.asarray(positive / positive.sum(axis=1, keepdims=True))
