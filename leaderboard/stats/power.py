"""The number of retrainings that a difference needs: power of the jackknife's test, from the variances of a pilot.

A pairwise quantity of runs i and j is modelled as μ + a_i + a_j + e_ij, with effects of runs, of variance ``run``, and
residuals of pairs, of variance ``pair``. The mean over the pairs of R runs then has the variance
4·run/R + 2·pair/(R(R−1)) (Hoeffding 1948, doi:10.1214/aoms/1177730196), and the jackknife's se² has the expectation
4·run/R + 4·pair/(R(R−2)) with R−1 degrees of freedom.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr, stdtrit

LEVEL = 0.95
POWER = 0.8
RELIABLE = 5 / 9
"""Degrees of freedom of a variance estimated from pairs of runs, as a share of R − 1.

The effects of runs have heavy tails, and pairs share them: from ten of 120 retrainings of BACE and of DILI, the
variance is as uncertain as χ² with about five degrees of freedom. Halvings are independent, and have all of J − 1.
"""
MOST = 1000
"""Largest number of retrainings considered."""
NODES, WEIGHTS = (part / 2 for part in np.polynomial.legendre.leggauss(200))
NODES = NODES + 0.5  # quantiles from 0 to 1, with their weights


@dataclass(frozen=True)
class Components:
    """Variances of a pairwise quantity: of the effects of runs, and of the residuals of pairs."""

    run: float
    pair: float
    runs: int
    """Number of runs in the pilot, over all splits."""
    splits: int = 1
    pairwise: bool = True
    """False if the pilot's values are independent, one for each halving."""

    def of_mean(self, r: int) -> float:
        """Return the variance of the mean over all pairs of ``r`` runs."""
        return 4 * self.run / r + 2 * self.pair / (r * (r - 1))

    def of_jackknife(self, r: int) -> float:
        """Return the expected squared standard error of the jackknife with ``r`` runs."""
        return 4 * self.run / r + 4 * self.pair / (r * (r - 2))

    def times(self, factor: float) -> Self:
        return replace(self, run=self.run * factor, pair=self.pair * factor)

    def range(self) -> tuple[Self, Self]:
        """Return the 95 % bounds of the variances given the pilot: χ² with ``RELIABLE`` (runs − splits) degrees of
        freedom, or with halvings − splits."""
        df = (self.runs - self.splits) * (RELIABLE if self.pairwise else 1)
        low, high = (df / chdtri(df, tail) for tail in (0.5 - LEVEL / 2, 0.5 + LEVEL / 2))
        return self.times(float(low)), self.times(float(high))


def components(splits: Sequence[np.ndarray]) -> Components:
    """Return the variances of symmetric matrices (R, R), averaged over canonical splits.

    The moments are unbiased; a negative variance of runs is set to 0. Raises ValueError for R < 4. Independent values
    (J,), one per halving, have the mean's variance v/J: they stand for J runs of variance v/4 whose pairs add nothing.
    """
    variances = []
    for matrix in splits:
        r = len(matrix)
        if matrix.ndim == 1 and r > 1:
            variances.append((float(matrix.var(ddof=1)) / 4, 0.0))
            continue
        if r < 4:
            raise ValueError(f"variances of runs and of pairs need 4 runs, got {r}")
        upper = np.triu_indices(r, k=1)
        mean = matrix[upper].mean()
        of_run = (matrix.sum(axis=1) - (r - 1) * mean) / (r - 2)
        rest = matrix[upper] - mean - of_run[upper[0]] - of_run[upper[1]]
        pair = float(np.square(rest).sum() / (r * (r - 3) / 2))
        variances.append((max(0.0, float(np.square(of_run).sum() / (r - 1)) - pair / (r - 2)), pair))
    run, pair = np.mean(variances, axis=0)
    return Components(float(run), float(pair), sum(map(len, splits)), len(splits), splits[0].ndim == 2)


def power(variances: Components, delta: float, r: int) -> float:
    """Return the probability that an interval of ``r`` runs on one split excludes 0, given a true ``delta``."""
    variance, expected = variances.of_mean(r), variances.of_jackknife(r)
    if variance == 0:
        return float(delta != 0)
    # The noncentral t, integrated over the jackknife's error: scipy's implementation has gaps (nan).
    error = np.sqrt(chdtri(r - 1, 1 - NODES) / (r - 1)) * np.sqrt(expected / variance)
    limit = float(stdtrit(r - 1, 0.5 + LEVEL / 2)) * error
    shift = abs(delta) / np.sqrt(variance)
    return float(WEIGHTS @ (ndtr(shift - limit) + ndtr(-shift - limit)))


def needed(variances: Components, delta: float) -> int | None:
    """Return the least number of runs, from 3, whose power for ``delta`` is ``POWER``; None if it exceeds ``MOST``."""
    candidates = range(3, MOST + 1)
    index = bisect_left(candidates, POWER, key=lambda r: power(variances, delta, r))  # power grows with runs
    return candidates[index] if index < len(candidates) else None


def resolvable(variances: Components, r: int) -> float:
    """Return the least true difference that ``r`` runs detect with ``POWER``."""
    scale = float(np.sqrt(variances.of_jackknife(r)))
    if scale == 0:
        return 0.0
    top = 2.0
    while power(variances, top * scale, r) < POWER:
        top *= 2
    return float(brentq(lambda x: power(variances, x * scale, r) - POWER, 0, top)) * scale
