"""Reports of studies: numbers still to be given intervals, and the tables and charts that show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from benchmark.measure.catalogue import QUALITY, churn
from benchmark.measure.measure import Measure
from benchmark.store.cell import Cell
from benchmark.study.text import measure_of
from benchmark.types import Task


@dataclass(frozen=True)
class Measured:
    """A measure of predictions, averaged over canonical splits, with its interval over retrainings.

    ``key`` is the measure's key in the catalogue; ``cells`` hold one cell per split. With ``versus``, the number is the
    difference from those cells at equal train seeds.
    """

    key: str
    cells: Sequence[Cell]
    versus: Sequence[Cell] = ()
    evalset: str = "id"
    flags: str = ""

    @property
    def measure(self) -> Measure:
        return measure_of(self.key, self.cells[0].predictions[self.evalset].task)


@dataclass(frozen=True)
class Sampled:
    """A statistic of replicates: ``values`` are (R,), one per replicate, or a symmetric (R, R), one per pair."""

    values: np.ndarray
    statistic: Literal["mean", "std"] = "mean"


Number = Measured | Sampled
SheetRow = Sequence[str | Number]


@dataclass(frozen=True)
class Head:
    """The header of a column of numbers, shown multiplied by ``scale`` with ``digits`` decimals.

    Intervals are clipped at ``most``, and at 0 unless the numbers are ``signed``.
    """

    text: str
    scale: float = 1
    digits: int = 3
    signed: bool = False
    most: float = np.inf


def head(measure: Measure, versus: bool = False) -> Head:
    """Return the header of a measure, or of its difference to a reference."""
    if versus:
        title, scale, digits = measure.shown_delta
        return Head(title, scale, digits, signed=True)
    return Head(measure.title, measure.scale, measure.digits, most=measure.most)


def both(cells: Sequence[Cell]) -> tuple[Measured, Measured]:
    """Return accuracy (or MAE) and churn of ``cells`` on the ID test."""
    return Measured(QUALITY[cells[0].predictions["id"].task].key, cells), Measured("churn", cells)


def heads_compared(task: Task) -> list[Head]:
    """Return the headers of the columns that ``compared`` fills."""
    return [head(measure, versus) for measure in (QUALITY[task], churn(task)) for versus in (False, True)]


def compared(cells: Sequence[Cell], reference: Sequence[Cell]) -> SheetRow:
    """Return accuracy (or MAE) and churn of ``cells`` on the ID test, each also as a difference to ``reference``."""
    row: list[str | Number] = []
    for number in both(cells):
        row += [number, "–" if cells is reference else replace(number, versus=reference)]
    return row


@dataclass(frozen=True)
class Sheet:
    """A table of a report; each row has one text or number per column of the header."""

    key: str
    title: str
    caption: str
    header: Sequence[str | Head]
    rows: Sequence[SheetRow]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Axis:
    """An axis of numbers multiplied by ``scale``, or of ``names`` at 0, 1, 2, …, with several series side by side."""

    label: str
    scale: float = 1
    log: bool = False
    names: Sequence[str] = ()


def axes(task: Task) -> tuple[Axis, Axis]:
    """Return the axes of accuracy (or MAE) and of churn."""
    if task == "regression":
        return Axis("MAE"), Axis("Churn |f − f′|")
    return Axis("Accuracy (%)", 100), Axis("Churn (%)", 100)


@dataclass(frozen=True)
class Point:
    """A point of a chart with an optional ``label``; ``x`` is exact, or a number with an interval like ``y``."""

    x: float | Number
    y: Number
    label: str = ""
    chosen: bool = False


@dataclass(frozen=True)
class Chart:
    """A figure of a report: named series of points, joined by lines if ``joined`` and if ``x`` has no names."""

    key: str
    title: str
    caption: str
    x: Axis
    y: Axis
    series: Mapping[str, Sequence[Point]]
    joined: bool = True


@dataclass(frozen=True)
class Report:
    """The answer of a study in sentences, tables and charts; ``shown`` names tables and figures of the boards."""

    answer: Sequence[str]
    sheets: Sequence[Sheet] = ()
    charts: Sequence[Chart] = ()
    shown: Sequence[str] = ()
