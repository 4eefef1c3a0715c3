"""Ranks of methods over datasets: Friedman's test, Nemenyi's critical difference, and intervals of mean ranks.

Values are (D, M), for D datasets and M methods, nan where a method has none. Rank 1 is the lowest value and ties share
their mean rank; negate values if higher is better. The unit of Friedman's test is the dataset, never the retraining.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.measure.intervals import Estimate, Influence

ALPHA = 0.05


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of M methods over n blocks, with tests; these are nan with fewer than 3 methods or 2 blocks.

    ``mean_ranks`` (M,); ``chi2`` and ``p`` of Friedman's test, corrected for ties; ``critical_difference`` of mean
    ranks at 0.05 after Nemenyi, which allows for all pairs being compared; ``groups``: the maximal sets of methods that
    do not differ significantly, best first, each method in at least one. ``blocks`` are the ranked datasets, those of
    a family joined by " + ".
    """

    methods: tuple[str, ...]
    blocks: tuple[str, ...]
    mean_ranks: np.ndarray
    chi2: float
    p: float
    critical_difference: float
    groups: tuple[tuple[str, ...], ...]

    @property
    def n(self) -> int:
        return len(self.blocks)


def friedman(
    values: np.ndarray, methods: Sequence[str], datasets: Sequence[str], families: Sequence[str] | None = None
) -> Ranking:
    """Rank the methods within each dataset and test whether they differ (Demšar 2006, JMLR 7, section 3.2).

    Only complete blocks count: a dataset that lacks a value of any method is left out, never imputed.
    ``families`` names each dataset's family. Datasets with the same molecules and labels are not independent evidence,
    so the complete datasets of a family are averaged into one block, which uses all of their runs and favours no
    version. The paper counts each dataset (``None``).

    >>> churn = np.array([[16.1, 13.3, 5.7], [20.0, 14.0, 10.7], [13.3, 7.3, 4.0], [12.0, np.nan, 5.0]])
    >>> ranking = friedman(churn, ["ERM", "bagging", "twin"], ["BACE", "Pgp", "CYP2D6", "new"])
    >>> ranking.mean_ranks.tolist(), ranking.chi2, round(ranking.critical_difference, 2), ranking.blocks
    ([3.0, 2.0, 1.0], 6.0, 1.91, ('BACE', 'Pgp', 'CYP2D6'))
    >>> ranking.groups
    (('twin', 'bagging'), ('bagging', 'ERM'))
    """
    values = np.asarray(values, dtype=np.float64).reshape(len(datasets), len(methods))
    members = _blocks(values, families)
    blocks = _tied(np.array([values[block].mean(axis=0) for block in members]).reshape(len(members), len(methods)))
    from scipy.stats import friedmanchisquare, rankdata  # slow to import

    n, k = blocks.shape
    mean_ranks = rankdata(blocks, axis=1).mean(axis=0) if n else np.full(k, np.nan)
    chi2 = p = difference = np.nan
    if n >= 2 and k >= 3:
        with np.errstate(invalid="ignore"):  # nan if all values of all blocks are equal
            chi2, p = map(float, friedmanchisquare(*blocks.T))
        difference = critical_difference(n, k)
    return Ranking(
        tuple(methods),
        tuple(" + ".join(datasets[d] for d in block) for block in members),
        mean_ranks,
        chi2,
        p,
        difference,
        tuple(tuple(methods[m] for m in group) for group in _groups(mean_ranks, difference)),
    )


def critical_difference(n: int, k: int) -> float:
    """Return the least difference of mean ranks significant at 0.05 for k methods on n datasets (Nemenyi 1963).

    CD = q √(k(k+1) / 6n), with q the quantile of the studentised range, divided by √2 (Demšar 2006, table 5a).

    >>> round(critical_difference(14, 4), 2)
    1.25
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - ALPHA, k, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * n)))


def rank_intervals(
    cells: Sequence[Sequence[Influence]], families: Sequence[str] | None = None, resamples: int = 2000
) -> tuple[Estimate, ...]:
    """Return the mean ranks (M,) with intervals, those of ``friedman``, for other retrainings on the same datasets.

    ``cells`` are what ``influence`` returns, by dataset and method; a missing cell is nan, without a split.

    Drawing runs with replacement would pair a run with itself, which never churns. Instead each run r gets a random
    weight ε₍ᵣ₎ ~ N(0, 1), shared by the methods of a split, and a resample of a value is θ + √(ν/χ²(ν)) · √((R−1)/R) ·
    Σ ε₍ᵣ₎ (θ₍₋ᵣ₎ − mean θ₍₋·₎), with ν the sum of R−1 over splits. It has the variance and, between methods, the
    covariance of ``jackknife``, and Student's tails (the jackknife multiplier bootstrap: Chen and Kato 2020,
    doi:10.1007/s00440-019-00936-y). Runs are paired by position, so methods should share their train seeds in the same
    order; unrelated runs cost precision, not validity.

    The interval is the mean rank ± the 95 % quantile of |resampled − observed| (Hall 1988,
    doi:10.1111/j.2517-6161.1988.tb01709.x), clipped to the possible ranks 1 to M. Percentiles could miss the observed
    rank, because noise pulls ranks towards the middle. The interval covers the protocol's mean rank on average; for
    methods near ties, that rank lies closer to the middle than the rank of their true values. Intervals are nan
    if any counted method has only one run, or two of a pairwise quantity.
    """
    n_methods = len(cells[0]) if cells else 0
    values = np.array([[value for value, _ in methods] for methods in cells]).reshape(len(cells), n_methods)
    members = _blocks(values, families)
    if not members:
        return (Estimate(np.nan, np.nan, np.nan),) * n_methods
    rng = np.random.default_rng(0)
    observed = np.zeros(n_methods)
    drawn = np.zeros((resamples, n_methods))
    for block in members:
        observed += _ranked(_tied(values[block].mean(axis=0)[None]))[0]
        resampled = np.mean(
            [values[d] + _deviations(rng, [runs for _, runs in cells[d]], resamples) for d in block], axis=0
        )
        drawn += _ranked(resampled)
    observed, drawn = observed / len(members), drawn / len(members)
    half = np.quantile(np.abs(drawn - observed), 0.95, axis=0)
    bounds = zip(observed, np.maximum(observed - half, 1), np.minimum(observed + half, n_methods), strict=True)
    return tuple(Estimate(float(x), float(low), float(high)) for x, low, high in bounds)


def _deviations(rng: np.random.Generator, cells: Sequence[Sequence[np.ndarray]], resamples: int) -> np.ndarray:
    """Draw deviations (resamples, M) of one dataset's values from the truth, jointly for its M methods."""
    total = np.zeros((resamples, len(cells)))
    for split in range(max(map(len, cells))):
        of_split = {m: runs[split] for m, runs in enumerate(cells) if split < len(runs)}
        weights = rng.standard_normal((resamples, max(map(len, of_split.values()))))
        for m, runs in of_split.items():
            total[:, m] += weights[:, : len(runs)] @ runs
    df = min(sum(len(runs) - 1 for runs in cell) for cell in cells)
    return total * np.sqrt(df / rng.chisquare(df, size=(resamples, 1))) if df > 0 else total


def _ranked(rows: np.ndarray) -> np.ndarray:
    """Return the ranks of each of ``rows`` (n, M), those of SciPy, which takes twice as long if none are tied."""
    from scipy.stats import rankdata  # slow to import

    ordered = np.sort(rows, axis=1)
    tied = ~(ordered[:, 1:] > ordered[:, :-1]).all(axis=1)
    ranks = np.empty(rows.shape)
    np.put_along_axis(ranks, rows.argsort(axis=1), np.arange(1.0, rows.shape[1] + 1)[None], axis=1)
    if tied.any():
        ranks[tied] = rankdata(rows[tied], axis=1)
    return ranks


def _tied(blocks: np.ndarray) -> np.ndarray:
    """Make values (n, M) equal that differ by rounding alone: equal counts of flips are ties, in whatever order added.

    Values are in multiples of the largest of their block.
    """
    largest = np.abs(blocks).max(axis=1, keepdims=True, initial=0)
    return np.round(np.divide(blocks, largest, out=np.zeros_like(blocks), where=largest > 0), 12)


def _blocks(values: np.ndarray, families: Sequence[str] | None) -> list[list[int]]:
    blocks: dict[str | int, list[int]] = {}
    for d in np.flatnonzero(~np.isnan(values).any(axis=1)).tolist():
        blocks.setdefault(d if families is None else families[d], []).append(d)
    return list(blocks.values())


def _groups(mean_ranks: np.ndarray, difference: float) -> list[list[int]]:
    """Return the maximal sets of methods closer than ``difference``; one set if that is nan."""
    order = np.argsort(mean_ranks, kind="stable")
    groups: list[list[int]] = []
    end = 0
    for start, first in enumerate(order):
        far = mean_ranks[order] - mean_ranks[first] >= difference
        stop = int(far.argmax()) if far.any() else len(order)
        if stop > end:
            groups.append([int(m) for m in order[start:stop]])
            end = stop
    return groups
