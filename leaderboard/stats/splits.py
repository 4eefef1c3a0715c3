"""How much a quantity varies between canonical splits of one dataset, beyond what retraining does on each."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from benchmark.measure.intervals import Estimate, weighted


class Between(NamedTuple):
    """The variance between splits, with the degrees of freedom of the variance that it was found from."""

    variance: float
    df: float


def between(values: Sequence[Sequence[float]], variances: Sequence[Sequence[float]]) -> Between:
    """Return the variance between splits of quantities that all have the same.

    ``values`` are the means of each quantity on its splits (at least two), ``variances`` those of these means over
    retrainings. The variance over splits is the sum of both, so it is the mean variance of ``values``, weighted by
    degrees of freedom, less the mean of ``variances``; at least 0 (the one-way analysis of variance with known
    variances within: Searle, Casella and McCulloch 1992, doi:10.1002/9780470316856, chapter 3).

    >>> between([[1.0, 3.0], [4.0, 6.0]], [[0.5, 0.5], [0.5, 0.5]])
    Between(variance=1.5, df=2)
    """
    freedom = np.array([len(of) - 1 for of in values])
    if not len(values) or freedom.min() < 1:
        return Between(np.nan, 0)
    total = freedom @ [np.var(of, ddof=1) for of in values] / freedom.sum()
    within = np.average([np.mean(of) for of in variances], weights=freedom)
    return Between(max(float(total - within), 0.0), int(freedom.sum()))


def over_other_splits(
    estimates: Sequence[Estimate], weights: np.ndarray, splits: Sequence[int], found: Between
) -> Estimate:
    """Return the ``weights`` (D,) mean over datasets, with the interval for other splits and retrainings of them.

    The variance of each dataset's mean over its ``splits`` (D,) is added to that of ``weighted``; degrees of freedom
    are Welch's and Satterthwaite's (1946, doi:10.2307/3002019).
    """
    same = weighted(estimates, weights)
    parts = [(same.error, same.df), (float(np.sqrt(weights**2 @ (found.variance / np.asarray(splits)))), found.df)]
    error = float(np.sqrt(sum(part**2 for part, _ in parts)))
    df = error**4 / sum(part**4 / of for part, of in parts)
    half = float(stdtrit(df, 0.975)) * error
    return Estimate(
        same.value, same.value - half, same.value + half, 2 * float(stdtr(df, -abs(same.value) / error)), df
    )
