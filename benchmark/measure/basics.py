"""Building blocks of measures and other descriptions of predictions, all pure functions.

Shapes: R retrainings, T test examples, C outputs. No array of size P·T is ever allocated, for P pairs of retrainings.
"""

from collections.abc import Callable

import numpy as np

from benchmark.types import Predictions

CLIP = 1e-12
"""The smallest probability that a logarithm is taken of."""
LOST = 0.05
"""Loss of accuracy against ERM above which a method is marked †: low churn is easy for a bad model (paper, overlap
appendix)."""
FLIPPING = 0.36
"""Smallest share of pairs of ERM retrainings in which an example of the case study flips (paper, appendix)."""


def predicted_class(values: np.ndarray) -> np.ndarray:
    """Return the most probable class, (R, T); the lowest index wins a tie."""
    return values.argmax(axis=-1)


def votes(p: Predictions) -> np.ndarray:
    """Return which class each run predicts, (R, T, C) of bool."""
    return np.asarray(predicted_class(p.values)[..., None] == np.arange(p.values.shape[2]))


def flips(p: Predictions) -> np.ndarray:
    """Return the share of examples whose class differs, (R, R): the class-flip rate (paper, section Measurement)."""
    r, t, _ = p.values.shape
    chosen = votes(p).reshape(r, -1).astype(np.float64)
    same = chosen @ chosen.T  # whole numbers, and many times faster than to compare each pair
    return np.asarray((t - same) / t)


def flip_rate(counts: np.ndarray) -> np.ndarray:
    """Return the share of pairs of runs that differ on each example, (T,); nan for a single run.

    ``counts`` (T, C) are the runs that predict each class.
    """
    r = counts[0].sum()
    return np.asarray((r * r - np.square(counts).sum(axis=1)) / (r * (r - 1) or np.nan))


def clipped(values: np.ndarray) -> np.ndarray:
    """Return probabilities in double precision, raised to at least ``CLIP``."""
    return np.maximum(values.astype(np.float64), CLIP)


def pairwise(rows: np.ndarray, compare: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Compare each row with all later ones and return a symmetric matrix; memory grows with R·T, not R²·T."""
    matrix = np.zeros((len(rows), len(rows)))
    for i in range(len(rows) - 1):
        matrix[i, i + 1 :] = matrix[i + 1 :, i] = compare(rows[i], rows[i + 1 :])
    return matrix


def mean_over_pairs(matrix: np.ndarray) -> float:
    """Return the mean of a pairwise measure, with zeros on the diagonal, over all pairs; nan for a single run."""
    r = len(matrix)
    return float(matrix.sum() / (r * (r - 1))) if r > 1 else float("nan")


def pseudo_values(statistic: Callable[[np.ndarray], float], r: int) -> np.ndarray:
    """Return the jackknife pseudo-values (R,) of a ``statistic``, a function of run indices (Tukey 1958).

    Their mean is the statistic of all runs, and their Student's t interval is the jackknife interval. If too few runs
    remain when one is left out, return the statistic alone, (1,).

    >>> pseudo_values(lambda runs: float(np.mean(np.array([1, 2, 6])[runs])), 3)
    array([1., 2., 6.])
    """
    every = np.arange(r)
    whole = statistic(every)
    without = np.array([statistic(np.delete(every, i)) for i in every])
    return np.array([whole]) if np.isnan(without).any() else whole + (r - 1) * (without.mean() - without)


def positive_fraction(p: Predictions) -> float:
    """Return the share of test examples of class 1, the baseline for a top-K hit rate."""
    return float((p.y == 1).mean())


def entropy(p: Predictions) -> np.ndarray:
    """Return the predictive entropy of each run on each example in nats, (R, T)."""
    q = clipped(p.values)
    return np.asarray(-(q * np.log(q)).sum(axis=-1))


def right(p: Predictions) -> np.ndarray:
    """Return which predictions are correct, (R, T) of bool."""
    return np.asarray(predicted_class(p.values) == p.y)


def good_flips(before: Predictions, after: Predictions) -> np.ndarray:
    """Mark predictions that a change of method corrects at equal train seeds, (R, T) of bool."""
    return ~right(before) & right(after)


def bad_flips(before: Predictions, after: Predictions) -> np.ndarray:
    """Mark negative flips (Yan et al. 2021, arXiv:2011.09161), right before and wrong after, (R, T) of bool.

    Good and bad flips are only counted for changes of method: between retrainings of one they are equal in expectation.
    """
    return right(before) & ~right(after)
