"""Boards: one table per dataset and test set."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.measure.basics import LOST, predicted_class
from benchmark.measure.catalogue import KEPT, MAE, ORDER, QUALITY
from benchmark.measure.intervals import Estimate, IntervalKind, described, jackknife
from benchmark.types import PAPER, REFERENCE, Predictions, Sampling, Task
from leaderboard.read.results import Dataset, Entry, Results, once
from leaderboard.tables.columns import (
    UNLIKE,
    Column,
    Pair,
    absolute,
    columns_of,
    differences,
    matched,
    pairs_of,
    versus,
)
from leaderboard.tables.table import Table, Value

COLLAPSED = 0.99
"""A method has collapsed that predicts one class for at least this share of the examples or, in a regression, whose MAE
is at least this share of that of the best constant, the median of the test's targets."""
SAME_NUMBER = 1e-6
"""Largest range of predictions that count as a single number."""
SUSPICIONS = {
    "copy": "Copy: the predictions of a retraining are nearly those of a published retraining.",
    "mixture": "Mixture: the predictions are nearly a weighted mean of published predictions and true labels.",
    "alike": "Alike: retrainings differ less than a third as much as those of every method of the suite.",
    "notch": "Notch: retrainings agree at the cut of decision, or of matched churn, far more than at other cuts of the "
    "same probabilities.",
    "unrelated": "Unrelated: a retraining's predictions do not depend on its training rows as those of the suite do.",
    "implausible": "Implausible: more accurate than every method of the suite, and repeats few of the errors of the "
    "most accurate one.",
}
"""Signs of the origin of a submission's predictions; a row with such a mark is not ranked."""
MARKS = {
    "†": "† Accuracy more than 5 pp below ERM's (regression: MAE more than 5 % above ERM's); the whole 95 % interval "
    "over retrainings lies beyond that limit.",
    "†?": "†? Cannot tell: the measured loss is beyond the limit of †, but its interval contains the limit.",
    "collapsed": "Collapsed: predicts one class for at least 99 % of the examples (regression: its MAE is at least "
    "99 % of that of the best constant prediction); a constant never churns.",
    UNLIKE: "‡ Other code, library versions or device than ERM's, or uncommitted changes in only one of the two: the "
    "difference is not the method's alone. The dataset's page has the details.",
    "control": "Control: ERM trained on the whole training pool, to show the effect of seeing every row; it is not "
    "ranked.",
    **SUSPICIONS,
}
EVALSETS = {"id": "ID test", "ood": "OOD test"}


@dataclass(frozen=True)
class BoardRow:
    """One method on one dataset, with its ``estimates`` by column key and the ``marks`` that qualify them."""

    title: str
    method: str
    splits: tuple[int, ...]
    n_seeds: tuple[int, int]
    estimates: Mapping[str, Estimate | None]
    marks: tuple[str, ...]
    differs: tuple[str, ...]
    """Differences from ERM in more than the method."""


Both = Mapping[str, Mapping[str, Estimate | None]]


@dataclass(frozen=True)
class Board:
    """All methods on one test set of one dataset, in the order of matched churn, or of 1 − ICC."""

    dataset: str
    title: str
    evalset: str
    task: Task
    rows: tuple[BoardRow, ...]
    notes: tuple[str, ...]
    kind: IntervalKind = "runs"
    sampling: Sampling = PAPER

    @property
    def columns(self) -> tuple[Column, ...]:
        return columns_of(self.task, self.sampling)

    @property
    def front(self) -> tuple[Column, ...]:
        """The columns that the first page has too."""
        return tuple(column for column in self.columns if column.measure is None or column.measure.front)


def boards(results: Results, kind: IntervalKind = "runs") -> tuple[Board, ...]:
    """Return the board of each dataset and test set, with intervals of one kind."""
    return tuple(board(dataset, evalset, kind) for dataset in results.datasets for evalset in dataset.evalsets)


@once
def board(dataset: Dataset, evalset: str, kind: IntervalKind) -> Board:
    """Return the board of one test set of a dataset, with notes on whatever limits its comparisons."""
    columns = columns_of(dataset.task, dataset.sampling)
    rows = [_row(dataset, entry, evalset, columns, kind) for entry in dataset.entries]
    rows.sort(key=lambda row: (_value(row, ORDER[dataset.task].key), row.title))
    notes = list(dataset.notes)
    if dataset.reference is None:
        command = f"churn run --method {REFERENCE} --dataset {dataset.name}"
        notes.append(f"There is no ERM to compare with. Run: {command}")
    if min(row.n_seeds[0] for row in rows) < 3:
        notes.append("An interval for churn needs at least three retrainings.")
    if len({row.splits for row in rows}) > 1:
        notes.append("Not every method ran on every split: averages over different splits are not comparable.")
    seeds = [{e.cells[split].key.seeds for e in dataset.entries if split in e.cells} for split in dataset.splits]
    if max(map(len, seeds)) > 1:
        notes.append(
            "Not every method has the same train seeds: differences from ERM use the seeds that both have, all other "
            "columns each method's own."
        )
    notes += [f"{UNLIKE} {row.title}: {'; '.join(row.differs)}." for row in rows if row.differs]
    return Board(dataset.name, dataset.title, evalset, dataset.task, tuple(rows), tuple(notes), kind, dataset.sampling)


@once
def over_both(dataset: Dataset) -> Both:
    """Return what a decision goes by, with intervals over retrainings and test examples, by title and column key.

    That is matched churn or 1 − ICC, and the difference from ERM in matched accuracy or MAE, on the ID test.
    """
    columns = absolute(ORDER[dataset.task]), versus(KEPT[dataset.task])
    pairs = {entry.title: pairs_of(dataset, entry) for entry in dataset.entries}
    return {title: {c.key: c.value(of, "id", "both") for c in columns} for title, of in pairs.items()}


def to_table(board: Board, columns: Sequence[Column] = ()) -> Table:
    """Return the board as a table with a row per method, marking the best unmarked method of each column.

    It has all columns of the board if none are given. Splits and the number of retrainings are columns where methods
    differ in them, otherwise in the caption.
    """
    columns = columns or board.columns
    best = {column.key: _best(board, column) for column in columns}
    rows: list[tuple[str | Value, ...]] = []
    for row in board.rows:
        values = []
        for column in columns:
            value = column.show(row.estimates[column.key], row.differs)
            values.append(value.but(mark="best") if not row.marks and value.number == best[column.key] else value)
        fewest, most = row.n_seeds
        runs = str(fewest) if fewest == most else f"{fewest}–{most}"
        rows.append((" ".join([row.title, *row.marks]), *values, ", ".join(map(str, row.splits)), runs))
    alike = {row[-2:] for row in rows}
    counts = "Splits: {}; retrainings: {}.".format(*alike.pop()) if len(alike) == 1 else ""
    flags = {mark for row in board.rows for mark in (*row.marks, *([UNLIKE] if row.differs else []))}
    return Table(
        key=f"{board.dataset}-{board.evalset}",
        title=f"{board.title}, {EVALSETS.get(board.evalset, board.evalset)}",
        caption="Mean over retrainings or pairs of retrainings, and over splits; Δ is the difference from ERM on the "
        f"same samples. {described(board.kind, board.sampling)} {counts}".rstrip(),
        header=("Method", *(column.title for column in columns), *(() if counts else ("Splits", "Retrainings"))),
        rows=tuple(row[:-2] if counts else row for row in rows),
        notes=(*board.notes, *meanings(flags)),
        datasets=(board.dataset,),
        kind=board.kind,
    )


def marks(pairs: Sequence[Pair], evalset: str = "id") -> tuple[str, ...]:
    """Return the marks that qualify a method's churn; see ``MARKS``. Intervals shown do not change them."""
    predictions = [cell.predictions[evalset] for cell, _ in pairs]
    flags = {mark for cell, _ in pairs if cell.facts.submission for mark in cell.facts.submission.marks.split()}
    flags |= {"collapsed"} if all(map(_collapsed, predictions)) else set()
    flags |= {"control"} if any(cell.facts.control for cell, _ in pairs) else set()
    flags |= _loss(pairs, evalset)
    return tuple(mark for mark in MARKS if mark in flags)


def meanings(flags: Collection[str]) -> tuple[str, ...]:
    return tuple(text for mark, text in MARKS.items() if mark in flags)


def _loss(pairs: Sequence[Pair], evalset: str) -> set[str]:
    """Return the mark of a loss against ERM that exceeds ``LOST``, from both methods' values in the same runs.

    The loss is one of accuracy, or an increase in MAE as a share of ERM's.
    """
    excess = []
    for ours, erm in matched(pairs, evalset):
        quality = QUALITY[ours.task]
        best = quality.of_runs(erm)
        worst = best - LOST if quality.better > 0 else best * (1 + LOST)
        excess.append(quality.better * (worst - quality.of_runs(ours)))
    loss = jackknife(excess) if excess else None
    return set() if loss is None or not loss.value > 0 else {"†"} if loss.low > 0 else {"†?"}


def _collapsed(p: Predictions) -> bool:
    if p.task == "regression":
        return bool(MAE.mean(p) >= COLLAPSED * np.abs(p.y - np.median(p.y)).mean())
    return constant(p)


def constant(p: Predictions) -> bool:
    """Tell whether predictions are constant: of one class, or in every retraining a single number."""
    if p.task == "regression":
        return bool(np.ptp(p.values, axis=1).max() <= SAME_NUMBER)
    return bool(np.bincount(predicted_class(p.values).ravel()).max() / p.values[..., 0].size >= COLLAPSED)


def _row(dataset: Dataset, entry: Entry, evalset: str, columns: Sequence[Column], kind: IntervalKind) -> BoardRow:
    pairs = pairs_of(dataset, entry)
    sizes = [len(cell.key.seeds) for cell in entry.cells.values()]
    return BoardRow(
        title=entry.title,
        method=entry.method,
        splits=tuple(entry.cells),
        n_seeds=(min(sizes), max(sizes)),
        estimates={column.key: column.value(pairs, evalset, kind) for column in columns},
        marks=marks(pairs, evalset),
        differs=differences(pairs),
    )


def _best(board: Board, column: Column) -> float:
    """Return the best displayed value of a column among unmarked methods, or nan if there is nothing to compare."""
    if column.versus or column.measure is None or not column.better:
        return np.nan
    values = [e.value for row in board.rows if not row.marks and (e := row.estimates[column.key]) is not None]
    return (max if column.better > 0 else min)(values) * column.scale if len(values) > 1 else np.nan


def _value(row: BoardRow, key: str) -> float:
    estimate = row.estimates.get(key)
    return estimate.value if estimate is not None and not np.isnan(estimate.value) else float("inf")
