"""scikit-learn's folds that keep groups together and classes in proportion, assigned by a compiled loop."""

from typing import Any

import numpy as np
from numba import njit
from sklearn.model_selection import StratifiedGroupKFold

PAIRWISE = 8
"""Numbers from which on NumPy does not add one after another."""


class GroupFolds(StratifiedGroupKFold):  # type: ignore[misc]
    """The folds of ``StratifiedGroupKFold``, whose choice of a fold for each group takes longer than a fit."""

    def _find_best_fold(self, y_counts_per_fold: np.ndarray, y_cnt: np.ndarray, group_y_counts: np.ndarray) -> Any:
        if max(y_counts_per_fold.shape) >= PAIRWISE:
            return super()._find_best_fold(y_counts_per_fold, y_cnt, group_y_counts)
        return _best(y_counts_per_fold, y_cnt, group_y_counts)


@njit(cache=True)
def _best(counts, totals, group):  # type: ignore[no-untyped-def]
    """Return the fold to which ``group`` (C,) is added, given the ``counts`` (K, C) of each class in each fold.

    It is that after which the shares of the ``totals`` (C,) deviate least, and of about equal ones the smallest. Sums
    and divisions are in NumPy's order, so that ties are decided as scikit-learn does.
    """
    folds, classes = counts.shape
    best, least, smallest = -1, np.inf, np.inf
    for i in range(folds):
        deviation = 0.0
        for c in range(classes):
            mean, variance = 0.0, 0.0
            for k in range(folds):
                mean += (counts[k, c] + (group[c] if k == i else 0.0)) / totals[c]
            mean /= folds
            for k in range(folds):
                variance += ((counts[k, c] + (group[c] if k == i else 0.0)) / totals[c] - mean) ** 2
            deviation += np.sqrt(variance / folds)
        deviation /= classes
        size = counts[i].sum()
        close = abs(deviation - least) <= 1e-8 + 1e-5 * abs(least)
        if deviation < least or (close and size < smallest):
            best, least, smallest = i, deviation, size
    return best
