"""Accuracy and churn by group of the test examples, where a dataset says what its groups are (``groups``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from benchmark.measure.catalogue import QUALITY, Measure, churn
from benchmark.types import Predictions
from leaderboard.read.results import Dataset
from leaderboard.stats.intervals import INTERVAL_KINDS, IntervalKind
from leaderboard.tables.columns import absolute, estimate
from leaderboard.tables.table import Table, Value

WORST = "worst"


def within(p: Predictions, of: Mapping[str, str], group: str) -> Predictions:
    """The predictions for the examples of one group."""
    return p.on(np.array([of.get(example) == group for example in p.ids]))


def by_group(dataset: Dataset, kind: IntervalKind = "runs") -> Table:
    """A row for each method, with a column for each group that all ID tests have, and one for the worst of these.

    The worst is taken in each retraining, or in each pair of them, and then averaged (Sagawa et al. 2020,
    arXiv:1911.08731).
    """
    tests = [cell.predictions["id"] for entry in dataset.entries for cell in entry.cells.values()]
    groups = sorted(set.intersection(*({dataset.groups.get(example, "") for example in p.ids} for p in tests)) - {""})
    measures = (QUALITY[dataset.task], churn(dataset.task))
    rows: list[tuple[str | Value, ...]] = []
    for entry in dataset.entries:
        tests = [cell.predictions["id"] for cell in entry.cells.values()]
        values: list[Value] = []
        for measure in measures:
            parts = [[(within(p, dataset.groups, group), None) for p in tests] for group in groups]
            found = [estimate(measure, splits, kind) for splits in parts]
            found.append(estimate(worst_of(measure, dataset.groups, groups), [(p, None) for p in tests], kind))
            values += map(absolute(measure).show, found)
        rows.append((entry.title, *values))
    return Table(
        key=f"{dataset.name}-groups",
        title=f"{dataset.title}, by group",
        caption="The ID test by group. The worst group is that of each retraining, or pair of them, and its "
        f"interval is over these. {INTERVAL_KINDS[kind]}",
        header=("Method", *(name for _ in measures for name in (*groups, WORST))),
        rows=tuple(rows),
        over=(("", 1), *((measure.title, len(groups) + 1) for measure in measures)),
        datasets=(dataset.name,),
        kind=kind,
    )


def worst_of(measure: Measure, of: Mapping[str, str], groups: Sequence[str]) -> Measure:
    """A measure on the group where it is worst, for each run or pair of runs."""
    worse = np.minimum if measure.better > 0 else np.maximum

    def worst(p: Predictions) -> np.ndarray:
        return np.asarray(reduce(worse, [measure.of_runs(within(p, of, group)) for group in groups]))

    return replace(measure, each=None, per_pair=None, per_example=None, per_run=worst)
