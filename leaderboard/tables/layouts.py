"""Layouts of tables with a row per dataset and a column per measure or per method."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from benchmark.measure.basics import positive_fraction
from benchmark.measure.catalogue import churn_of_class
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import Estimate, IntervalKind, holm
from benchmark.measure.measure import Measure
from benchmark.types import REFERENCE, Predictions
from leaderboard.read.results import Dataset, Results, once
from leaderboard.tables.boards import board, meanings
from leaderboard.tables.columns import Column, pairs_of
from leaderboard.tables.table import MISSING, Value

ALPHA = 0.05
TableCell = str | Value
Choice = Callable[[Results], Sequence[Dataset]]
"""A selection of the datasets of a table."""


@dataclass(frozen=True)
class Body:
    """The content of a table without its name; see ``leaderboard.tables.table.Table``."""

    header: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    datasets: tuple[Dataset, ...]
    notes: tuple[str, ...] = ()
    over: tuple[tuple[str, int], ...] = ()
    explained: bool = False
    """Whether the kind of its intervals is explained below its caption."""


TableBuilder = Callable[[Results, IntervalKind], Body | None]
"""Returns None, or no rows, if the results hold nothing for the table."""


@dataclass(frozen=True)
class DatasetColumn:
    """A column of a table of datasets; ``measure`` is the one behind its intervals, if it has any."""

    header: str
    show: Callable[[Dataset, IntervalKind], TableCell]
    over: str = ""
    measure: Measure | None = None


def of_erm(measure: Measure, header: str = "", over: str = "", digits: int | None = None) -> DatasetColumn:
    """Return the column of a measure of ERM, under the measure's title unless ``header`` is given."""

    def show(dataset: Dataset, kind: IntervalKind) -> TableCell:
        places = measure.digits if digits is None else digits
        return Value.of(erm(dataset, measure, kind), measure.scale, places, most=measure.most)

    return DatasetColumn(header or measure.title, show, over, measure)


def erm(dataset: Dataset, measure: Measure, kind: IntervalKind) -> Estimate:
    """Return a measure of ERM on the ID tests of all splits: the board's, if it has the measure."""
    row = next(row for row in board(dataset, "id", kind).rows if row.method == REFERENCE)
    return row.estimates.get(measure.key) or estimate(measure, [(p, None) for p in erm_tests(dataset)], kind)


def erm_tests(dataset: Dataset) -> list[Predictions]:
    assert dataset.reference is not None
    return dataset.reference.tests


def per_dataset(choice: Choice, columns: Sequence[DatasetColumn]) -> TableBuilder:
    """Return a builder with a row for each dataset that has ERM."""

    def build(results: Results, kind: IntervalKind) -> Body:
        datasets = with_reference(choice(results))
        rows = [(name(d), *(column.show(d, kind) for column in columns)) for d in datasets]
        over = [("", 1), *((text, len(list(same))) for text, same in groupby(column.over for column in columns))]
        return Body(
            ("Dataset", *(column.header for column in columns)),
            tuple(rows),
            datasets,
            (*fallback(kind, [(column.header, column.measure) for column in columns]), *averaged(datasets)),
            tuple(over) if any(text for text, _ in over) else (),
            explained=True,
        )

    return build


def per_method(choice: Choice, column: Column, *extra: DatasetColumn) -> TableBuilder:
    """Return a builder with a row per dataset and a column per method except ERM, for its difference from ERM."""

    def build(results: Results, kind: IntervalKind) -> Body | None:
        datasets = with_reference(choice(results))
        compared = {d.name: _compared(d, column, kind) for d in datasets}
        titles = [title for title in results.methods() if any(title in row for row in compared.values())]
        if not titles:
            return None
        significant, note = _tested(compared, kind)
        rows = []
        for d in datasets:
            best = _best(compared[d.name], column.better)
            cells = dict.fromkeys(titles, Value(MISSING))
            for title, (value, flags, shown) in compared[d.name].items():
                star = (d.name, title) in significant
                mark = "" if not star else "better" if value.value * column.better > 0 else "worse"
                every = filter(None, ("*" * star, *flags, shown.flags))
                cells[title] = shown.but(mark="best" if title == best else mark, flags=" ".join(every))
            rows.append((name(d), *(other.show(d, kind) for other in extra), *cells.values()))
        measures = [*((other.header, other.measure) for other in extra), (column.title, column.measure)]
        return Body(
            ("Dataset", *(other.header for other in extra), *titles),
            tuple(rows),
            datasets,
            (note, *explained(rows), *fallback(kind, measures), *averaged(datasets)),
            explained=True,
        )

    return build


Compared = dict[str, tuple[Estimate, tuple[str, ...], Value]]
"""The difference from ERM of each method, with the marks that qualify the method, and as it is shown."""


def _compared(dataset: Dataset, column: Column, kind: IntervalKind) -> Compared:
    compared: Compared = {}
    rows = {row.title: row for row in board(dataset, "id", kind).rows}
    for title, value in by_method(dataset, column, kind).items():
        if value is not None and not np.isnan(value.value):
            compared[title] = value, rows[title].marks, column.show(value, rows[title].differs)
    return compared


@once
def by_method(dataset: Dataset, column: Column, kind: IntervalKind) -> Mapping[str, Estimate | None]:
    """Return a column of the ID test by method: the board's, if it has the column."""
    rows = {row.title: row for row in board(dataset, "id", kind).rows}
    if all(column.key in row.estimates for row in rows.values()):
        return {entry.title: rows[entry.title].estimates[column.key] for entry in dataset.entries}
    return {entry.title: column.value(pairs_of(dataset, entry), "id", kind) for entry in dataset.entries}


def _tested(compared: dict[str, Compared], kind: IntervalKind) -> tuple[set[tuple[str, str]], str]:
    """Return the numbers that differ from zero, by dataset and method, and a note on the criterion.

    A family of tests is those of one method. Over all methods, each further method would take stars from the others.
    """
    of_method: dict[str, dict[str, Estimate]] = {}
    for dataset, row in compared.items():
        for title, (e, flags, _) in row.items():
            if "control" not in flags and not np.isnan(e.p):
                of_method.setdefault(title, {})[dataset] = e
    sizes = [len(by_dataset) for by_dataset in of_method.values()]
    if kind == "paper":
        differ = {(d, title) for title, row in of_method.items() for d, e in row.items() if e.excludes_zero}
        note = f"* The interval excludes zero, the paper's criterion; not adjusted for the {sum(sizes)} comparisons."
        return differ, note
    differ = set()
    for title, by_dataset in of_method.items():
        adjusted = holm([e.p for e in by_dataset.values()])
        differ |= {(dataset, title) for dataset, p in zip(by_dataset, adjusted, strict=True) if p < ALPHA}
    over = " to ".join(str(n) for n in sorted({min(sizes, default=0), max(sizes, default=0)}))
    note = (
        f"* Differs from ERM: p < {ALPHA} after Holm's correction over the {over} datasets of its method; {sum(sizes)} "
        f"tests of {len(sizes)} methods in this table. The number of methods is not adjusted for, so that no method "
        "takes a star from another: each method that differs from ERM nowhere has a star with a probability of up to "
        "5 %."
    )
    return differ, note


def _best(row: Compared, better: int) -> str:
    """Return the unmarked method with the best value, or "" if there is nothing to compare."""
    values = {title: estimate.value * better for title, (estimate, flags, _) in row.items() if not flags}
    return max(values, key=lambda title: values[title]) if len(values) > 1 else ""


def size(dataset: Dataset, kind: IntervalKind) -> Value:
    return Value.of(dataset.n_train, digits=0)


def tested(dataset: Dataset, kind: IntervalKind) -> Value:
    """Return the number of rows of the ID test, the fewest over splits."""
    return Value.of(min(len(cell.predictions["id"].ids) for cell in dataset.cells), digits=0)


def positives(scale: float = 1, digits: int = 2) -> DatasetColumn:
    """Return the column of the share of class 1 in the ID test, mean over splits."""

    def show(dataset: Dataset, kind: IntervalKind) -> TableCell:
        return Value.of(_positive(dataset), scale, digits)

    return DatasetColumn("Class 1", show)


def class_ratio(dataset: Dataset, kind: IntervalKind) -> Value:
    """Return the churn of the rarer class divided by that of the other."""
    by_class = [erm(dataset, churn_of_class(label), kind).value for label in (0, 1)]
    rare = int(_positive(dataset) < 0.5)
    return Value.of(by_class[rare] / by_class[1 - rare] if by_class[1 - rare] else None)


def _positive(dataset: Dataset) -> float:
    return float(np.mean([positive_fraction(p) for p in erm_tests(dataset)]))


def name(dataset: Dataset) -> str:
    """Return the title of a dataset, marking development datasets."""
    return f"{dataset.title} (dev)" if dataset.group == "dev" else dataset.title


def with_reference(datasets: Iterable[Dataset]) -> tuple[Dataset, ...]:
    return tuple(dataset for dataset in datasets if dataset.reference is not None)


def fallback(kind: IntervalKind, columns: Iterable[tuple[str, Measure | None]]) -> tuple[str, ...]:
    """Return a note on the columns, given by header and measure, that cannot have the requested interval."""
    over_runs = [header for header, measure in columns if measure is not None and measure.of_examples is None]
    if kind not in ("examples", "both") or not over_runs:
        return ()
    return (f"Not a mean over examples, so the interval is over retrainings: {', '.join(over_runs)}.",)


def explained(rows: Iterable[Iterable[TableCell]]) -> tuple[str, ...]:
    return meanings({flag for row in rows for cell in row if isinstance(cell, Value) for flag in cell.flags.split()})


def averaged(datasets: Sequence[Dataset]) -> tuple[str, ...]:
    """Return notes on the canonical splits averaged over, and on datasets whose methods differ in them."""
    by_splits: dict[tuple[int, ...], list[str]] = {}
    for dataset in datasets:
        by_splits.setdefault(dataset.splits, []).append(dataset.title)
    if not by_splits:
        return ()
    (usual, _), *others = sorted(by_splits.items(), key=lambda item: -len(item[1]))
    first = f"Mean over the canonical splits {listed(usual)}" if len(usual) > 1 else f"Canonical split {usual[0]}"
    notes = ["; ".join([first, *(f"{listed(splits)} on {listed(titles)}" for splits, titles in others)]) + "."]
    uneven = [dataset.title for dataset in datasets if len({tuple(entry.cells) for entry in dataset.entries}) > 1]
    if uneven:
        notes.append(f"Not every method ran on every split of {listed(uneven)}: their means are not comparable.")
    return tuple(notes)


def listed(things: Sequence[object]) -> str:
    """Join items as in ``7, 42 and 99``."""
    texts = [str(thing) for thing in things]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
