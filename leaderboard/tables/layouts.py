"""How tables are filled: rows of datasets with a column per measure or per method, or rows of methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from benchmark.measure.basics import positive_fraction
from benchmark.measure.catalogue import Measure, churn_of_class
from leaderboard.read.results import Dataset, Results
from leaderboard.stats.intervals import Estimate, IntervalKind, holm
from leaderboard.tables.boards import MARKS, marks
from leaderboard.tables.columns import Column, estimate, pairs_of
from leaderboard.tables.table import MISSING, Value

ALPHA = 0.05
Cell = str | Value
Choice = Callable[[Results], Sequence[Dataset]]
"""Which datasets a table is of."""


@dataclass(frozen=True)
class Body:
    """What is in a table, without its name; see ``leaderboard.tables.table.Table``."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    datasets: tuple[Dataset, ...]
    notes: tuple[str, ...] = ()
    over: tuple[tuple[str, int], ...] = ()


Fill = Callable[[Results, IntervalKind], Body | None]
"""None where the results hold nothing for the table."""


@dataclass(frozen=True)
class DatasetColumn:
    """A column of a table of datasets; ``measure`` is what its intervals are of, if it has any."""

    header: str
    show: Callable[[Dataset, IntervalKind], Cell]
    over: str = ""
    measure: Measure | None = None


def of_erm(measure: Measure, header: str = "", over: str = "", digits: int | None = None) -> DatasetColumn:
    """A measure of ERM, under its own title unless ``header`` is another."""

    def show(dataset: Dataset, kind: IntervalKind) -> Cell:
        places = measure.digits if digits is None else digits
        return Value.of(erm(dataset, measure, kind), measure.scale, places, most=measure.most)

    return DatasetColumn(header or measure.title, show, over, measure)


def erm(dataset: Dataset, measure: Measure, kind: IntervalKind) -> Estimate:
    """A measure of ERM on the ID tests of all splits."""
    assert dataset.reference is not None
    return estimate(measure, [(cell.predictions["id"], None) for cell in dataset.reference.cells.values()], kind)


def per_dataset(choice: Choice, columns: Sequence[DatasetColumn], *notes: str) -> Fill:
    """A row for each dataset that ran ERM."""

    def fill(results: Results, kind: IntervalKind) -> Body | None:
        datasets = with_reference(choice(results))
        if not datasets:
            return None
        rows = [(name(d), *(column.show(d, kind) for column in columns)) for d in datasets]
        over = [("", 1), *((text, len(list(some))) for text, some in groupby(column.over for column in columns))]
        return Body(
            ("Dataset", *(column.header for column in columns)),
            tuple(rows),
            datasets,
            (*notes, *fallback(kind, [(column.header, column.measure) for column in columns]), *averaged(datasets)),
            tuple(over) if any(text for text, _ in over) else (),
        )

    return fill


def per_method(choice: Choice, column: Column, *extra: DatasetColumn, compare: bool = False) -> Fill:
    """A row for each dataset and a column for each method but ERM, of its difference to ERM.

    With ``compare`` all numbers are tested together: * marks those that differ from zero.
    """

    def fill(results: Results, kind: IntervalKind) -> Body | None:
        datasets = with_reference(choice(results))
        compared = {d.name: _compared(d, column, kind) for d in datasets}
        titles = [title for title in results.methods() if any(title in row for row in compared.values())]
        if not titles:
            return None
        significant, notes = _tested(compared, kind) if compare else (set(), ())
        rows = []
        for d in datasets:
            row = compared[d.name]
            best = _best(row, column.better)
            cells = []
            for title in titles:
                if title not in row:
                    cells.append(Value(MISSING))
                    continue
                value, flags = row[title]
                star = (d.name, title) in significant
                mark = "" if not star else "better" if value.value * column.better > 0 else "worse"
                shown = " ".join([*(["*"] if star else []), *flags])
                cells.append(column.show(value).but(mark="best" if title == best else mark, flags=shown))
            rows.append((name(d), *(other.show(d, kind) for other in extra), *cells))
        return Body(
            ("Dataset", *(other.header for other in extra), *titles),
            tuple(rows),
            datasets,
            (
                *notes,
                *explained(rows),
                *fallback(kind, [*((other.header, other.measure) for other in extra), (column.title, column.measure)]),
                *averaged(datasets),
            ),
        )

    return fill


Compared = dict[str, tuple[Estimate, tuple[str, ...]]]
"""By method: its difference to ERM, and what qualifies it."""


def _compared(dataset: Dataset, column: Column, kind: IntervalKind) -> Compared:
    found: Compared = {}
    for entry in dataset.entries:
        pairs = pairs_of(dataset, entry)
        estimate = column.value(pairs, "id", kind)
        if estimate is not None and not np.isnan(estimate.value):
            found[entry.title] = estimate, marks(pairs)
    return found


def _tested(compared: dict[str, Compared], kind: IntervalKind) -> tuple[set[tuple[str, str]], tuple[str, ...]]:
    """Which numbers differ from zero, by dataset and method, and how that was decided."""
    keys = [(dataset, title) for dataset, row in compared.items() for title in row]
    estimates = [compared[dataset][title][0] for dataset, title in keys]
    tested = sum(not np.isnan(estimate.p) for estimate in estimates)
    if kind == "paper":
        differ = [estimate.excludes_zero for estimate in estimates]
        note = f"* The interval excludes zero, as the paper decides; not adjusted for the {tested} comparisons."
    else:
        differ = [bool(p < ALPHA) for p in holm([estimate.p for estimate in estimates])]
        note = f"* Differs from ERM: p < {ALPHA} after Holm over the {tested} comparisons of this table."
    return {key for key, yes in zip(keys, differ, strict=True) if yes}, (note,)


def _best(row: Compared, better: int) -> str:
    """The method with the best value among those that carry no mark; none if there is nothing to compare."""
    values = {title: estimate.value * better for title, (estimate, flags) in row.items() if not flags}
    return max(values, key=lambda title: values[title]) if len(values) > 1 else ""


def size(dataset: Dataset, kind: IntervalKind) -> Value:
    """Rows of the training pool."""
    return Value(str(dataset.n_train), dataset.n_train)


def tested(dataset: Dataset, kind: IntervalKind) -> Value:
    """Rows of the ID test, the fewest over splits."""
    n = min(len(cell.predictions["id"].ids) for entry in dataset.entries for cell in entry.cells.values())
    return Value(str(n), n)


def positives(header: str, scale: float = 1, digits: int = 2) -> DatasetColumn:
    """Share of class 1 in the ID test, mean over splits."""

    def show(dataset: Dataset, kind: IntervalKind) -> Cell:
        return Value.of(Estimate(_positive(dataset), np.nan, np.nan), scale, digits)

    return DatasetColumn(header, show)


def minority(header: str) -> DatasetColumn:
    """Churn of the rarer class over that of the other."""

    def show(dataset: Dataset, kind: IntervalKind) -> Cell:
        by_class = [erm(dataset, churn_of_class(label), "runs").value for label in (0, 1)]
        rare = int(_positive(dataset) < 0.5)
        ratio = by_class[rare] / by_class[1 - rare] if by_class[1 - rare] else np.nan
        return Value.of(Estimate(ratio, np.nan, np.nan), 1, 1)

    return DatasetColumn(header, show)


def _positive(dataset: Dataset) -> float:
    assert dataset.reference is not None
    return float(np.mean([positive_fraction(cell.predictions["id"]) for cell in dataset.reference.cells.values()]))


def name(dataset: Dataset) -> str:
    return f"{dataset.title} (dev)" if dataset.group == "dev" else dataset.title


def with_reference(datasets: Iterable[Dataset]) -> tuple[Dataset, ...]:
    return tuple(dataset for dataset in datasets if dataset.reference is not None)


def fallback(kind: IntervalKind, columns: Iterable[tuple[str, Measure | None]]) -> tuple[str, ...]:
    """Which columns, by header and measure, cannot have the interval that was asked for."""
    if kind not in ("examples", "both"):
        return ()
    over_runs = [header for header, measure in columns if measure is not None and measure.of_examples is None]
    if not over_runs:
        return ()
    return (f"No mean over examples, so that the interval is over retrainings: {', '.join(over_runs)}.",)


def explained(rows: Iterable[Iterable[Cell]]) -> tuple[str, ...]:
    """What the marks in ``rows`` mean."""
    used = {flag for row in rows for cell in row if isinstance(cell, Value) for flag in cell.flags.split()}
    return tuple(text for flag, text in MARKS.items() if flag in used)


def averaged(datasets: Sequence[Dataset]) -> tuple[str, ...]:
    """Over which canonical splits the numbers are means, and where methods differ in this."""
    by_splits: dict[tuple[int, ...], list[str]] = {}
    for dataset in datasets:
        by_splits.setdefault(dataset.splits, []).append(dataset.title)
    (usual, _), *others = sorted(by_splits.items(), key=lambda item: -len(item[1]))
    first = f"Mean over the canonical splits {listed(usual)}" if len(usual) > 1 else f"Canonical split {usual[0]}"
    notes = ["; ".join([first, *(f"{listed(splits)} on {listed(titles)}" for splits, titles in others)]) + "."]
    uneven = [dataset.title for dataset in datasets if len({tuple(entry.cells) for entry in dataset.entries}) > 1]
    if uneven:
        notes.append(f"Not every method ran on every split of {listed(uneven)}: their means are not comparable.")
    return tuple(notes)


def listed(things: Sequence[object]) -> str:
    """``7, 42 and 99``."""
    texts = [str(thing) for thing in things]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
