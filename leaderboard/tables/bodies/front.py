"""The first page's order as tables: the places of methods, and their churn on each canonical split."""

import numpy as np

from benchmark.measure.intervals import Estimate, IntervalKind
from leaderboard.read.results import Results
from leaderboard.tables.bodies.fills import OVER_SPLITS, over, width
from leaderboard.tables.layouts import Body, TableCell
from leaderboard.tables.order import RULE, over_splits
from leaderboard.tables.summary import first, headline
from leaderboard.tables.table import Value

COLUMNS = ("churn", "delta_churn", "delta_accuracy", "compute")


def places(results: Results, kind: IntervalKind) -> Body | None:
    """Return a row per method over the datasets of the first page, in their order, with what low churn costs."""
    summary = first(results, kind)
    if summary is None or not summary.placed:
        return None
    columns = [one for key in COLUMNS for one in summary.columns if one.key == key]
    rows: list[tuple[TableCell, ...]] = []
    for row in summary.rows:
        place = Value(str(row.place), row.place) if row.place else Value("–")
        values = [one.show(row.estimates.get(one.key)).but(mark="") for one in columns]
        rows.append((row.title, place, *values, "; ".join(row.remarks)))
    header = ("Method", "Place", *(one.column.title for one in columns), "Remarks")
    over_these = f"Mean over {summary.over}; each family counts once."
    notes = [over_these, RULE, *filter(None, [summary.resolution.told, summary.resolution_elsewhere().told])]
    return Body(header, tuple(rows), summary.datasets, tuple(notes))


def over_canonical_splits(results: Results, kind: IntervalKind) -> Body | None:
    """Return a row per method in the order of the first page: its mean churn on each split that all datasets have."""
    summary = headline(results, kind)
    ranked = [row.title for row in summary.rows if not np.isnan(row.churn)] if summary else []
    if summary is None or not ranked:
        return None
    found = {title: over_splits(summary.datasets, title, kind) for title in ranked}
    splits = list(found[ranked[0]])
    if len(splits) < 2:
        return None
    rows: list[tuple[TableCell, ...]] = []
    for title, of in found.items():
        values = [Value.of(Estimate(of[split], np.nan, np.nan), 100) for split in splits]
        rows.append((title, *values, over(values), width(values)))
    header = ("Method", *(f"Split {split}" for split in splits), "Mean", "Range")
    return Body(header, tuple(rows), summary.datasets, (OVER_SPLITS,))
