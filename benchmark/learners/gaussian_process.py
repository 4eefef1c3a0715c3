r"""Gaussian process: exact inference with a Tanimoto kernel on bits and a Gaussian kernel on other features.

Noise and signal variances maximise the marginal likelihood. Inference is exact, also
for classes: labels of ±1 are regressed, and the probability of a class is that of a positive label (least-squares
classification). Laplace's approximation would require a Newton iteration with a Cholesky factorisation per step for
every set of hyperparameters. In the formula, K has the similarities between the training rows and k those with x, m is
the mean label, W the diagonal matrix of the number of times that each molecule was drawn, r the ratio of the noise
variance to the signal variance s², and Φ the normal distribution function.

$$
\mu(x) = m + k^\top (K + r W^{-1})^{-1} (y - m)
$$

$$
v(x) = s^2 \left[ 1 - k^\top (K + r W^{-1})^{-1} k + r \right], \qquad
\hat p(x) = \Phi\left( \frac{\mu(x)}{\sqrt{v(x)}} \right)
$$

Source: Rasmussen and Williams 2006 (ISBN 026218253X), chapter 2 and section 6.5; the kernel on molecules: Griffiths et
al. 2023 (GAUCHE), arXiv:2212.04450.

Difference: one ratio of noise to signal serves all classes, and the probabilities of more than two classes are scaled
to sum to 1.

Cost: takes one eigendecomposition and one Cholesky factorisation of a matrix of all training rows; trains no network.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.learners._estimator import Estimators, Kernel, TrainingSet, kernel_for
from benchmark.pipeline import Positive, learner

RATIOS = (1e-4, 1e2)
"""Search range for the ratio of noise variance to signal variance."""


@learner("gaussian_process", title="Gaussian process", revision=1)
class GaussianProcess(Estimators):
    noise: Positive = 1.0
    """Ratio of noise variance to signal variance, in units of the most likely one."""
    width: Positive = 1.0
    """Width of a Gaussian kernel, as in ``svm``."""

    later = frozenset({"noise", "width"})
    grid = (
        *({"noise": noise} for noise in (10.0, 4.0, 2.0)),
        *({"noise": 1.0, "width": width} for width in (2.0, 1.0, 0.5)),
        *({"noise": noise} for noise in (0.5, 0.25)),
    )
    """More noise first, then the wider kernel."""

    def trained(self, data: TrainingSet) -> Any:
        """Treat a molecule drawn w times as one observation with 1/w of the noise, which gives the same posterior.

        The marginal likelihood is that of the distinct molecules: repeats would suggest that there is no noise.
        """
        from scipy.linalg import cho_factor, cho_solve

        _, first, weight = np.unique(data.rows, return_index=True, return_counts=True)
        x, y = data.x[first], data.y[first]
        classes = np.unique(y) if data.task == "classification" else None
        targets = y[:, None] if classes is None else np.where(y[:, None] == classes, 1.0, -1.0)
        if data.targets is not None:
            classes = np.flatnonzero(data.targets[first].any(axis=0))
            targets = 2 * data.targets[first][:, classes] - 1
        kernel = kernel_for(x, self.width)
        similar, mean = kernel(x, x), np.average(targets, axis=0, weights=weight)
        ratio, variance = most_likely(similar, targets - mean, self.noise)
        factor = cho_factor(similar + np.diag(ratio / weight), lower=True)
        return Posterior(kernel, x, classes, mean, factor[0], cho_solve(factor, targets - mean), ratio, variance)


def most_likely(similar: np.ndarray, targets: np.ndarray, times: float = 1.0) -> tuple[float, np.ndarray]:
    """Return ``times`` the maximum-likelihood noise ratio r, and signal variances (C,) at it, for ``targets`` (N, C).

    Each column is drawn from N(0, s² (K + r I)) with its own s², where K is ``similar`` (N, N). The best s² follows
    from r, and with the eigenvalues of K a likelihood costs O(N), so the search for r is one-dimensional.
    """
    from scipy.optimize import minimize_scalar

    values, vectors = np.linalg.eigh(similar)
    squared, values = (vectors.T @ targets) ** 2, np.maximum(values, 0.0)[:, None]

    def variances(r: float) -> np.ndarray:
        return np.asarray((squared / (values + r)).mean(axis=0))

    def loss(log_r: float) -> float:
        r = np.exp(log_r)
        return float(np.log(variances(r)).mean() + np.log(values + r).mean())

    ratio = times * float(np.exp(minimize_scalar(loss, bounds=np.log(RATIOS), method="bounded").x))
    return ratio, variances(ratio)


@dataclass(frozen=True)
class Posterior:
    """The process given ``x`` (N, D); ``alpha`` (N, C) is the inverse of the factored matrix times the targets."""

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
        """Return probabilities (T, C) of a positive label, noise included, scaled to sum to 1 (a pair already does)."""
        from scipy.linalg import solve_triangular
        from scipy.stats import norm

        explained = solve_triangular(self.factor, self.kernel(self.x, x), lower=True)
        remaining = np.maximum(1 - (explained**2).sum(axis=0), 0.0) + self.ratio
        positive = norm.cdf(self.predict(x) / np.sqrt(remaining[:, None] * self.variance))
        return np.asarray(positive / positive.sum(axis=1, keepdims=True))
