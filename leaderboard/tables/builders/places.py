"""Builders of the tables of places: the first page's order, mean ranks, the order over all families, and splits."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmark.measure.catalogue import CHURN, ORDER
from benchmark.measure.intervals import IntervalKind, jackknife
from benchmark.types import Task
from leaderboard.read.results import PLURAL, Dataset, Results, with_studies
from leaderboard.tables.boards import marks
from leaderboard.tables.columns import Column, absolute, differences, pairs_of, versus
from leaderboard.tables.layouts import Body, TableCell, explained, name, with_reference
from leaderboard.tables.order import RULE, order, over_splits, resolution, resolution_elsewhere
from leaderboard.tables.summary import Summary, spelled_places, summary_of
from leaderboard.tables.table import MISSING, Value, spelled

COLUMNS = (
    *("matched_churn", "delta_matched_churn", "delta_matched_accuracy", "one_minus_icc", "delta_one_minus_icc"),
    *("delta_mae", "churn", "delta_accuracy", "delta_recall_rarer", "compute"),
)


def places(task: Task, results: Results, kind: IntervalKind) -> Body | None:
    """Return the order of the first page, with what low churn costs."""
    summary = summary_of(results, task, kind=kind)
    if summary is None or not summary.placed:
        return None
    columns = [column for key in COLUMNS for column in summary.columns if column.key == key]
    rows: list[tuple[TableCell, ...]] = []
    for row in (row for row in summary.rows if row.estimates):
        values = [column.show(row.estimates.get(column.key)) for column in columns]
        rows.append((row.title, row.shown_place, *values, "; ".join(row.remarks)))
    header = ("Method", "Place", *(column.title for column in columns), "Remarks")
    over_these = f"Mean over {summary.over}; each family counts once. 95 % intervals over {summary.interval}."
    lacking = [row.title for row in summary.rows if not row.estimates]
    absent = f"Without results on all of these datasets: {', '.join(lacking)}." if lacking else ""
    notes = filter(None, [over_these, RULE, summary.place_sentence, stable(summary), absent])
    return Body(header, tuple(rows), summary.datasets, tuple(notes))


def stable(summary: Summary) -> str:
    """Say how often other families have the same first places; "" where there are too few."""
    told = []
    if summary.top is not None:
        same, ordered = (f"{100 * share:.0f} %" for share in summary.top)
        told.append(
            f"If families are drawn anew, with replacement, the first five places are the same methods in {same} of "
            f"2,000 resamples, and in the same order in {ordered}."
        )
    if summary.rehearsed is not None:
        stays, chosen, tested = (spelled(100 * x, n) for x, n in zip(summary.rehearsed, (0, 1, 1), strict=True))
        told.append(
            f"Of 200 orders, each chosen on a random two thirds of the families and tested on the others, {stays} % "
            f"have the same first there. Its lead over the second is {chosen} pp where it was chosen, {tested} pp on "
            "the others."
        )
    return " ".join(told)


def over_canonical_splits(results: Results, kind: IntervalKind) -> Body | None:
    """Return a row per method in the order of the first page: its mean matched churn on each split that all have."""
    summary = summary_of(results, "classification", "headline", kind)
    ranked = [row.title for row in summary.rows if not np.isnan(row.matched)] if summary else []
    if summary is None or not ranked:
        return None
    by_method = {title: over_splits(summary.datasets, title, kind) for title in ranked}
    splits = list(by_method[ranked[0]])
    if len(splits) < 2:
        return None
    rows: list[tuple[TableCell, ...]] = []
    for title, by_split in by_method.items():
        values = [Value.of(by_split[split], 100) for split in splits]
        rows.append((title, *values, over(values), width(values)))
    header = ("Method", *(f"Split {split}" for split in splits), "Mean", "Range")
    return Body(header, tuple(rows), summary.datasets, (OVER_SPLITS,))


def ranks(results: Results, kind: IntervalKind) -> Body | None:
    """Return a row for each method that ran on all headline datasets, by mean rank of its churn."""
    summary = summary_of(results, "classification", "headline", kind)
    if summary is None or (ranking := summary.ranking) is None:
        return None
    rows = [
        (row.title, Value.of(row.rank, digits=2), summary.ties(row.title), " ".join(row.marks))
        for row in summary.by_rank
    ]
    notes = [
        f"{ranking.n} datasets: {', '.join(ranking.blocks)}.",
        "No test: it takes three methods, two datasets, and ranks that differ."
        if np.isnan(ranking.chi2)
        else f"Friedman χ² = {spelled(ranking.chi2)}, p = {_power(ranking.p)}; Nemenyi critical difference "
        f"{spelled(ranking.critical_difference, 2)} at 0.05. Methods that share a letter do not differ significantly.",
        "Intervals: 95 %, for new retrainings on the same datasets.",
    ]
    left_out = [f"{row.title} ({row.unranked})" for row in summary.rows if row.rank is None]
    left_out += [f"{d.title} (too few methods)" for d in summary.left_out]
    if left_out:
        notes.append(f"Left out: {', '.join(left_out)}.")
    return Body(("Method", "Mean rank", "Group", "Marks"), tuple(rows), summary.datasets, tuple(notes))


def _power(p: float) -> str:
    """``0.012`` or ``3.7 × 10⁻⁵``."""
    mantissa, _, exponent = f"{p:.1e}".partition("e")
    if p > 0.001 or not exponent:
        return spelled(p, 3)
    return f"{mantissa} × 10{str(int(exponent)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def over_families(task: Task, results: Results, kind: IntervalKind) -> Body | None:
    """Return the methods with a mean rank, in the order of the first page."""
    summary = summary_of(results, task, "wide", kind)
    if summary is None or summary.between is None:
        return None
    ranked = [row for row in summary.rows if not np.isnan(row.matched)]
    titles, of_rank = [row.title for row in ranked], [row.title for row in summary.by_rank]
    orders = {unit: order(summary.datasets, titles, kind, unit, of_rank) for unit in PLURAL}
    placed = {row.title: row.place for row in summary.placed if row.place}
    pairs = summary.between.pairs
    tests = [resolution_elsewhere(summary.datasets, summary.values, pairs, unit) for unit in PLURAL]
    tests.append(resolution(summary.datasets, pairs, kind))
    ranges = [test.places([*placed]) for test in tests]
    what = ORDER[summary.task].title.partition(" (")[0]
    rows: list[tuple[TableCell, ...]] = []
    for row in ranked:
        churns = [Value.of(ordered.matched[row.title], 100) for ordered in orders.values()]
        ranks = [Value.of(ordered.ranks.get(row.title), digits=1) for ordered in orders.values()]
        places = [spelled_places(row.place, *of[row.title]) if row.place else Value(MISSING) for of in ranges]
        rows.append((row.title, *places, *churns, *ranks, "; ".join(row.remarks)))
    by = [f"by {unit}" for unit in PLURAL]
    over = (("", 1), ("Place", 3), (f"{what} (%)", 2), ("Mean rank, raw churn", 2), ("", 1))
    header = ("Method", "other families", "other groups", "these datasets", *by, *by, "Remarks")
    notes = [
        f"{ranking.n} {PLURAL[unit]}, {len(ranking.methods)} methods: Friedman χ² = {spelled(ranking.chi2)}, Nemenyi's "
        f"critical difference of mean ranks {spelled(ranking.critical_difference, 2)} at 0.05."
        for unit, ordered in orders.items()
        if (ranking := ordered.ranking) is not None and not np.isnan(ranking.chi2)
    ]
    notes += [summary.place_sentence, *(f"Places {test.where}: {test.paired}." for test in tests[1:])]
    return Body(header, tuple(rows), summary.datasets, tuple(notes), over)


def split_by_split(results: Results, kind: IntervalKind) -> Body:
    """Return a row per canonical split, one for the mean and one for the range, for datasets with several splits."""
    churn, delta = absolute(CHURN), versus(CHURN)
    datasets = tuple(d for d in with_reference(with_studies(results).headline()) if len(d.splits) > 1)
    several = [{entry.title for entry in d.entries if len(entry.cells) > 1} for d in datasets]
    titles = [title for title in results.methods() if all(title in methods for methods in several)]
    rows: list[tuple[TableCell, ...]] = []
    for dataset in datasets:
        assert dataset.reference is not None
        columns = {title: churn if title == dataset.reference.title else delta for title in titles}
        table = [[_on_split(dataset, *item, split, kind) for item in columns.items()] for split in dataset.splits]
        for i, (split, cells) in enumerate(zip(dataset.splits, table, strict=True)):
            rows.append(("" if i else name(dataset), str(split), *cells))
        rows.append(("", "mean", *map(over, zip(*table, strict=True))))
        rows.append(("", "range", *map(width, zip(*table, strict=True))))
    header = [f"{title}, churn (%)" if i == 0 else f"{title}, Δ" for i, title in enumerate(titles)]
    return Body(("Dataset", "Split", *header), tuple(rows), datasets, (OVER_SPLITS, *explained(rows)))


OVER_SPLITS = (
    "The interval of a mean is over canonical splits, Student's: it covers another split of the same data, each with "
    "its own retrainings. Splits of one dataset share molecules, so it is too narrow for new molecules."
)


def _on_split(dataset: Dataset, title: str, column: Column, split: int, kind: IntervalKind) -> Value:
    entry = dataset.entry(title)
    if entry is None or split not in entry.cells:
        return Value(MISSING)
    pairs = pairs_of(dataset, replace(entry, cells={split: entry.cells[split]}))
    value = column.show(column.value(pairs, "id", kind), differences(pairs))
    value = value.but(flags=" ".join(filter(None, (*marks(pairs), value.flags))))
    return replace(value, text=value.text.partition(" [")[0])  # the columns are many; downloads have the interval


def over(values: Sequence[Value]) -> Value:
    """Return the mean over splits, with Student's interval over them."""
    numbers = np.array([value.number for value in values if not np.isnan(value.number)])
    return Value.of(jackknife([numbers]) if len(numbers) else None)


def width(values: Sequence[Value]) -> Value:
    """Return the range of values over splits."""
    numbers = [value.number for value in values if not np.isnan(value.number)]
    return Value.of(max(numbers) - min(numbers) if len(numbers) > 1 else None)
