"""Accuracy and churn by group of the test examples, where a dataset says what its groups are (``groups``)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, reduce

import numpy as np

from benchmark.types import Predictions
from leaderboard.columns import COLUMNS, Quantity
from leaderboard.results import Dataset, Results
from leaderboard.stats.intervals import KINDS, Kind
from leaderboard.table import Table, Value

WORST = "worst"
SHOWN = ("accuracy", "mae", "churn")
"""The columns of a dataset's board that are shown by group."""


def with_groups(results: Results, texts: Mapping[str, str]) -> Results:
    """``results`` with the groups of examples, from the ``groups.csv`` of each dataset that has one."""
    found = {
        name: {row["id"]: row["group"] for row in csv.DictReader(io.StringIO(text))} for name, text in texts.items()
    }
    return replace(results, datasets=tuple(replace(d, groups=found.get(d.name, {})) for d in results.datasets))


def within(
    measure: Callable[[Predictions], np.ndarray], of: Mapping[str, str], group: str
) -> Callable[..., np.ndarray]:
    """``measure`` on the examples of one group alone."""

    def measured(p: Predictions) -> np.ndarray:
        rows = np.array([of.get(example) == group for example in p.ids])
        return measure(Predictions(p.seeds, p.ids[rows], p.y[rows], p.values[:, rows], p.task))

    return measured


def by_group(dataset: Dataset, kind: Kind = "runs") -> Table:
    """A row for each method, with a column for each group that all ID tests have, and one for the worst of these.

    The worst is taken in each retraining, or in each pair of them, and then averaged (Sagawa et al. 2020,
    arXiv:1911.08731).
    """
    tests = [cell.predictions["id"] for entry in dataset.entries for cell in entry.cells.values()]
    groups = sorted(set.intersection(*({dataset.groups.get(example, "") for example in p.ids} for p in tests)) - {""})
    columns = [column for column in COLUMNS if column.task == dataset.task and column.key in SHOWN]
    rows: list[tuple[str | Value, ...]] = []
    for entry in dataset.entries:
        splits = [(cell.predictions["id"], None) for cell in entry.cells.values()]
        values: list[Value] = []
        for column in columns:
            assert column.quantity is not None
            assert column.quantity.examples is not None
            runs = [within(column.quantity.runs, dataset.groups, group) for group in groups]
            examples = [within(column.quantity.examples, dataset.groups, group) for group in groups]
            worst = Quantity(partial(_worst, runs, np.minimum if column.better > 0 else np.maximum))
            found = [*map(Quantity, runs, examples), worst]
            values += [column.show(quantity.estimate(splits, kind)) for quantity in found]
        rows.append((entry.title, *values))
    return Table(
        key=f"{dataset.name}-groups",
        title=f"{dataset.title}, by group",
        caption="The ID test by group. The worst group is that of each retraining, or pair of them, and its "
        f"interval is over these. {KINDS[kind]}",
        header=("Method", *(name for _ in columns for name in (*groups, WORST))),
        rows=tuple(rows),
        over=(("", 1), *((column.title, len(groups) + 1) for column in columns)),
        datasets=(dataset.name,),
        kind=kind,
    )


def _worst(runs: list[Callable[..., np.ndarray]], worse: Callable[..., np.ndarray], p: Predictions) -> np.ndarray:
    return reduce(worse, [measure(p) for measure in runs])
