"""Estimates with intervals in which the retraining, never the pair of retrainings, is the unit of replication.

A quantity comes as one array per canonical split: (R,) with one value per retraining, or a symmetric matrix (R, R)
with one value per pair of retrainings; over test examples it comes as (T,), one contribution per example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtr, stdtrit  # Student's t: scipy.stats.t takes a hundred times as long for one value

IntervalKind = Literal["runs", "examples", "both", "paper"]
INTERVAL_KINDS: Mapping[IntervalKind, str] = {
    "runs": "95 % jackknife interval over retrainings: what other retrainings would give on the same test examples.",
    "examples": "95 % jackknife interval over test examples: what the same retrainings would give on other examples.",
    "both": "95 % interval with the variances over retrainings and over test examples added: what other retrainings "
    "would give on other examples.",
    "paper": "95 % percentile bootstrap over pairs of retrainings (10,000 resamples), as in the paper; it treats pairs "
    "that share a retraining as independent and is too narrow by a factor of about three.",
}
"""What an interval is over, with the sentence that pages and tables show. ``runs`` is the default."""


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval and the two-sided p-value of "the true value is 0", from the same distribution.

    ``low``, ``high`` and ``p`` are nan where there are too few retrainings to tell, or they all say the same.
    """

    value: float
    low: float
    high: float
    p: float = float("nan")

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def leave_one_out(quantity: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean of ``quantity`` over runs (R,) or over pairs of runs (R, R), and the same without each run, (R,).

    >>> value, without = leave_one_out(np.array([[0, 1, 2], [1, 0, 6], [2, 6, 0]]))
    >>> value, without.tolist()
    (3.0, [6.0, 2.0, 1.0])
    """
    quantity = np.asarray(quantity, dtype=np.float64)
    r = len(quantity)
    with np.errstate(invalid="ignore", divide="ignore"):
        if quantity.ndim == 1:
            return float(quantity.mean()), (quantity.sum() - quantity) / (r - 1)
        own = quantity.sum(axis=1)
        total = own.sum() / 2
        return float(np.divide(total, r * (r - 1) / 2)), (total - own) / ((r - 1) * (r - 2) / 2)


def influence(splits: Sequence[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """The mean over splits, and for each split how far each run moves it, (R,), scaled so that the squares of all
    add up to the jackknife's variance; nan where there are too few runs to leave one out.
    """
    values, runs = [], []
    for quantity in splits:
        value, without = leave_one_out(quantity)
        r = len(quantity)
        values.append(value)
        runs.append(np.sqrt((r - 1) / r) / len(splits) * (without.mean() - without))
    return float(np.mean(values)), runs


def jackknife(splits: Sequence[np.ndarray], level: float = 0.95) -> Estimate:
    """Mean over canonical splits of a quantity, with the jackknife over runs (leave one retraining out).

    Within a split of R runs, se² = (R−1)/R · Σ (θ₍₋ᵣ₎ − mean θ₍₋·₎)², and the interval is θ ± t(R−1)·se (Tukey 1958;
    Efron and Stein 1981, doi:10.1214/aos/1176345462). Over splits the variances are averaged and divided by their
    number, with Welch's and Satterthwaite's degrees of freedom, at most the sum of the splits' R−1. One run, two of
    a pairwise quantity, and runs that are all equal give no interval.

    Resampling pairs as if they were independent would give intervals that are about three times too narrow. In
    simulations this one covers 93 to 98 %, of churn from 1 to 40 % at R = 5 to 20, but 87 to 93 % where churn is low
    and whole runs shift together (``tests/leaderboard/stats/test_coverage.py``).

    >>> runs = np.array([0.70, 0.74, 0.78])
    >>> estimate = jackknife([runs])  # for a mean over runs this is Student's interval
    >>> [round(float(x), 4) for x in (estimate.low, estimate.high)]
    [0.6406, 0.8394]
    """
    value, runs = influence(splits)
    return _student(value, _parts(runs), level)


def over_examples(splits: Sequence[np.ndarray], level: float = 0.95) -> Estimate:
    """The same jackknife over test examples, for the runs at hand: ``splits`` hold contributions (T,).

    The estimate is their mean, so that leaving one example out gives Student's interval. Examples are taken as
    independent: molecules of one series are not, and a scaffold split then has fewer than T independent ones.

    >>> flips = np.array([0.0, 0.0, 0.2, 0.6])  # the share of pairs in which each example changes its class
    >>> round(over_examples([flips]).value, 3)
    0.2
    """
    return jackknife(splits, level)


def over_both(runs: Sequence[np.ndarray], examples: Sequence[np.ndarray], level: float = 0.95) -> Estimate:
    """An interval for other retrainings and other test examples: the two variances added.

    The noise that belongs to a run and an example together is in both variances, hence counted twice: the interval
    errs on the wide side (McCullagh 2000, doi:10.2307/3318577: no resampling of two crossed factors is exact).
    Its degrees of freedom are near R−1 where retraining dominates and near T−1 where the test set does.

    Raises ValueError if the two are not the same quantity, seen by run and by example.
    """
    value, by_run = influence(runs)
    other, by_example = influence(examples)
    if not np.isclose(value, other, rtol=1e-5, atol=1e-9, equal_nan=True):
        raise ValueError(f"the mean over runs, {value}, and over examples, {other}, must be of one quantity")
    return _student(value, _parts(by_run) + _parts(by_example), level)


def pair_bootstrap(
    splits: Sequence[np.ndarray], resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> Estimate:
    """The paper's interval: percentiles of the mean over pairs (R, R), or runs (R,), drawn with replacement.

    Several splits: pairs are drawn within each, and the means averaged. Kept to reproduce published tables: the
    P = R(R−1)/2 pairs share runs, so it covers 50 to 75 % where it says 95 %. The same arguments give the same
    interval. ``p`` is twice the smaller share of resamples on one side of 0 (Davison and Hinkley 1997, section 4.4),
    at least 2/(resamples + 1). A single pair or run gives no interval.
    """
    rng = np.random.default_rng(seed)
    units = [_units(quantity) for quantity in splits]
    value = float(np.mean([leave_one_out(quantity)[0] for quantity in splits]))
    if min(map(len, units)) < 2:
        return Estimate(value, np.nan, np.nan)
    means = np.mean([_resampled_means(rng, of_split, resamples) for of_split in units], axis=0)
    low, high = np.quantile(means, [0.5 - level / 2, 0.5 + level / 2])
    one_side = min(np.sum(means <= 0), np.sum(means >= 0))
    return Estimate(value, float(low), float(high), min(1.0, 2 * float(one_side + 1) / (resamples + 1)))


def standard_deviation(values: np.ndarray, resamples: int = 10_000, seed: int = 0, level: float = 0.95) -> Estimate:
    """The standard deviation (of a sample, ddof 1) of replicates (R,), with the percentile bootstrap over them.

    With few replicates such an interval is too narrow, and it ends at 0 where most of them are equal; it is what the
    paper reports of trajectories.

    >>> standard_deviation(np.array([1.5, 1.5, 1.5]))
    Estimate(value=0.0, low=0.0, high=0.0, p=nan)
    """
    r = len(values)
    if r < 2:
        return Estimate(float("nan"), float("nan"), float("nan"))
    drawn = np.asarray(values, dtype=np.float64)[np.random.default_rng(seed).integers(r, size=(resamples, r))]
    low, high = np.quantile(drawn.std(axis=1, ddof=1), [0.5 - level / 2, 0.5 + level / 2])
    return Estimate(float(np.std(values, ddof=1)), float(low), float(high))


def difference(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """The run-by-run or pair-by-pair difference of two methods whose runs saw the same bootstraps, in equal order."""
    if ours.shape != theirs.shape:
        raise ValueError(f"only quantities of the same runs can be paired, got {ours.shape} and {theirs.shape}")
    return ours - theirs


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """p-values adjusted for their number (Holm 1979), in the order given; nan, which is no comparison, stays nan.

    An adjusted value below 0.05 is significant with a chance of 5 % for any false claim among all of them.

    >>> holm([0.01, 0.04, float("nan"), 0.03]).round(3).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    from statsmodels.stats.multitest import multipletests  # late: it takes a second

    adjusted = np.array(p, dtype=np.float64)
    known = ~np.isnan(adjusted)
    if known.any():
        adjusted[known] = multipletests(adjusted[known], method="holm")[1]
    return adjusted


def _parts(runs: Sequence[np.ndarray]) -> list[tuple[float, int]]:
    """The variance that each split adds (nan where too few runs tell it) and its degrees of freedom."""
    return [(float(np.sum(of_split**2)), len(of_split) - 1) for of_split in runs]


def _student(value: float, parts: Sequence[tuple[float, int]], level: float) -> Estimate:
    """Student's interval and p-value for a sum of variances; without any variance there are none.

    Equal values of a few runs are no proof that all others are equal: of 20 examples that flip in 1 % of the pairs,
    most often none does.

    The degrees of freedom are Welch's and Satterthwaite's (1946, doi:10.2307/3002019): between the least and the sum
    of those of the parts.
    """
    variance = sum(part for part, _ in parts)
    if np.isnan(variance) or variance == 0:
        return Estimate(value, np.nan, np.nan)
    df = variance**2 / sum(part**2 / of_part for part, of_part in parts)
    error = float(np.sqrt(variance))
    half = float(stdtrit(df, 0.5 + level / 2)) * error
    return Estimate(value, value - half, value + half, 2 * float(stdtr(df, -abs(value) / error)))


def _units(quantity: np.ndarray) -> np.ndarray:
    """The values that are resampled: of all runs (R,), or of all pairs (P,)."""
    quantity = np.asarray(quantity, dtype=np.float64)
    return quantity if quantity.ndim == 1 else quantity[np.triu_indices(len(quantity), k=1)]


def _resampled_means(rng: np.random.Generator, units: np.ndarray, resamples: int) -> np.ndarray:
    """Means of ``resamples`` draws with replacement, in blocks that keep the memory small for many pairs."""
    n = len(units)
    block = max(1, 2**20 // n)
    sizes = [min(block, resamples - start) for start in range(0, resamples, block)]
    drawn = (rng.integers(n, size=(n, size), dtype=np.uint32) for size in sizes)  # this layout is twice as fast
    return np.concatenate([units[rows].mean(axis=0) for rows in drawn])
