"""Columns of tables: a measure with intervals, absolute or as a difference from ERM."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from benchmark.measure.catalogue import boards
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import Estimate, IntervalKind
from benchmark.measure.measure import Measure
from benchmark.store.cell import Cell
from benchmark.types import PAPER, Predictions, Sampling, Task
from leaderboard.read.results import Dataset, Entry
from leaderboard.tables.table import MISSING, Value

Pair = tuple[Cell, Cell | None]
"""A method's cell on one canonical split and the reference's, or None if they share no train seed."""


@dataclass(frozen=True)
class Column:
    """A column of a measure, or of its difference from ERM if ``versus``; without a measure, of ``of_cells``."""

    key: str
    title: str
    measure: Measure | None
    better: int
    """+1: higher is better; −1: lower is better; 0: neither."""
    versus: bool = False
    scale: float = 1
    digits: int = 3
    help: str = ""
    of_cells: Callable[[Sequence[Pair]], Estimate | None] | None = None
    """The mean over splits of a quantity of cells, without an interval."""
    shown: bool = True
    """Whether the first page displays it from the start."""
    relative: bool = False
    """Whether the first page divides it by ERM's value, as units differ between datasets."""

    def value(self, pairs: Sequence[Pair], evalset: str = "id", kind: IntervalKind = "runs") -> Estimate | None:
        """Return the estimate over splits; differences use the splits with both methods, and ERM itself has none."""
        if self.measure is None:
            assert self.of_cells is not None
            return self.of_cells(pairs)
        if not self.versus:
            return estimate(self.measure, [(cell.predictions[evalset], None) for cell, _ in pairs], kind)
        both = matched(pairs, evalset)
        return estimate(self.measure, both, kind) if both else None

    def show(self, value: Estimate | None, differs: Sequence[str] = ()) -> Value:
        """Format an estimate in the unit and precision of the column.

        It is marked ‡ if it compares with ERM and the two ``differ``.
        """
        most, least = (self.measure.most, self.measure.least) if self.measure and not self.versus else (np.inf, 0)
        shown = Value.of(value, self.scale, self.digits, self.versus, most, least)
        compares = self.versus or self.of_cells is compute
        return shown.but(flags=UNLIKE) if differs and compares and shown.text != MISSING else shown


UNLIKE = "‡"
"""Mark of a comparison with ERM whose two sides differ in more than the method; see ``differences``."""


def differences(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Return what else than the method differs between cells and ERM's, in words.

    That is the revision of a part that both use, the versions of libraries, the kind of device, and uncommitted changes
    in only one of them. The commit is not compared, because most commits change no prediction, nor is the version of
    Python or the model of the CPU. What is unknown is not compared either.
    """
    texts = (text for cell, erm in pairs if erm is not None and erm is not cell for text in _differences(cell, erm))
    return tuple(dict.fromkeys(texts))


def _differences(cell: Cell, erm: Cell) -> Iterator[str]:
    mine, theirs = cell.facts, erm.facts
    revisions = [dict(part.split("@") for part in side.key.code.split() if "@" in part) for side in (cell, erm)]
    for part in sorted(revisions[0].keys() & revisions[1].keys()):
        if revisions[0][part] != revisions[1][part]:
            yield f"{part} {revisions[0][part]}, ERM's {revisions[1][part]}"
    ignored = {"python", "suite"} if all(revisions) or mine.submission else {"python"}
    for library in sorted((mine.versions.keys() & theirs.versions.keys()) - ignored):
        if mine.versions[library] != theirs.versions[library]:
            yield f"{library} {mine.versions[library]}, ERM's {theirs.versions[library]}"
    devices = cell.key.device, erm.key.device
    if "unknown" not in devices and devices[0] != devices[1]:
        yield f"device {devices[0]}, ERM's {devices[1]}"
    if {mine.modified, theirs.modified} == {True, False}:
        yield f"uncommitted changes in {'it' if mine.modified else 'ERM'} alone"


def absolute(measure: Measure) -> Column:
    m = measure
    return Column(m.key, m.title, m, m.better, scale=m.scale, digits=m.digits, help=m.help)


def versus(measure: Measure, **changes: Any) -> Column:
    """Return the column of a measure's difference from ERM on the same samples."""
    title, scale, digits = measure.shown_delta
    help = "difference from ERM on the same samples"
    column = Column(f"delta_{measure.key}", title, measure, measure.better, True, scale, digits, help)
    return replace(column, **changes)


def compute(pairs: Sequence[Pair]) -> Estimate | None:
    """Return the CPU time of one retraining in multiples of ERM's, averaged over splits; a submission has none."""
    timed = [(cell, erm) for cell, erm in pairs if erm is not None and not np.isnan(cell.fit_seconds)]
    return _mean([cell.fit_seconds / erm.fit_seconds for cell, erm in timed if erm.fit_seconds > 0])


def rows_seen(pairs: Sequence[Pair]) -> Estimate | None:
    """Return the share of the training pool's rows that a predictor was trained on, averaged over splits."""
    return _mean([seen for cell, _ in pairs if (seen := cell.facts.rows_seen) is not None])


def _mean(values: Sequence[float]) -> Estimate | None:
    return Estimate(float(np.mean(values)), np.nan, np.nan) if values else None


COMPUTE = Column(
    "compute",
    "Compute (× ERM)",
    None,
    -1,
    digits=1,
    help="CPU time of a retraining, in multiples of ERM's",
    of_cells=compute,
)
ROWS_SEEN = Column(
    "rows_seen",
    "Rows seen (%)",
    None,
    0,
    scale=100,
    digits=0,
    help="share of the training pool's rows that the deployed predictor was trained on",
    of_cells=rows_seen,
)


def of_all_measures(sampling: Sampling) -> tuple[Column, ...]:
    """Return the last columns of a board; only under ``paper`` does a method choose how much of the pool it sees."""
    return (ROWS_SEEN, COMPUTE) if sampling == PAPER else (COMPUTE,)


@cache
def columns_of(task: Task, sampling: Sampling) -> tuple[Column, ...]:
    """Return the columns of a dataset's board."""
    of_measures = (column(measure) for measure in boards(task) for column in (absolute, versus))
    return (*of_measures, *of_all_measures(sampling))


def pairs_of(dataset: Dataset, entry: Entry) -> list[Pair]:
    """Return the cells of ``entry``, each paired with ERM's on the same split."""
    erm = dataset.reference.cells if dataset.reference else {}
    shared = {s for s, cell in erm.items() if s in entry.cells and {*cell.key.seeds} & {*entry.cells[s].key.seeds}}
    return [(cell, erm[split] if split in shared else None) for split, cell in entry.cells.items()]


def matched(pairs: Sequence[Pair], evalset: str = "id") -> list[tuple[Predictions, Predictions]]:
    """Return the predictions of method and ERM at their shared train seeds, per split; empty for ERM itself."""
    return [common(cell, erm, evalset) for cell, erm in pairs if erm is not None and erm is not cell]


def shared(a: Entry, b: Entry) -> list[tuple[Predictions, Predictions]]:
    """Return the ID predictions of two methods at their common train seeds, for each split that both have."""
    splits = [(a.cells[s], b.cells[s]) for s in a.cells if s in b.cells]
    return [common(x, y) for x, y in splits if {*x.key.seeds} & {*y.key.seeds}]


def common(cell: Cell, other: Cell, evalset: str = "id") -> tuple[Predictions, Predictions]:
    """Return the predictions of two cells at the train seeds that both have, in ascending order."""
    seeds = {*cell.key.seeds} & {*other.key.seeds}
    return cell.only(seeds).predictions[evalset], other.only(seeds).predictions[evalset]
