"""The paper's filter: datasets on which ERM learns enough for churn to be meaningful."""

import csv
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from benchmark.measure.catalogue import ACCURACY
from leaderboard.read.results import Results
from leaderboard.tables.layouts import erm_tests, with_reference

MARGIN = 0.05
"""Least accuracy by which ERM must beat the majority class (paper, section Datasets)."""
SMALLEST = 60
"""Least number of examples in the ID test."""


@dataclass(frozen=True)
class FilterResult:
    """The filter on one dataset, from ERM's cells, beside the paper's values (None if it reports none).

    ``majority`` is the share of the larger class in the ID test and ``accuracy`` ERM's mean over retrainings, both
    averaged over splits. ``group`` is the paper's verdict: dev and headline passed.
    """

    title: str
    group: str
    n_train: int
    n_id: int
    majority: float
    accuracy: float
    verdict: str
    paper_majority: float | None
    paper_accuracy: float | None

    @property
    def gap(self) -> float:
        """ERM's accuracy above the majority class."""
        return self.accuracy - self.majority


def verdict(gap: float, n_id: int) -> str:
    """Return ``passes`` or the reasons for failing."""
    reasons = [] if gap >= MARGIN else [f"gap below {MARGIN * 100:.0f} pp"]
    reasons += [] if n_id >= SMALLEST else [f"test below {SMALLEST}"]
    return "; ".join(reasons) or "passes"


def outcomes(results: Results) -> list[FilterResult]:
    """Return the filter on every classification dataset with ERM."""
    # The paper's tables of magnitudes, borderline datasets and filter outcomes (canonical seed 99).
    with (files("leaderboard") / "paper" / "filter.csv").open(encoding="utf-8") as lines:
        published = {row["dataset"]: row for row in csv.DictReader(lines)}
    filtered = []
    for dataset in with_reference(results.of_task("classification")):
        tests = erm_tests(dataset)
        majority = float(np.mean([np.bincount(p.y).max() / len(p.y) for p in tests]))
        accuracy = float(np.mean([ACCURACY.mean(p) for p in tests]))
        n_id = min(len(p.y) for p in tests)
        paper = published.get(dataset.name, {})
        filtered.append(
            FilterResult(
                title=dataset.title,
                group=dataset.group,
                n_train=dataset.n_train,
                n_id=n_id,
                majority=majority,
                accuracy=accuracy,
                verdict=verdict(accuracy - majority, n_id),
                paper_majority=float(paper["majority"]) if paper.get("majority") else None,
                paper_accuracy=float(paper["erm_accuracy"]) if paper else None,
            )
        )
    return filtered
