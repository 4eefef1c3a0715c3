"""Split-conformal prediction sets within a test set, and how they change between retrainings.

Only predictions of test examples are kept, so one fixed half of the test set calibrates the sets of the other half.
Each half has examples that no retraining has seen. Shapes: R retrainings, T test examples, C classes.
"""

import math

import numpy as np

from benchmark.measure.basics import pairwise
from benchmark.types import Predictions

MISSED = 0.1
"""Largest share of examples whose true class a set may miss, on average over calibration sets."""


def prediction_sets(p: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """Return the sets of each run as indicators (R, T′, C), and the positions (T′,) of the examples that have one.

    A set holds the classes whose probability reaches a threshold of its run: the ⌈(n + 1)(1 − ``MISSED``)⌉-th largest
    probability of the true class among the n examples of the calibration half (Sadinle, Lei and Wasserman 2019,
    doi:10.1080/01621459.2017.1395341). The halves depend on the ids of the examples alone, so they are the same for all
    methods. A calibration half of fewer than nine examples gives no sets: T′ is 0.
    """
    order = np.random.default_rng(0).permutation(np.argsort(p.ids))
    n = len(order) // 2
    calibration, rest = order[:n], np.sort(order[n:])
    reached = math.ceil((n + 1) * (1 - MISSED) - 1e-9)
    if reached > n:
        return np.zeros((len(p.seeds), 0, p.values.shape[2]), dtype=bool), rest[:0]
    true = np.take_along_axis(p.values[:, calibration], p.y[None, calibration, None], axis=2)[..., 0]
    threshold = np.sort(true, axis=1)[:, n - reached]
    return p.values[:, rest] >= threshold[:, None, None], rest


def set_size(p: Predictions) -> np.ndarray:
    """Return the mean number of classes in a set, (R,); nan without sets."""
    sets, rest = prediction_sets(p)
    return np.asarray(sets.sum(axis=2).mean(axis=1)) if len(rest) else np.full(len(p.seeds), np.nan)


def set_changes(p: Predictions) -> np.ndarray:
    """Return the share of examples whose set differs between two runs, (R, R); nan without sets."""
    sets, rest = prediction_sets(p)
    if not len(rest):
        return np.full((len(p.seeds), len(p.seeds)), np.nan)
    return pairwise(sets, lambda a, others: (a != others).any(axis=2).mean(axis=1))
