"""How many retrainings a difference needs: the power of the jackknife's test, from the variances of a pilot.

A pairwise quantity of runs i and j is taken as μ + a_i + a_j + e_ij: what a run brings to all its pairs, with variance
``run``, and what is left of a pair, with variance ``pair``. The mean over the pairs of R runs then has the variance
4·run/R + 2·pair/(R(R−1)) (Hoeffding 1948, doi:10.1214/aoms/1177730196), and the jackknife's se² has the expectation
4·run/R + 4·pair/(R(R−2)) with R−1 degrees of freedom. Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr, stdtrit

LEVEL = 0.95
POWER = 0.8
MOST = 1000
"""No number of retrainings above this is looked for."""
NODES, WEIGHTS = (part / 2 for part in np.polynomial.legendre.leggauss(200))
NODES = NODES + 0.5  # quantiles from 0 to 1, and what each counts


@dataclass(frozen=True)
class Components:
    """Variances of a pairwise quantity: what a run brings to its pairs, and what is left of a pair."""

    run: float
    pair: float
    runs: int
    """How many runs they were estimated from, over all splits."""
    splits: int = 1

    def of_mean(self, r: int) -> float:
        """Variance of the mean over all pairs of ``r`` runs."""
        return 4 * self.run / r + 2 * self.pair / (r * (r - 1))

    def of_jackknife(self, r: int) -> float:
        """Expectation of the jackknife's squared standard error with ``r`` runs."""
        return 4 * self.run / r + 4 * self.pair / (r * (r - 2))

    def times(self, factor: float) -> Components:
        return Components(self.run * factor, self.pair * factor, self.runs, self.splits)

    def range(self) -> tuple[Components, Components]:
        """The least and the largest variances that the pilot is compatible with, 95 %: χ² with its runs − splits."""
        df = self.runs - self.splits
        low, high = (df / chdtri(df, tail) for tail in (0.5 - LEVEL / 2, 0.5 + LEVEL / 2))
        return self.times(float(low)), self.times(float(high))


def components(splits: Sequence[np.ndarray]) -> Components:
    """The variances of symmetric matrices (R, R), one for each canonical split, averaged; R ≥ 4.

    The moments are unbiased; a negative variance of runs is taken as 0. Raises ValueError for fewer runs.
    """
    found = []
    for matrix in splits:
        r = len(matrix)
        if r < 4:
            raise ValueError(f"variances of runs and of pairs need 4 runs, got {r}")
        upper = np.triu_indices(r, k=1)
        mean = matrix[upper].mean()
        of_run = (matrix.sum(axis=1) - (r - 1) * mean) / (r - 2)
        rest = matrix[upper] - mean - of_run[upper[0]] - of_run[upper[1]]
        pair = float(np.square(rest).sum() / (r * (r - 3) / 2))
        found.append((max(0.0, float(np.square(of_run).sum() / (r - 1)) - pair / (r - 2)), pair))
    run, pair = np.mean(found, axis=0)
    return Components(float(run), float(pair), sum(map(len, splits)), len(splits))


def power(of: Components, delta: float, r: int, level: float = LEVEL) -> float:
    """Probability that the interval of ``r`` runs on one split excludes 0 where the true difference is ``delta``."""
    variance, expected = of.of_mean(r), of.of_jackknife(r)
    if variance == 0:
        return float(delta != 0)
    # The noncentral t, as a mean over the error that the jackknife may find: scipy's own has gaps (nan).
    error = np.sqrt(chdtri(r - 1, 1 - NODES) / (r - 1)) * np.sqrt(expected / variance)
    limit = float(stdtrit(r - 1, 0.5 + level / 2)) * error
    shift = abs(delta) / np.sqrt(variance)
    return float(WEIGHTS @ (ndtr(shift - limit) + ndtr(-shift - limit)))


def needed(of: Components, delta: float, wanted: float = POWER) -> int | None:
    """The least number of runs, from 3, whose power for ``delta`` is ``wanted``; None if over ``MOST`` are needed."""
    if power(of, delta, MOST) < wanted:
        return None
    low, high = 2, MOST
    while high - low > 1:  # power grows with runs
        middle = (low + high) // 2
        low, high = (low, middle) if power(of, delta, middle) >= wanted else (middle, high)
    return high


def resolvable(of: Components, r: int, wanted: float = POWER) -> float:
    """The least true difference that ``r`` runs find with power ``wanted``."""
    scale = float(np.sqrt(of.of_jackknife(r)))
    if scale == 0:
        return 0.0
    top = 2.0
    while power(of, top * scale, r) < wanted:
        top *= 2
    return float(brentq(lambda x: power(of, x * scale, r) - wanted, 0, top)) * scale
