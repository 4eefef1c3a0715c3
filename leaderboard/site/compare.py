"""The data of the compare page: what its script needs for any two methods, datasets and measures.

The jackknife of a paired difference follows from each method's own values: its mean, and the influence of each run on
it (``leaderboard.stats.intervals.influence``). The script subtracts these, so no pair of methods is computed here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmark.measure.catalogue import SCORECARD, find
from benchmark.measure.measure import Measure
from benchmark.store.cell import Cell
from benchmark.types import TASKS, Task
from leaderboard.read.results import Results, slug
from leaderboard.stats.intervals import FEWEST_EXAMPLES, influence
from leaderboard.tables.boards import SUSPICIONS, board
from leaderboard.tables.columns import versus
from leaderboard.tables.summary import GROUP_TITLES

KEYS: Mapping[Task, Sequence[str]] = {
    "classification": ("churn", "accuracy", "auroc", "brier", "rank_correlation", "top_10pc_jaccard"),
    "regression": ("churn", "mae", "r2", "spearman", "rank_correlation", "top_10pc_jaccard"),
}
"""The measures to choose from, all of the scorecard."""


def content(results: Results) -> dict[str, Any]:
    """Return the measures, methods, datasets and cells of one sampling's results.

    ``cells`` are by dataset, method and measure a list of canonical splits: split, train seeds, value and the influence
    of each run on it, scaled so that its squares add up to the variance.
    """
    titles = results.methods()
    number = {title: i for i, title in enumerate(titles)}
    spelled = {entry.title: entry.spelled for dataset in results.datasets for entry in dataset.entries}
    cells = []
    for dataset in results.datasets:
        measures = _measures(dataset.task)
        of_methods = {}
        for entry in dataset.entries:
            splits = [[_split(cell, measure) for cell in entry.cells.values()] for measure in measures]
            of_methods[number[entry.title]] = splits
        cells.append(of_methods)
    return {
        "measures": {task: [_described(measure) for measure in _measures(task)] for task in TASKS},
        "methods": [{"title": title, "slug": slug(title), "name": spelled[title]} for title in titles],
        "datasets": [
            {
                "name": dataset.name,
                "title": dataset.title,
                "family": dataset.family,
                "task": dataset.task,
                "unit": dataset.unit if dataset.task == "regression" else "",
                "group": "headline" if dataset.group == "dev" else dataset.group,
                "left": _left_out(results, dataset.name, number),
            }
            for dataset in results.datasets
        ],
        "groups": GROUP_TITLES,
        "cells": cells,
    }


def _left_out(results: Results, name: str, number: Mapping[str, int]) -> dict[int, str]:
    """Return the marks of methods that are not to be preferred for low churn on a dataset, by their number."""
    dataset = results.dataset(name)
    assert dataset is not None
    bad = {"†", "†?", "collapsed", "control", *SUSPICIONS}
    rows = board(dataset, "id", "runs").rows
    return {number[row.title]: ", ".join(m for m in row.marks if m in bad) for row in rows if bad & {*row.marks}}


def _measures(task: Task) -> list[Measure]:
    found = [find(key, task) for key in KEYS[task]]
    measures = [measure for measure in found if measure is not None]
    assert set(measures) <= set(SCORECARD[task])
    return measures


def _described(measure: Measure) -> dict[str, Any]:
    column = versus(measure)
    return {
        "key": measure.key,
        "name": measure.name,
        "title": column.title,
        "scale": column.scale,
        "digits": column.digits,
        "better": measure.better,
    }


def _split(cell: Cell, measure: Measure) -> list[Any]:
    p = cell.predictions["id"]
    value, (runs,) = influence([measure.of_runs(p)])
    if len(p.ids) < FEWEST_EXAMPLES:
        runs = np.full(len(runs), np.nan)
    return [cell.key.canonical_seed, cell.key.spelled_seeds, _rounded(value), [_rounded(x) for x in runs.tolist()]]


def _rounded(x: float) -> float | None:
    return None if np.isnan(x) else float(f"{x:.6g}")
