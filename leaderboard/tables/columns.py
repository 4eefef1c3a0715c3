"""What the tables show: a column is a measure, absolute or against ERM, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmark.measure.catalogue import Measure, Of, boards
from benchmark.store.cell import Cell
from benchmark.types import Predictions, Task
from leaderboard.read.results import Dataset, Entry
from leaderboard.stats.intervals import (
    Estimate,
    IntervalKind,
    difference,
    jackknife,
    over_both,
    over_examples,
    pair_bootstrap,
)
from leaderboard.tables.table import Value

Pair = tuple[Cell, Cell | None]
"""A method's cell on one canonical split, and the reference's there, None if it shares no train seed."""
Splits = Sequence[tuple[Predictions, Predictions | None]]
"""For each canonical split the predictions of a method, and those to take the difference to, if any."""


def estimate(measure: Measure, splits: Splits, kind: IntervalKind = "runs") -> Estimate:
    """The mean over ``splits`` of a measure, less that of the others where there are some, with its interval."""

    def of(part: Of) -> list[np.ndarray]:
        return [part(a) if b is None else difference(part(a), part(b)) for a, b in splits]

    examples = measure.of_examples
    return interval(kind, partial(of, measure.of_runs), partial(of, examples) if examples else None)


Arrays = Callable[[], Sequence[np.ndarray]]


def interval(kind: IntervalKind, runs: Arrays, examples: Arrays | None) -> Estimate:
    """The mean over splits with an interval of ``kind``; where ``examples`` are None, over runs at the least.

    Both are functions, because only what the kind needs is computed.
    """
    if kind == "paper":
        return pair_bootstrap(runs())
    if kind == "runs" or examples is None:
        return jackknife(runs())
    return over_examples(examples()) if kind == "examples" else over_both(runs(), examples())


@dataclass(frozen=True)
class Column:
    """One column: a measure, or with ``versus`` its difference to ERM; without a measure, the compute of a cell."""

    key: str
    title: str
    measure: Measure | None
    better: int
    """+1: higher is better; −1: lower is better."""
    versus: bool = False
    scale: float = 1
    digits: int = 3
    help: str = ""

    def value(self, pairs: Sequence[Pair], evalset: str = "id", kind: IntervalKind = "runs") -> Estimate | None:
        """The estimate over splits; of a difference over those that have both, and none for ERM itself."""
        if self.measure is None:
            return compute(pairs)
        if not self.versus:
            return estimate(self.measure, [(cell.predictions[evalset], None) for cell, _ in pairs], kind)
        both = matched(pairs, evalset)
        return estimate(self.measure, both, kind) if both else None

    def show(self, value: Estimate | None) -> Value:
        most = self.measure.most if self.measure and not self.versus else np.inf
        return Value.of(value, self.scale, self.digits, self.versus, most)


def absolute(measure: Measure, **changes: Any) -> Column:
    """The column of a measure as it is."""
    known = {"title": measure.title, "scale": measure.scale, "digits": measure.digits, "help": measure.help}
    return Column(key=measure.key, measure=measure, better=measure.better, **{**known, **changes})


def versus(measure: Measure, **changes: Any) -> Column:
    """The column of a measure's difference to ERM at equal bootstraps."""
    title, scale, digits = measure.shown_delta
    known = {"title": title, "scale": scale, "digits": digits, "help": "difference to ERM at equal bootstraps"}
    return Column(
        key=f"delta_{measure.key}", measure=measure, better=measure.better, versus=True, **{**known, **changes}
    )


COMPUTE = Column(
    *("compute", "Compute (× ERM)", None, -1),
    digits=1,
    help="measured CPU time of one retraining, in multiples of ERM's",
)


def columns_of(task: Task) -> tuple[Column, ...]:
    """The columns of a dataset's board."""
    return (*(column(measure) for measure in boards(task) for column in (absolute, versus)), COMPUTE)


def pairs_of(dataset: Dataset, entry: Entry) -> list[Pair]:
    """The cells of ``entry``, each with ERM's on the same split."""
    erm = dataset.reference.cells if dataset.reference else {}
    return [(cell, _comparable(cell, erm.get(seed))) for seed, cell in entry.cells.items()]


def _comparable(cell: Cell, erm: Cell | None) -> Cell | None:
    return erm if erm is not None and set(cell.key.seeds) & set(erm.key.seeds) else None


def matched(pairs: Sequence[Pair], evalset: str = "id") -> list[tuple[Predictions, Predictions]]:
    """The predictions of method and ERM at the train seeds of both, on each split that has both; empty for ERM."""
    return [
        (common(cell, erm).predictions[evalset], common(erm, cell).predictions[evalset])
        for cell, erm in pairs
        if erm is not None and erm is not cell
    ]


def common(cell: Cell, other: Cell) -> Cell:
    """``cell`` with only the train seeds that ``other`` has too, in ascending order."""
    return cell.only(set(cell.key.seeds) & set(other.key.seeds))


def compute(pairs: Sequence[Pair]) -> Estimate | None:
    """CPU time of one training in multiples of ERM's, averaged over splits."""
    ratios = [cell.fit_seconds / erm.fit_seconds for cell, erm in pairs if erm is not None and erm.fit_seconds > 0]
    return Estimate(float(np.mean(ratios)), np.nan, np.nan) if ratios else None
