"""Scorecard of methods: what decisions rest on besides churn and accuracy, from the same predictions."""

from collections.abc import Sequence

import numpy as np

from benchmark.measure.catalogue import SCORECARD
from benchmark.measure.measure import Measure
from benchmark.types import Task
from leaderboard.read.results import Dataset, Results, family_weights
from leaderboard.stats.intervals import Estimate, IntervalKind, weighted
from leaderboard.tables.columns import absolute, estimate
from leaderboard.tables.layouts import Body, TableCell, averaged, fallback, listed
from leaderboard.tables.summary import complete_block

NOTES = (
    "Ambiguity and the range of probabilities describe all retrainings together and grow with their number; under "
    "halves they are of the two models of a halving, so that ambiguity is churn.",
)


def measures_of(task: Task) -> list[Measure]:
    """Return the measures of the scorecard that can be averaged over datasets: those without the target's unit."""
    return [measure for measure in SCORECARD[task] if measure.most < np.inf]


def card(datasets: Sequence[Dataset], title: str, measures: Sequence[Measure], kind: IntervalKind) -> list[Estimate]:
    """Return the mean of each measure over the families of ``datasets``, which all have the method ``title``."""
    weights = family_weights(datasets)
    entries = [entry for dataset in datasets if (entry := dataset.entry(title))]
    tests = [[(cell.predictions["id"], None) for cell in entry.cells.values()] for entry in entries]
    return [weighted([estimate(measure, splits, kind) for splits in tests], weights) for measure in measures]


def classification(results: Results, kind: IntervalKind) -> Body | None:
    """Return a row per method on the headline datasets."""
    return _body("classification", results.headline(), kind)


def regression(results: Results, kind: IntervalKind) -> Body | None:
    """Return a row per method on the regressions."""
    return _body("regression", results.of_task("regression"), kind)


def _body(task: Task, datasets: Sequence[Dataset], kind: IntervalKind) -> Body | None:
    block, titles = complete_block(datasets)
    if not block or not titles:
        return None
    measures = measures_of(task)
    columns = [absolute(measure) for measure in measures]
    rows: list[tuple[TableCell, ...]] = []
    for title in titles:
        values = zip(columns, card(block, title, measures, kind), strict=True)
        rows.append((title, *(column.show(value) for column, value in values)))
    over = f"Mean over {listed([dataset.title for dataset in block])}; each family counts once."
    meanings = "; ".join(f"{measure.name}: {measure.help}" for measure in measures if measure.help)
    notes = [over, f"{meanings[:1].upper()}{meanings[1:]}.", *(NOTES if task == "classification" else ())]
    notes += fallback(kind, [(column.title, column.measure) for column in columns])
    header = ("Method", *(column.title for column in columns))
    return Body(header, tuple(rows), tuple(block), (*notes, *averaged(block)))
