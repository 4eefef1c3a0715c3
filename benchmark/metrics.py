"""Pure functions of predictions. R retrainings, T test examples, C outputs; fractions, never percent.

A per-run metric maps ``values`` (R, T, C) and ``y`` (T,) to (R,); a pairwise one maps ``values`` to a symmetric
matrix (R, R) whose entry (i, j) compares retrainings i and j, with zeros on the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmark.types import Task

CLIP = 1e-12
"""Probabilities are raised to this before a logarithm is taken."""


def predicted_class(values: np.ndarray) -> np.ndarray:
    """The most probable class (R, T); the lowest index wins a tie."""
    return values.argmax(axis=-1)


def accuracy(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Share of examples with the right class, (R,).

    >>> accuracy(np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.4, 0.6], [0.2, 0.8]]]), np.array([0, 1]))
    array([1. , 0.5])
    """
    return (predicted_class(values) == y).mean(axis=1)


def log_loss(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mean negative log-probability of the true class in nats, (R,)."""
    truth = np.take_along_axis(values, y[None, :, None], axis=2)[..., 0]
    return -np.log(np.maximum(truth.astype(np.float64), CLIP)).mean(axis=1)


def mae(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mean absolute error in target units, (R,)."""
    return np.abs(values[..., 0].astype(np.float64) - y).mean(axis=1)


def _pairwise(rows: np.ndarray, compare: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """``compare`` of each row with all later ones, as a symmetric matrix; memory grows with R·T, not R²·T."""
    matrix = np.zeros((len(rows), len(rows)))
    for i in range(len(rows) - 1):
        matrix[i, i + 1 :] = matrix[i + 1 :, i] = compare(rows[i], rows[i + 1 :])
    return matrix


def churn(values: np.ndarray) -> np.ndarray:
    """Share of examples whose class differs, (R, R): the class-flip rate (paper, section Measurement).

    >>> churn(np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.4, 0.6], [0.2, 0.8]]]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    return _pairwise(predicted_class(values), lambda a, others: (a != others).mean(axis=1))


def sym_kl(values: np.ndarray) -> np.ndarray:
    """Mean ½(KL(p‖q) + KL(q‖p)) in nats, (R, R) (paper, section Measurement)."""
    probabilities = np.maximum(values.astype(np.float64), CLIP)

    def compare(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        divergence = 0.5 * (p[0] - q[:, 0]) * (p[1] - q[:, 1])
        return np.asarray(divergence.sum(axis=-1).mean(axis=-1))

    return _pairwise(np.stack([probabilities, np.log(probabilities)], axis=1), compare)


def absolute_difference(values: np.ndarray) -> np.ndarray:
    """Mean |f − f'| in target units, (R, R): the churn of a regression (paper, regression appendix)."""
    return _pairwise(values[..., 0].astype(np.float64), lambda a, others: np.abs(a - others).mean(axis=1))


PER_RUN: dict[Task, dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "classification": {"accuracy": accuracy, "log_loss": log_loss},
    "regression": {"mae": mae},
}
PAIRWISE: dict[Task, dict[str, Callable[[np.ndarray], np.ndarray]]] = {
    "classification": {"churn": churn, "sym_kl": sym_kl},
    "regression": {"churn": absolute_difference},
}


def pseudo_values(statistic: Callable[[np.ndarray], float], r: int) -> np.ndarray:
    """Jackknife pseudo-values (R,) of a ``statistic`` of the runs whose numbers it is given (Tukey 1958).

    Their mean is the statistic of all runs; Student's interval of them is the jackknife's. Where leaving a run out
    leaves too few, the statistic alone, (1,).

    >>> pseudo_values(lambda runs: float(np.mean(np.array([1, 2, 6])[runs])), 3)
    array([1., 2., 6.])
    """
    every = np.arange(r)
    whole = statistic(every)
    without = np.array([statistic(np.delete(every, i)) for i in every])
    return np.array([whole]) if np.isnan(without).any() else whole + (r - 1) * (without.mean() - without)


def mean_over_pairs(matrix: np.ndarray) -> float:
    """The mean of a pairwise metric over the R(R−1)/2 pairs; nan for one run, which has no pair."""
    upper = matrix[np.triu_indices(len(matrix), k=1)]
    return float(upper.mean()) if len(upper) else float("nan")
