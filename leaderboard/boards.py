"""From cells to boards: one table per dataset and test set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.metrics import predicted_class
from benchmark.registry import REFERENCE
from benchmark.types import Cell, Task
from leaderboard.columns import COLUMNS, Column, Pair, common
from leaderboard.results import Dataset, Results
from leaderboard.stats.intervals import Estimate

ACCURACY_FLOOR = -0.05
"""A method further below ERM than this is marked †: low churn is cheap for a bad model (paper, overlap appendix)."""
COLLAPSED = 0.99
"""A method that gives one class to at least this share of all examples has collapsed to a constant."""
EVALSETS = {"id": "ID test", "ood": "OOD test"}


@dataclass(frozen=True)
class Row:
    """One method on one dataset: ``estimates`` by column key, ``marks`` that qualify it."""

    title: str
    method: str
    splits: tuple[int, ...]
    n_seeds: tuple[int, int]
    estimates: Mapping[str, Estimate | None]
    marks: tuple[str, ...]
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Board:
    """All methods on one test set of one dataset, the lowest churn first."""

    dataset: str
    title: str
    evalset: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    provenance: Mapping[str, str]


def boards(results: Results) -> list[Board]:
    """A board for each dataset and test set of ``results``."""
    return [_board(dataset, evalset) for dataset in results.datasets for evalset in dataset.evalsets]


def _board(dataset: Dataset, evalset: str) -> Board:
    columns = tuple(column for column in COLUMNS if column.task == dataset.task)
    erm = dataset.reference.cells if dataset.reference else {}
    rows = [_row(list(entry.cells.values()), erm, evalset, columns) for entry in dataset.entries]
    rows.sort(key=lambda row: (_value(row, "churn"), row.title))
    all_notes = list(dataset.notes)
    if not erm:
        command = f"python -m benchmark run --method {REFERENCE} --dataset {dataset.name}"
        all_notes.append(f"There is no ERM here to compare with. Run: {command}")
    fewest = min(row.n_seeds[0] for row in rows)
    if fewest < 3:
        all_notes.append("An interval for churn needs at least three retrainings.")
    widths = {row.splits for row in rows}
    if len(widths) > 1:
        all_notes.append("Not every method ran on every split: averages over different splits are not comparable.")
    return Board(dataset.name, dataset.title, evalset, columns, tuple(rows), tuple(all_notes), dataset.about)


def _row(cells: Sequence[Cell], erm: Mapping[int, Cell], evalset: str, columns: Sequence[Column]) -> Row:
    pairs: list[Pair] = [(cell, _comparable(cell, erm.get(cell.key.canonical_seed))) for cell in cells]
    estimates = {column.key: column.value(pairs, evalset) for column in columns}
    sizes = [len(cell.key.seeds) for cell in cells]
    return Row(
        title=cells[0].title,
        method=cells[0].key.method,
        splits=tuple(cell.key.canonical_seed for cell in cells),
        n_seeds=(min(sizes), max(sizes)),
        estimates=estimates,
        marks=_marks(cells, estimates, evalset),
        commands=tuple(cell.about["command"] for cell in cells),
    )


def _comparable(cell: Cell, erm: Cell | None) -> Cell | None:
    """ERM's cell if it shares a train seed with ``cell``."""
    return erm if erm is not None and common(cell, erm).predictions["id"].seeds else None


def _marks(cells: Sequence[Cell], estimates: Mapping[str, Estimate | None], evalset: str) -> tuple[str, ...]:
    marks = []
    drop = estimates.get("delta_accuracy")
    if drop is not None and drop.value < ACCURACY_FLOOR:
        marks.append("†")
    predictions = [cell.predictions[evalset] for cell in cells]
    task: Task = predictions[0].task
    if task == "classification":
        shares = [np.bincount(predicted_class(p.values).ravel()).max() / p.values[..., 0].size for p in predictions]
        if min(shares) >= COLLAPSED:
            marks.append("collapsed")
    return tuple(marks)


def _value(row: Row, key: str) -> float:
    estimate = row.estimates.get(key)
    return estimate.value if estimate is not None and not np.isnan(estimate.value) else float("inf")
