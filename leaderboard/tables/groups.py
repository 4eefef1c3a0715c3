"""Accuracy and churn by group of test examples, for datasets that define ``groups``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from benchmark.measure.catalogue import QUALITY, churn
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import IntervalKind, described
from benchmark.measure.measure import Measure
from benchmark.types import Predictions
from leaderboard.read.results import Dataset
from leaderboard.tables.columns import absolute
from leaderboard.tables.table import Table, Value

WORST = "worst"


def within(p: Predictions, groups: Mapping[str, str], group: str) -> Predictions:
    return p.on(np.array([groups.get(example) == group for example in p.ids]))


def by_group(dataset: Dataset, kind: IntervalKind = "runs") -> Table:
    """Return a row per method, with a column for each group present in all ID tests and one for the worst of them.

    The worst group is taken in each retraining or pair of retrainings, then averaged (Sagawa et al. 2020,
    arXiv:1911.08731).
    """
    tests = [cell.predictions["id"] for cell in dataset.cells]
    groups = sorted(set.intersection(*({dataset.groups.get(example, "") for example in p.ids} for p in tests)) - {""})
    measures = (QUALITY[dataset.task], churn(dataset.task))
    rows: list[tuple[str | Value, ...]] = []
    for entry in dataset.entries:
        values: list[Value] = []
        for measure in measures:
            parts = [[(within(p, dataset.groups, group), None) for p in entry.tests] for group in groups]
            estimates = [estimate(measure, splits, kind) for splits in parts]
            worst = worst_of(measure, dataset.groups, groups)
            estimates.append(estimate(worst, [(p, None) for p in entry.tests], kind))
            values += map(absolute(measure).show, estimates)
        rows.append((entry.title, *values))
    return Table(
        key=f"{dataset.name}-groups",
        title=f"{dataset.title}, by group",
        caption="The ID test by group. The worst group is determined for each retraining or pair of retrainings, and "
        f"its interval is over these. {described(kind, dataset.sampling)}",
        header=("Method", *(name for _ in measures for name in (*groups, WORST))),
        rows=tuple(rows),
        over=(("", 1), *((measure.title, len(groups) + 1) for measure in measures)),
        datasets=(dataset.name,),
        kind=kind,
    )


def worst_of(measure: Measure, group_of: Mapping[str, str], groups: Sequence[str]) -> Measure:
    """Return a measure on the group where it is worst, for each run or pair of runs."""
    worse = np.minimum if measure.better > 0 else np.maximum

    def worst(p: Predictions) -> np.ndarray:
        return np.asarray(reduce(worse, [measure.of_runs(within(p, group_of, group)) for group in groups]))

    return replace(measure, each=None, per_pair=None, per_example=None, per_run=worst)
