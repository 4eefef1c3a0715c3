"""What an interval is a statement about: these splits of these datasets, other splits of them, or other families."""

from collections.abc import Iterator

import numpy as np
from scipy.special import stdtrit

from benchmark.measure.catalogue import CHURN
from leaderboard.read.results import Dataset, Results, unit_weights, units
from leaderboard.stats.intervals import Estimate, IntervalKind, jackknife, weighted
from leaderboard.stats.splits import Between, between, over_other_splits
from leaderboard.tables.columns import estimate, matched, pairs_of, versus
from leaderboard.tables.layouts import Body, TableCell
from leaderboard.tables.summary import first
from leaderboard.tables.table import Value, spelled

DELTA = versus(CHURN)


def statements(results: Results, kind: IntervalKind) -> Body | None:
    """Return a row per method: its mean difference in churn from ERM, with the interval of each statement."""
    summary = first(results, kind)
    if summary is None or summary.reference is None:
        return None
    block, weights = summary.datasets, unit_weights(summary.datasets)
    varying, measured = split_variance(results)
    rows: list[tuple[TableCell, ...]] = []
    for row in summary.rows:
        each = [_delta(dataset, row.title) for dataset in block] if row is not summary.reference else [None]
        known = [one for one in each if one is not None]
        if len(known) < len(each):
            continue
        splits = [len(entry.cells) for d in block if (entry := d.entry(row.title))]
        others = over_other_splits(known, weights, splits, varying) if varying.df else None
        shown = weighted(known, weights), others, _over_families(block, known)
        rows.append((row.title, *(Value.of(one, DELTA.scale, DELTA.digits, signed=True) for one in shown)))
    if not rows:
        return None
    header = ("Method", "These splits", "Other splits", "Other families")
    return Body(header, tuple(rows), block, tuple(_notes(varying, measured)), (("", 1), ("Δ churn (pp)", 3)))


def split_variance(results: Results) -> tuple[Between, list[Dataset]]:
    """Return the variance between canonical splits of the difference in churn from ERM, and the datasets with several.

    It is that of all methods together. Methods on one dataset have its splits in common, so they add no degrees of
    freedom.
    """
    found = [(d, [list(_by_split(d, e.title)) for e in d.entries]) for d in results.of_task("classification")]
    several = [(d, [of for of in quantities if len(of) > 1]) for d, quantities in found]
    several = [(d, quantities) for d, quantities in several if quantities]
    quantities = [of for _, some in several for of in some]
    values = [[one.value for one in of] for of in quantities]
    variances = [[_variance(one) for one in of] for of in quantities]
    df = sum(max(map(len, some)) - 1 for _, some in several)
    return between(values, variances, df), [d for d, _ in several]


def _by_split(dataset: Dataset, title: str) -> Iterator[Estimate]:
    entry = dataset.entry(title)
    assert entry is not None
    for pair in pairs_of(dataset, entry):
        if both := matched([pair]):
            one = estimate(CHURN, both)
            if not np.isnan(one.low):
                yield one


def _delta(dataset: Dataset, title: str) -> Estimate | None:
    entry = dataset.entry(title)
    return DELTA.value(pairs_of(dataset, entry)) if entry else None


def _variance(one: Estimate) -> float:
    return float(((one.high - one.value) / stdtrit(one.df, 0.975)) ** 2)


def _over_families(block: tuple[Dataset, ...], each: list[Estimate]) -> Estimate:
    """Return the mean over families, with Student's interval over them."""
    values, of = np.array([one.value for one in each]), np.array(units(block))
    return jackknife([np.array([values[of == family].mean() for family in dict.fromkeys(of.tolist())])])


def _notes(varying: Between, measured: list[Dataset]) -> Iterator[str]:
    yield (
        "These splits: other retrainings on the same training pools and test examples. Other splits: also other random "
        "splits of the same datasets. Other families: datasets like these, of families of their own; what varies "
        "between families is then part of the interval. The first and the second say nothing of other data."
    )
    if not varying.df:
        yield "No dataset has several canonical splits, so nothing is known of other splits."
        return
    yield (
        f"Between canonical splits, a method's difference in churn from ERM has a standard deviation of "
        f"{spelled(100 * np.sqrt(varying.variance), 1)} pp beyond what retraining explains ({varying.df} degrees of "
        f"freedom, from {', '.join(d.title for d in measured)}). It is taken to be the same on all datasets."
    )
