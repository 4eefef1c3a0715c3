"""The order of methods over all families of datasets, by family and by group of families."""

import numpy as np

from benchmark.measure.intervals import Estimate, IntervalKind
from benchmark.types import Task
from leaderboard.read.results import PLURAL, Results, Unit
from leaderboard.tables.layouts import Body, Fill, TableCell
from leaderboard.tables.order import Order, Resolution, order
from leaderboard.tables.summary import Summary, summaries
from leaderboard.tables.table import Value, spelled


def of_task(task: Task) -> Fill:
    """Return the table of a task: its methods with a mean rank, in the order of the first page."""

    def body(results: Results, kind: IntervalKind) -> Body | None:
        summary = next((one for one in summaries(results, kind) if one.key == f"{task}/wide"), None)
        return None if summary is None or len(summary.placed) < 2 else _body(summary, kind)

    return body


def _body(summary: Summary, kind: IntervalKind) -> Body:
    ranked = [row for row in summary.rows if not np.isnan(row.churn)]
    orders = {unit: order(summary.datasets, [row.title for row in ranked], kind, unit) for unit in PLURAL}
    tests = [summary.resolution, *(summary.resolution_elsewhere(unit) for unit in PLURAL)]
    scale, unit = (100, "%") if summary.task == "classification" else (1, "× ERM's")
    rows: list[tuple[TableCell, ...]] = []
    for row in ranked:
        churns = [
            Value.of(Estimate(of.churn[row.title], np.nan, np.nan), scale, 1 if scale > 1 else 2)
            for of in orders.values()
        ]
        ranks = [Value.of(of.ranks.get(row.title), digits=1) for of in orders.values()]
        place = Value(str(row.place), row.place) if row.place else Value("–")
        rows.append(
            (row.title, place, *churns, *ranks, *(_p(test, row.title) for test in tests), "; ".join(row.remarks))
        )
    by = [f"by {unit}" for unit in PLURAL]
    over = (("", 2), (f"Churn ({unit})", 2), ("Mean rank", 2), ("p against the place above", 3), ("", 1))
    header = ("Method", "Place", *by, *by, "these datasets", "other families", "other groups", "Remarks")
    notes = [*(_tested(of, unit) for unit, of in orders.items()), *(test.told for test in tests)]
    return Body(header, tuple(rows), summary.datasets, tuple(notes), over)


def _p(test: Resolution, title: str) -> Value:
    """Format the adjusted p-value of a method against the place above."""
    for (_, second), p in zip(test.pairs, test.adjusted, strict=True):
        if second == title:
            return Value(f"{p:.2g}" if p >= 0.001 else "< 0.001", p)
    return Value("")


def _tested(of: Order, unit: Unit) -> str:
    """Say what Friedman's and Nemenyi's tests find with ``unit`` as the unit."""
    ranking = of.ranking
    assert ranking is not None
    return (
        f"{ranking.n} {PLURAL[unit]}, {len(ranking.methods)} methods: Friedman χ² = {spelled(ranking.chi2)}, Nemenyi's "
        f"critical difference of mean ranks {spelled(ranking.critical_difference, 2)} at 0.05."
    )
