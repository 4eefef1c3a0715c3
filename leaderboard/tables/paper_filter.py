"""The paper's filter: does ERM learn enough on a dataset for churn to mean anything?"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from benchmark.measure.catalogue import ACCURACY
from leaderboard.read.results import Results

MARGIN = 0.05
"""ERM must beat the majority class by this (paper, section Datasets), …"""
SMALLEST = 60
"""… on an ID test of at least so many examples."""


@dataclass(frozen=True)
class FilterResult:
    """The filter on one dataset, from ERM's cells, beside what the paper says of it (None where it says nothing).

    ``majority`` is the share of the larger class in the ID test and ``accuracy`` ERM's mean over retrainings, both
    averaged over ``splits``. ``group`` is the paper's verdict: dev and headline passed.
    """

    dataset: str
    title: str
    group: str
    splits: str
    n_train: int
    n_id: int
    majority: float
    accuracy: float
    verdict: str
    paper_n_train: int | None
    paper_n_id: int | None
    paper_majority: float | None
    paper_accuracy: float | None

    @property
    def gap(self) -> float:
        return self.accuracy - self.majority


def verdict(gap: float, n_id: int) -> str:
    """``passes``, or why not."""
    reasons = [] if gap >= MARGIN else [f"gap below {MARGIN * 100:.0f} pp"]
    reasons += [] if n_id >= SMALLEST else [f"test below {SMALLEST}"]
    return "; ".join(reasons) or "passes"


def outcomes(results: Results) -> list[FilterResult]:
    """The filter on every classification dataset that has a cell of ERM."""
    published = _published()
    found = []
    for dataset in results.of_task("classification"):
        if dataset.reference is None:
            continue
        erm = dataset.reference.cells
        tests = [cell.predictions["id"] for cell in erm.values()]
        majority = float(np.mean([np.bincount(p.y).max() / len(p.y) for p in tests]))
        accuracy = float(np.mean([ACCURACY.mean(p) for p in tests]))
        n_id = min(len(p.y) for p in tests)
        paper = published.get(dataset.name, {})
        found.append(
            FilterResult(
                dataset=dataset.name,
                title=dataset.title,
                group=dataset.group,
                splits=" ".join(map(str, erm)),
                n_train=dataset.n_train,
                n_id=n_id,
                majority=majority,
                accuracy=accuracy,
                verdict=verdict(accuracy - majority, n_id),
                paper_n_train=int(paper["n_train"]) if paper else None,
                paper_n_id=int(paper["n_id"]) if paper else None,
                paper_majority=float(paper["majority"]) if paper.get("majority") else None,
                paper_accuracy=float(paper["erm_accuracy"]) if paper else None,
            )
        )
    return found


def _published() -> dict[str, dict[str, str]]:
    """The paper's tables of magnitudes, borderline datasets and filter outcomes (canonical seed 99)."""
    text = (files("leaderboard") / "paper" / "filter.csv").read_text(encoding="utf-8")
    return {row["dataset"]: row for row in csv.DictReader(io.StringIO(text))}
