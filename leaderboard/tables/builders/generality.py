"""What an interval is a statement about: these splits of these datasets, other splits of them, or other families."""

from collections.abc import Iterator, Mapping

import numpy as np

from benchmark.measure.catalogue import MATCHED_CHURN
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import Estimate, IntervalKind, jackknife, weighted
from leaderboard.read.results import Dataset, Results, unit_weights, units, with_studies
from leaderboard.stats.splits import Between, between, over_other_splits
from leaderboard.tables.columns import matched, pairs_of, versus
from leaderboard.tables.layouts import Body, TableCell
from leaderboard.tables.summary import first
from leaderboard.tables.table import Value, spelled

DELTA = versus(MATCHED_CHURN)


def statements(results: Results, kind: IntervalKind) -> Body | None:
    """Return a row per method: its mean difference in matched churn from ERM, with the interval of each statement."""
    summary = first(results, kind)
    if summary is None or summary.reference is None:
        return None
    block, weights = summary.datasets, unit_weights(summary.datasets)
    on_page = {row.title for row in summary.rows}
    of_methods = {title: of for title, of in split_variance(results).items() if title in on_page}
    rows: list[tuple[TableCell, ...]] = []
    for row in summary.rows:
        each = [_delta(dataset, row.title) for dataset in block] if row is not summary.reference else [None]
        known = [one for one in each if one is not None]
        if len(known) < len(each):
            continue
        splits = [len(entry.cells) for d in block if (entry := d.entry(row.title))]
        varying = of_methods.get(row.title)
        others = over_other_splits(known, weights, splits, varying) if varying else None
        shown = weighted(known, weights), others, _over_families(block, known)
        rows.append((row.title, *(Value.of(one, DELTA.scale, DELTA.digits, signed=True) for one in shown)))
    if not rows:
        return None
    header = ("Method", "These splits", "Other splits", "Other families")
    return Body(header, tuple(rows), block, tuple(_notes(of_methods)), (("", 1), (DELTA.title, 3)))


def split_variance(results: Results) -> dict[str, Between]:
    """Return the variance between canonical splits of each method's difference in matched churn from ERM, by title.

    It is pooled over the datasets on which the method has several splits, also those that only a study asked for.
    """
    found: dict[str, list[list[Estimate]]] = {}
    for dataset in with_studies(results).of_task("classification"):
        for entry in dataset.entries:
            if len(of := list(_by_split(dataset, entry.title))) > 1:
                found.setdefault(entry.title, []).append(of)
    return {
        title: between([[one.value for one in of] for of in each], [[one.error**2 for one in of] for of in each])
        for title, each in found.items()
    }


def _by_split(dataset: Dataset, title: str) -> Iterator[Estimate]:
    entry = dataset.entry(title)
    assert entry is not None
    for pair in pairs_of(dataset, entry):
        if both := matched([pair]):
            one = estimate(MATCHED_CHURN, both)
            if not np.isnan(one.low):
                yield one


def _delta(dataset: Dataset, title: str) -> Estimate | None:
    entry = dataset.entry(title)
    return DELTA.value(pairs_of(dataset, entry)) if entry else None


def _over_families(block: tuple[Dataset, ...], each: list[Estimate]) -> Estimate:
    """Return the mean over families, with Student's interval over them."""
    values, of = np.array([one.value for one in each]), np.array(units(block))
    return jackknife([np.array([values[of == family].mean() for family in dict.fromkeys(of.tolist())])])


def _notes(of_methods: Mapping[str, Between]) -> Iterator[str]:
    yield (
        "These splits: other retrainings on the same training pools and test examples. Other splits: also other random "
        "splits of the same datasets. Other families: datasets like these, of families of their own; what varies "
        "between families is then part of the interval. The first and the second say nothing of other data."
    )
    if not of_methods:
        yield "No method has several canonical splits of a dataset, so nothing is known of other splits."
        return
    measured = [f"{title} {spelled(100 * np.sqrt(of.variance), 1)}" for title, of in of_methods.items()]
    yield (
        "Standard deviation between canonical splits of a dataset, beyond what retraining explains, in pp: "
        f"{', '.join(measured)} ({min(of.df for of in of_methods.values()):.0f} or more degrees of freedom). It is "
        "taken to be the same on all datasets."
    )
