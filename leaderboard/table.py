"""From cells to boards: one table per dataset and test set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.metrics import predicted_class
from benchmark.registry import REFERENCE
from benchmark.types import Cell, Task
from leaderboard.columns import COLUMNS, Column, Pair, common
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


def newest(cells: Iterable[Cell]) -> tuple[dict[str, list[Cell]], dict[str, list[str]]]:
    """The cells to show by dataset, from ``cells`` newest first, and notes on what was left out.

    Of each method, hyperparameters and split the newest code counts, with the most retrainings, on the data
    version that was logged last: methods are only compared on identical rows.
    """
    chosen: dict[str, dict[tuple[str, str, int], Cell]] = {}
    version: dict[tuple[str, int], str] = {}
    notes: dict[str, list[str]] = {}
    for cell in cells:
        key = cell.key
        current = version.setdefault((key.dataset, key.canonical_seed), key.problem)
        if key.problem != current:
            notes.setdefault(key.dataset, []).append(
                f"{cell.title} on split {key.canonical_seed} is left out: it ran on other data, features or recipe "
                f"(fingerprint {key.problem}, now {current}). Run again: {cell.about['command']}"
            )
            continue
        kind = (key.method, repr(sorted(key.params.items())), key.canonical_seed)
        known = chosen.setdefault(key.dataset, {}).setdefault(kind, cell)
        if key.code == known.key.code and len(key.seeds) > len(known.key.seeds):
            chosen[key.dataset][kind] = cell
    return {name: list(found.values()) for name, found in sorted(chosen.items())}, notes


def boards(cells: Iterable[Cell]) -> list[Board]:
    """A board for each dataset and test set that ``cells`` (newest first) hold."""
    shown, notes = newest(cells)
    return [
        _board(dataset, found, evalset, notes.get(dataset, []))
        for dataset, found in shown.items()
        for evalset in found[0].predictions
    ]


def _board(dataset: str, cells: Sequence[Cell], evalset: str, notes: Sequence[str]) -> Board:
    task = cells[0].predictions[evalset].task
    columns = tuple(column for column in COLUMNS if column.task == task)
    erm = {cell.key.canonical_seed: cell for cell in cells if cell.key.method == REFERENCE}
    by_method: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        by_method.setdefault((cell.key.method, repr(sorted(cell.key.params.items()))), []).append(cell)
    rows = [_row(found, erm, evalset, columns) for found in by_method.values()]
    rows.sort(key=lambda row: (_value(row, "churn"), row.title))
    about = cells[0].about
    all_notes = list(notes)
    if not erm:
        command = f"python -m benchmark run --method {REFERENCE} --dataset {dataset}"
        all_notes.append(f"There is no ERM here to compare with. Run: {command}")
    fewest = min(row.n_seeds[0] for row in rows)
    if fewest < 3:
        all_notes.append("An interval for churn needs at least three retrainings.")
    widths = {row.splits for row in rows}
    if len(widths) > 1:
        all_notes.append("Not every method ran on every split: averages over different splits are not comparable.")
    return Board(dataset, about["dataset.title"], evalset, columns, tuple(rows), tuple(all_notes), about)


def _row(cells: Sequence[Cell], erm: Mapping[int, Cell], evalset: str, columns: Sequence[Column]) -> Row:
    cells = sorted(cells, key=lambda cell: cell.key.canonical_seed)
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
