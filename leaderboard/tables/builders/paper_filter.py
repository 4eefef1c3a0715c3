"""The paper's filter: datasets on which ERM learns enough for churn to be meaningful."""

import csv
from importlib.resources import files

import numpy as np

from benchmark.measure.catalogue import ACCURACY
from benchmark.measure.intervals import IntervalKind
from leaderboard.read.results import Results
from leaderboard.tables.layouts import Body, TableCell, averaged, erm_tests, with_reference
from leaderboard.tables.table import Value

MARGIN = 0.05
"""Least accuracy by which ERM must beat the majority class (paper, section Datasets)."""
SMALLEST = 60
"""Least number of examples in the ID test."""


def verdict(gap: float, n_id: int) -> str:
    """Return ``passes`` or the reasons for failing."""
    reasons = [] if gap >= MARGIN else [f"gap below {MARGIN * 100:.0f} pp"]
    reasons += [] if n_id >= SMALLEST else [f"test below {SMALLEST}"]
    return "; ".join(reasons) or "passes"


def outcomes(results: Results, kind: IntervalKind) -> Body:
    """Return the filter on each classification dataset with ERM, beside the paper's values, if it reports any.

    The majority is the share of the larger class in the ID test, and the accuracy ERM's mean over retrainings; both are
    means over splits. The group is the paper's verdict: dev and headline passed.
    """
    # The paper's tables of magnitudes, borderline datasets and filter outcomes (canonical seed 99).
    with (files("leaderboard") / "paper" / "filter.csv").open(encoding="utf-8") as lines:
        published = {row["dataset"]: (row["majority"], row["erm_accuracy"]) for row in csv.DictReader(lines)}
    datasets = with_reference(results.of_task("classification"))
    rows: list[tuple[TableCell, ...]] = []
    for dataset in datasets:
        tests = erm_tests(dataset)
        majority = float(np.mean([np.bincount(p.y).max() / len(p.y) for p in tests]))
        accuracy = float(np.mean([ACCURACY.mean(p) for p in tests]))
        gap, n_id = accuracy - majority, min(len(p.y) for p in tests)
        sizes = (Value.of(dataset.n_train, digits=0), Value.of(n_id, digits=0))
        measured = (Value.of(majority, digits=3), Value.of(accuracy, digits=3), Value.of(gap, 100, signed=True))
        paper = [Value.of(float(x) if x else None, digits=3) for x in published.get(dataset.name, ("", ""))]
        rows.append((dataset.title, dataset.group, *sizes, *measured, verdict(gap, n_id), *paper))
    accuracies = ("Majority", "ERM accuracy")
    header = ("Dataset", "Group", "Train", "ID test", *accuracies, "Gap (pp)", "Filter", *accuracies)
    return Body(header, tuple(rows), datasets, averaged(datasets), (("", 8), ("Paper", 2)))
