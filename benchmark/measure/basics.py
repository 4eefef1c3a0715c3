"""What measures are computed with, and what is told of predictions beside them: pure functions.

R retrainings, T test examples, C outputs. Nothing of size P·T is ever made, for P pairs of retrainings.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmark.types import Predictions

CLIP = 1e-12
"""Probabilities are raised to this before a logarithm is taken."""
LOST = 0.05
"""A method whose accuracy is more than this below ERM's is marked †: low churn is cheap for a bad model (paper, overlap
appendix)."""
FLIPPING = 0.36
"""An example of the case study flips in at least this share of pairs of ERM's retrainings (paper, appendix)."""


def predicted_class(values: np.ndarray) -> np.ndarray:
    """The most probable class (R, T); the lowest index wins a tie."""
    return values.argmax(axis=-1)


def clipped(values: np.ndarray) -> np.ndarray:
    """Probabilities in double precision, none below ``CLIP``."""
    return np.maximum(values.astype(np.float64), CLIP)


def pairwise(rows: np.ndarray, compare: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """``compare`` of each row with all later ones, as a symmetric matrix; memory grows with R·T, not R²·T."""
    matrix = np.zeros((len(rows), len(rows)))
    for i in range(len(rows) - 1):
        matrix[i, i + 1 :] = matrix[i + 1 :, i] = compare(rows[i], rows[i + 1 :])
    return matrix


def mean_over_pairs(matrix: np.ndarray) -> float:
    """The mean of a pairwise measure over the R(R−1)/2 pairs; nan for one run, which has no pair."""
    upper = matrix[np.triu_indices(len(matrix), k=1)]
    return float(upper.mean()) if len(upper) else float("nan")


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


def positive_fraction(p: Predictions) -> float:
    """Share of test examples of class 1: the prior that a top-K hit rate is to be compared with."""
    return float((p.y == 1).mean())


def entropy(p: Predictions) -> np.ndarray:
    """Predictive entropy of each run at each example in nats, (R, T)."""
    q = clipped(p.values)
    return np.asarray(-(q * np.log(q)).sum(axis=-1))


def right(p: Predictions) -> np.ndarray:
    """Whether each run has each example right, (R, T) of bool."""
    return np.asarray(predicted_class(p.values) == p.y)


def good_flips(before: Predictions, after: Predictions) -> np.ndarray:
    """What a change of method mends: wrong before and right after, at equal train seeds, (R, T) of bool."""
    return ~right(before) & right(after)


def bad_flips(before: Predictions, after: Predictions) -> np.ndarray:
    """What it breaks: right before and wrong after, (R, T): negative flips (Yan et al. 2021, arXiv:2011.09161).

    Between retrainings of one method good and bad flips are equal in expectation, so only a change of method has both.
    """
    return right(before) & ~right(after)
