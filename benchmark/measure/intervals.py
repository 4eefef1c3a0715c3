"""Estimates with intervals; the unit of replication is the retraining, never the pair of retrainings.

A quantity is given as one array per canonical split: (R,) with one value per retraining, or a symmetric matrix (R, R)
with one value per pair of retrainings; over test examples, (T,) with one contribution per example.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.special import stdtr, stdtrit  # Student's t: scipy.stats.t takes a hundred times as long for one value

from benchmark.types import PAPER, Sampling

IntervalKind = Literal["runs", "examples", "both", "paper"]
INTERVAL_KINDS: Mapping[IntervalKind, str] = {
    "runs": "95 % jackknife interval over retrainings, for the same test examples; none where all give one value.",
    "examples": "95 % jackknife interval over test examples, for the same retrainings; none where fewer than 8 differ.",
    "both": "95 % interval for other retrainings and other test examples: the variances over both are added; none "
    "where fewer than 8 examples differ.",
    "paper": "95 % percentile bootstrap over pairs of retrainings (10,000 resamples), as in the paper; it treats pairs "
    "that share a retraining as independent and is 2.7 times too narrow (median of measurements).",
}
"""Kinds of interval, with the sentence that describes each on pages and in tables. ``runs`` is the default."""
FEWEST_EXAMPLES = 5
"""Number of test examples below which no interval of any kind is given."""
FEWEST_DIFFERING = 8
"""Number of differing contributions below which there is no interval over examples: it would cover too little."""
MOST_WITHOUT = 0.25
"""Largest share of datasets without an interval at which the mean over all datasets still has one."""
LEAST, MOST = 1e-4, 1e5
"""Sizes below which three decimals leave nothing of a number, and from which on they say nothing."""
EQUAL = 1e-9
"""Relative difference up to which numbers count as equal: rounding between equal retrainings is not variance."""


def described(kind: IntervalKind, sampling: Sampling = PAPER) -> str:
    """Return the sentence that describes a kind of interval under a sampling.

    >>> described("runs", "halves").partition(";")[0]
    '95 % jackknife interval over halvings of this training pool, for the same test examples'
    """
    text = INTERVAL_KINDS[kind]
    return text.replace("over retrainings", "over halvings of this training pool") if sampling == "halves" else text


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval and the two-sided p-value of "the true value is 0", from the same distribution.

    ``low``, ``high`` and ``p`` are nan if there are too few retrainings or examples, or if all give the same value.
    ``df`` are the degrees of freedom of a Student's interval, otherwise nan.
    """

    value: float
    low: float
    high: float
    p: float = float("nan")
    df: float = field(default=float("nan"), repr=False, compare=False)

    def __eq__(self, other: object) -> bool:
        """Compare all but ``df``; the nan of two estimates without ``p`` is the same, as it is not in Python 3.13."""
        if not isinstance(other, Estimate):
            return NotImplemented
        return (self.value, self.low, self.high, self.p) == (other.value, other.low, other.high, other.p)

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0

    @property
    def error(self) -> float:
        """The standard error of a Student's interval, otherwise nan."""
        return float((self.high - self.value) / stdtrit(self.df, 0.975))

    def form(self, digits: int, scale: float = 1) -> str:
        """Return the format of its numbers: decimals, or significant digits where three decimals leave nothing of any.

        >>> Estimate(0.2, 0.1, 0.3).form(3), Estimate(2e-7, 1e-7, 3e-7).form(3), Estimate(2e-7, 1e-7, 3e-7).form(1)
        ('.3f', '.3g', '.1f')
        >>> Estimate(2e5, 9e4, 3e5).form(3)
        '.0f'
        """
        if digits != 3:  # tables have tens of thousands of numbers
            return f".{digits}f"
        largest = max((abs(x) for x in (self.value, self.low, self.high) if not math.isnan(x)), default=0.0) * scale
        return ".3g" if 0 < largest < LEAST else ".3f" if largest < MOST else ".0f"

    def bare(self) -> "Estimate":
        """Return the value without its interval."""
        return Estimate(self.value, np.nan, np.nan)

    def divided(self, unit: float) -> "Estimate":
        """Return the estimate in another, positive ``unit``; nan if that is 0, such as the error of a perfect ERM."""
        unit = unit or math.nan
        return Estimate(self.value / unit, self.low / unit, self.high / unit, self.p, self.df)


def weighted(estimates: Sequence[Estimate], weights: np.ndarray) -> Estimate:
    """Return the ``weights`` (D,) mean over datasets, with the interval for new retrainings on the same datasets.

    Retrainings on different datasets are independent, so the half-widths are added in squares; Student's quantile
    remains that of one dataset, which errs on the wide side. The p-value is that of the same distribution. Datasets
    without an interval, where all runs give one value, count with the mean variance of the others if they are at most
    ``MOST_WITHOUT`` of all; if they are more, there is none.
    """
    value, low, high, dfs = np.array([(e.value, e.low, e.high, e.df) for e in estimates]).T
    mean, lacking = float(weights @ value), np.isnan(low)
    few = lacking.mean() <= MOST_WITHOUT
    own = ~lacking if few else np.full(len(value), True)  # then nan remains, and there is no interval
    squares = [np.where(own, (value - end) ** 2, np.mean((value - end)[own] ** 2)) for end in (low, high)]
    df = float(dfs[own].min())
    below, above = (float(np.sqrt(weights**2 @ half_widths)) for half_widths in squares)
    half = below if mean > 0 else above
    p = 2 * float(stdtr(df, -stdtrit(df, 0.975) * abs(mean) / half)) if half > 0 else float("nan")
    return Estimate(mean, mean - below, mean + above, p, df)


def leave_one_out(quantity: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the mean of ``quantity`` over runs (R,) or pairs of runs (R, R), and the mean without each run, (R,).

    >>> value, without = leave_one_out(np.array([[0, 1, 2], [1, 0, 6], [2, 6, 0]]))
    >>> value, without.tolist()
    (3.0, [6.0, 2.0, 1.0])
    """
    quantity = np.asarray(quantity, dtype=np.float64)
    r = len(quantity)
    with np.errstate(invalid="ignore", divide="ignore"):
        if quantity.ndim == 1:
            total = quantity.sum()  # mean takes three times as long
            return float(total / r), (total - quantity) / (r - 1)
        by_run = quantity.sum(axis=1)
        total = by_run.sum() / 2
        return float(np.divide(total, r * (r - 1) / 2)), (total - by_run) / ((r - 1) * (r - 2) / 2)


Influence = tuple[float, list[np.ndarray]]
"""A mean over splits, and the influence (R,) of each split's runs on it."""


def influence(splits: Sequence[np.ndarray]) -> Influence:
    """Return the mean over splits, and the influence (R,) of each split's runs on it.

    The squared influences add up to the jackknife's variance; they are nan if there are too few runs to leave one out,
    and exactly 0 if the values without each run are equal but for rounding.
    """
    values, runs = [], []
    for quantity in splits:
        value, without = leave_one_out(quantity)
        r = len(quantity)
        values.append(value)
        deviations = without.sum() / r - without
        if _negligible(float(without.max() - without.min()), quantity):
            deviations = np.zeros(r)
        runs.append(math.sqrt((r - 1) / r) / len(splits) * deviations)
    return values[0] if len(values) == 1 else float(np.mean(values)), runs


def variance(influences: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the sum of the variances of ``influences`` and its degrees of freedom; nan if there is no variance.

    The degrees of freedom are Welch's and Satterthwaite's (1946, doi:10.2307/3002019): between the least and the sum
    of those of the parts.
    """
    parts = [(float((part**2).sum()), len(part) - 1) for part in influences]
    total = sum(part for part, _ in parts)
    if math.isnan(total) or total == 0:
        return float("nan"), float("nan")
    return total, total**2 / sum(part**2 / of_part for part, of_part in parts)


def differing(splits: Sequence[np.ndarray]) -> int:
    """Return the number of examples, over all splits, whose contribution is not the most common one of their split.

    >>> differing([np.array([0.0, 0.0, 0.0, 0.2, 1.0]), np.array([0.5, 0.5])])
    2
    """
    return sum(len(part) - int(np.unique(_levels(part), return_counts=True)[1].max(initial=0)) for part in splits)


def jackknife(splits: Sequence[np.ndarray], level: float = 0.95) -> Estimate:
    """Return the mean of a quantity over canonical splits, with the jackknife over runs (leave one retraining out).

    Within a split of R runs, se² = (R−1)/R · Σ (θ₍₋ᵣ₎ − mean θ₍₋·₎)², and the interval is θ ± t(R−1)·se (Tukey 1958;
    Efron and Stein 1981, doi:10.1214/aos/1176345462). Over splits, the variances are averaged and divided by their
    number, with Welch's and Satterthwaite's degrees of freedom, at most the sum of the splits' R−1. There is no
    interval for one run, for two runs of a pairwise quantity, or for runs that are all equal.

    Resampling pairs as if they were independent gives intervals 2.7 times too narrow (median). In simulations of
    churn from 1 to 40 % with R = 5 to 20, this one covers 93 to 98 %, but 87 to 93 % where churn is low and whole runs
    shift together (``tests/measure/test_coverage.py``).

    >>> runs = np.array([0.70, 0.74, 0.78])
    >>> estimate = jackknife([runs])  # Student's interval, for a mean over runs
    >>> [round(float(x), 4) for x in (estimate.low, estimate.high)]
    [0.6406, 0.8394]
    """
    value, runs = influence(splits)
    return _student(value, runs, level)


def jackknife_of_each(values: np.ndarray) -> list[Estimate]:
    """Return ``jackknife`` of each row of ``values`` (K, R), a quantity with one value per run, for the same bits."""
    r = values.shape[1]
    rows = np.ascontiguousarray(values, dtype=np.float64)  # sums in another order of memory have other bits
    totals = rows.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        without = (totals[:, None] - rows) / (r - 1)
        deviations = without.sum(axis=1, keepdims=True) / r - without
        equal = np.ptp(without, axis=1) <= EQUAL * np.abs(rows).max(axis=1)
        squares = (math.sqrt((r - 1) / r) * deviations) ** 2
        variances = np.where(equal, np.nan, squares.sum(axis=1))
        errors, df = np.sqrt(variances), variances**2 / (variances**2 / (r - 1))
        means = totals / r
        halves, p = stdtrit(df, 0.975) * errors, 2 * stdtr(df, -np.abs(means) / errors)
    known = np.where(np.isnan(variances), np.nan, [means - halves, means + halves, p, df])
    return [Estimate(*numbers) for numbers in zip(means.tolist(), *known.tolist(), strict=True)]


def paired(ours: tuple[float, Sequence[np.ndarray]], theirs: tuple[float, Sequence[np.ndarray]]) -> Estimate:
    """Return the jackknife of the difference of two means over the same runs, from the ``influence`` of runs on each.

    A run's influence on a difference is the difference of its influences, so methods are gone through once, not pairs.
    """
    value, runs = ours[0] - theirs[0], [a - b for a, b in zip(ours[1], theirs[1], strict=True)]
    rounding = EQUAL * max(abs(ours[0]), abs(theirs[0]))
    if max(float(np.abs(part).max()) for part in runs) <= rounding:
        runs = [np.zeros(len(part)) for part in runs]
    return _student(0.0 if abs(value) <= rounding else value, runs)


def over_examples(splits: Sequence[np.ndarray]) -> Estimate:
    """Return the jackknife over test examples, for the runs at hand: ``splits`` hold contributions (T,).

    The estimate is their mean, so leaving one example out gives Student's interval. Examples are taken as independent;
    molecules of one series are not, so a scaffold split has fewer than T independent examples. There is no interval
    where fewer than ``FEWEST_DIFFERING`` contributions differ from the most common one: where few examples flip, others
    may flip far more often than those at hand.

    >>> flips = np.array([0.0, 0.0, 0.2, 0.6])  # the share of pairs in which each example changes its class
    >>> over_examples([flips])
    Estimate(value=0.2, low=nan, high=nan, p=nan)
    """
    estimate = jackknife(splits)
    return estimate if differing(splits) >= FEWEST_DIFFERING else estimate.bare()


def over_both(
    runs: Sequence[np.ndarray], examples: Sequence[np.ndarray], level: float = 0.95, fewest: int = FEWEST_DIFFERING
) -> Estimate:
    """Return an interval for other retrainings and other test examples, with the two variances added.

    Noise specific to a run and an example is in both variances and thus counted twice, so the interval errs on the
    wide side (McCullagh 2000, doi:10.2307/3318577: no resampling of two crossed factors is exact). Its degrees of
    freedom are near R−1 where retraining dominates, and near T−1 where the test set does. Like ``over_examples``, it
    gives no interval where few contributions differ (less than ``fewest``).

    Raises ValueError if ``runs`` and ``examples`` are not the same quantity.
    """
    value, by_run = influence(runs)
    other, by_example = influence(examples)
    if not (math.isclose(value, other, rel_tol=1e-5, abs_tol=1e-9) or np.isnan([value, other]).all()):
        raise ValueError(f"runs and examples must be of one quantity, got means of {value} and {other}")
    estimate = _student(value, by_run + by_example, level)
    return estimate if differing(examples) >= fewest else estimate.bare()


def on_log_scale(estimate: Estimate) -> Estimate:
    """Return a symmetric interval of a positive quantity on the log scale, θ · exp(± half-width/θ), without a p-value.

    By the delta method, the standard error of log θ is that of θ divided by θ. The jackknife's interval for a mean of
    |Δ| is too short above the mean and reaches below 0, because the distribution is skewed. In simulations of |Δ| of
    normal values with R = 5 to 20, coverage rises from 92–94 % to 94–96 %. A mean of 0 has no interval on either scale.

    >>> on_log_scale(Estimate(2.0, 1.0, 3.0))
    Estimate(value=2.0, low=1.2130613194252668, high=3.2974425414002564, p=nan)
    """
    if np.isnan(estimate.low):
        return estimate.bare()
    ratio = float(np.exp((estimate.high - estimate.value) / estimate.value))
    return Estimate(estimate.value, estimate.value / ratio, estimate.value * ratio)


def pair_bootstrap(splits: Sequence[np.ndarray], resamples: int = 10_000) -> Estimate:
    """Return the paper's interval: percentiles of the mean over pairs (R, R), or runs (R,), drawn with replacement.

    Of several splits, pairs are drawn within each and the means averaged. This is kept to reproduce published tables:
    the P = R(R−1)/2 pairs share runs, so a nominal 95 % covers 50 to 75 %. The same arguments give the same interval.
    ``p`` is twice the smaller share of resamples on one side of 0 (Davison and Hinkley 1997, section 4.4), at least
    2/(resamples + 1). A single pair or run, or values that are all equal, give no interval.
    """
    rng = np.random.default_rng(0)
    quantities = [np.asarray(quantity, dtype=np.float64) for quantity in splits]
    units = [q if q.ndim == 1 else q[np.triu_indices(len(q), k=1)] for q in quantities]
    value = float(np.mean([leave_one_out(quantity)[0] for quantity in splits]))
    if min(map(len, units)) < 2:
        return Estimate(value, np.nan, np.nan)
    means = np.mean([_resampled_means(rng, of_split, resamples) for of_split in units], axis=0)
    low, high = np.quantile(means, [0.025, 0.975])
    if _negligible(high - low, *units):
        return Estimate(value, np.nan, np.nan)
    one_side = min(np.sum(means <= 0), np.sum(means >= 0))
    return Estimate(value, float(low), float(high), min(1.0, 2 * float(one_side + 1) / (resamples + 1)))


def standard_deviation(values: np.ndarray, resamples: int = 10_000) -> Estimate:
    """Return the sample standard deviation (ddof 1) of replicates (R,), with the percentile bootstrap over them.

    The interval is too narrow for few replicates, and ends at 0 if most are equal; the paper uses it for trajectories.
    Equal replicates give no interval.

    >>> standard_deviation(np.array([1.5, 1.5, 1.5]))
    Estimate(value=0.0, low=nan, high=nan, p=nan)
    """
    r = len(values)
    if r < 2:
        return Estimate(float("nan"), float("nan"), float("nan"))
    drawn = np.asarray(values, dtype=np.float64)[np.random.default_rng(0).integers(r, size=(resamples, r))]
    low, high = np.quantile(drawn.std(axis=1, ddof=1), [0.025, 0.975])
    estimate = Estimate(float(np.std(values, ddof=1)), float(low), float(high))
    return estimate.bare() if _negligible(high - low, values) else estimate


def difference(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return the difference by run, or by pair of runs, of two methods with the same bootstraps in the same order.

    Numbers that are equal but for rounding have a difference of exactly 0.
    """
    if ours.shape != theirs.shape:
        raise ValueError(f"only quantities of the same runs can be paired, got {ours.shape} and {theirs.shape}")
    gaps = ours - theirs  # numpy.isclose takes seven times as long
    close = (np.abs(gaps) <= EQUAL * np.abs(theirs)) & np.isfinite(theirs)
    return np.where(close | (ours == theirs), 0.0, gaps)


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return p-values adjusted for multiple comparisons (Holm 1979), in the given order; nan stays nan.

    Calling adjusted values below 0.05 significant keeps the chance of any false claim at 5 %.

    >>> holm([0.01, 0.04, float("nan"), 0.03]).round(3).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    adjusted = np.array(p, dtype=np.float64)
    order = np.argsort(adjusted)[: np.sum(~np.isnan(adjusted))]  # nan comes last
    steps = np.arange(len(order), 0, -1) * adjusted[order]  # statsmodels does the same, but takes 0.2 s a call
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


def _student(value: float, influences: Sequence[np.ndarray], level: float = 0.95) -> Estimate:
    """Return Student's interval and p-value for the sum of the variances of ``influences``; none if the sum is 0.

    Equal values of a few runs do not prove that all others are equal: of 20 examples that flip in 1 % of the pairs,
    most often none flips.
    """
    total, df = variance(influences)
    if math.isnan(total):
        return Estimate(value, np.nan, np.nan)
    error = math.sqrt(total)
    half = float(stdtrit(df, 0.5 + level / 2)) * error
    return Estimate(value, value - half, value + half, 2 * float(stdtr(df, -abs(value) / error)), df)


def _negligible(spread: float, *numbers: np.ndarray) -> bool:
    """Return whether a spread is no more than the rounding error of the numbers that it comes from."""
    return bool(spread <= EQUAL * max(np.abs(part).max(initial=0) for part in numbers))


def _levels(values: np.ndarray) -> np.ndarray:
    """Return values in multiples of their rounding error, so that those that are equal but for it are equal."""
    return np.round(values / (EQUAL * (np.abs(values).max(initial=0) or 1)))


def _resampled_means(rng: np.random.Generator, units: np.ndarray, resamples: int) -> np.ndarray:
    """Return the means of ``resamples`` draws with replacement, in blocks to save memory."""
    n = len(units)
    block = max(1, 2**20 // n)
    sizes = [min(block, resamples - start) for start in range(0, resamples, block)]
    drawn = (rng.integers(n, size=(n, size), dtype=np.uint32) for size in sizes)  # this layout is twice as fast
    return np.concatenate([units[rows].mean(axis=0) for rows in drawn])
