"""Studies: questions that take more than one grid of cells to answer, and the reports that answer them.

A study is one file in ``benchmark/studies/``: a frozen dataclass whose ``report`` asks a ``Lab`` for cells and records.
The lab of ``python -m benchmark study`` trains what is missing; the leaderboard's lab only reads. Both run the same
``report``, so a page always shows what was computed.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np

from benchmark.data.spec import load_spec
from benchmark.errors import UserError, did_you_mean
from benchmark.measure.catalogue import QUALITY, Measure, churn, find
from benchmark.registry import build, make_method, params
from benchmark.registry import title as title_of
from benchmark.settings import parse_seeds, parse_splits
from benchmark.store.cell import Cell
from benchmark.types import PAPER, Sampling, Task

T = TypeVar("T", bound=type)
Content = Mapping[str, Any]
"""Content of a record: numbers, texts, lists and mappings, as in JSON."""


@dataclass(frozen=True)
class Measured:
    """A measure of predictions, averaged over canonical splits, with its interval over retrainings.

    ``key`` is the measure's key in the catalogue; ``cells`` hold one cell per split. With ``versus``, the number is the
    difference to those cells at equal train seeds.
    """

    key: str
    cells: Sequence[Cell]
    versus: Sequence[Cell] = ()
    evalset: str = "id"
    flags: str = ""

    @property
    def measure(self) -> Measure:
        return _measure(self.key, self.cells[0].predictions[self.evalset].task)


def _measure(key: str, task: Task) -> Measure:
    measure = find(key, task)
    assert measure is not None, f"no measure of a {task} is called {key}"
    return measure


@dataclass(frozen=True)
class Sampled:
    """A statistic of replicates: ``values`` are (R,), one per replicate, or a symmetric (R, R), one per pair."""

    values: np.ndarray
    statistic: Literal["mean", "std"] = "mean"
    flags: str = ""


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


def heads_compared(task: Task) -> list[Head]:
    """Return the headers of the columns that ``compared`` fills."""
    return [head(measure, versus) for measure in (QUALITY[task], churn(task)) for versus in (False, True)]


def compared(cells: Sequence[Cell], reference: Sequence[Cell]) -> SheetRow:
    """Return accuracy (or MAE) and churn of ``cells`` on the ID test, each also as a difference to ``reference``."""
    row: list[str | Number] = []
    for key in (QUALITY[cells[0].predictions["id"].task].key, "churn"):
        row += [Measured(key, cells), "–" if cells is reference else Measured(key, cells, reference)]
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
    """An axis of numbers multiplied by ``scale``, or of ``names`` at 0, 1, 2, …."""

    label: str
    scale: float = 1
    log: bool = False
    names: Sequence[str] = ()


@dataclass(frozen=True)
class Point:
    """A point of a chart with an optional ``label``; ``x`` is exact, or a number with an interval like ``y``."""

    x: float | Number
    y: Number
    label: str = ""
    chosen: bool = False


@dataclass(frozen=True)
class Chart:
    """A figure of a report: named series of points, joined by lines if they are ordered."""

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


REPORT = "report"
"""The key of the record that marks a study as finished and holds its settings."""


class Missing(Exception):
    """A cell or record that a reading lab does not have: the study has not been finished."""


class Trainer(Protocol):
    """Services for a function that makes a record."""

    code: str
    """16 hex digits of the sources that the record depends on; part of the key of any intermediate result."""

    def map(self, function: Callable[..., Any], items: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return ``function(*item)`` for each item, in order; results do not depend on the number of workers."""

    def note(self, line: str) -> None:
        """Report progress to the user."""


class Lab(Protocol):
    """A source of cells and records. Raises UserError for a failure, and Missing if it only reads and lacks one."""

    def cells(
        self,
        methods: Sequence[str],
        datasets: Sequence[str],
        canonical_seeds: Sequence[int],
        seeds: Sequence[int],
        sampling: Sampling = PAPER,
    ) -> Mapping[tuple[str, str], Sequence[Cell]]:
        """Return the cells of a grid by dataset and method, as named in the arguments; one per canonical seed."""

    def record(self, key: str, dataset: str, canonical_seed: int, make: Callable[..., Content], *given: Any) -> Content:
        """Return the record ``key``, computed by ``make(trainer, *given)`` on first use.

        ``make`` is a top-level function. The record is recomputed when its code, the code of a method in ``given`` or
        the data of ``dataset`` on this split changes; ``key`` must name everything else that it depends on.
        """


class Study(Protocol):
    """A study: a frozen dataclass, registered with ``@study``, whose fields are its settings."""

    name: ClassVar[str]
    title: ClassVar[str]

    def report(self, lab: Lab) -> Report:
        """Return the answer, from the cells and records of ``lab``."""


@dataclass(frozen=True)
class GridStudy:
    """Settings of a study on a grid of cells."""

    dataset: str = "bace"
    canonical_seed: str = "99"
    seeds: str = "10"

    def cells(
        self, lab: Lab, methods: Sequence[str], datasets: Sequence[str]
    ) -> Mapping[tuple[str, str], Sequence[Cell]]:
        """Return the cells of ``methods`` on ``datasets``, for all splits and retrainings of the study."""
        return lab.cells(methods, datasets, parse_splits(self.canonical_seed), retrainings(self.seeds))


_studies: dict[str, type] = {}


def study(name: str, *, title: str) -> Callable[[T], T]:
    """Register a frozen dataclass as the study ``name``."""

    def register(cls: T) -> T:
        cls.name, cls.title, cls.regression = name, title, {}  # type: ignore[attr-defined]
        _studies[name] = cls
        return cls

    return register


@cache
def discover() -> dict[str, type]:
    """Return all studies in ``benchmark/studies/`` by name."""
    package = importlib.import_module("benchmark.studies")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"benchmark.studies.{module.name}")
    return dict(sorted(_studies.items()))


def make_study(name: str, settings: Mapping[str, str]) -> Study:
    """Return the study ``name`` with textual ``settings``. Raises UserError for an unknown name, setting or value."""
    studies = discover()
    if name not in studies:
        raise did_you_mean("study", name, list(studies))
    return build(studies[name], "classification", settings, "setting")  # type: ignore[return-value]


def arrange(
    cells: Iterable[Cell],
    methods: Sequence[str],
    datasets: Sequence[str],
    canonical_seeds: Sequence[int],
    seeds: Sequence[int],
    sampling: Sampling = PAPER,
) -> Mapping[tuple[str, str], Sequence[Cell]]:
    """Arrange ``cells``, newest first, as the grid that ``Lab.cells`` returns.

    A cell with more train seeds is reduced to ``seeds``. Raises Missing for the first cell that is not there.
    """
    by_kind: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        by_kind.setdefault(cell.key.kind, []).append(cell)
    grid: dict[tuple[str, str], Sequence[Cell]] = {}
    for dataset in datasets:
        spec = load_spec(dataset)
        for text in methods:
            method = make_method(text, spec.task, backbone=spec.backbone, sampling=sampling)
            row = []
            for split in canonical_seeds:
                kind = spec.name, split, method.name, repr(sorted(params(method).items())), sampling
                candidates = by_kind.get(kind, [])
                complete = [cell for cell in candidates if set(seeds) <= set(cell.key.seeds)]
                if not complete:
                    raise Missing(f"{title_of(method, spec.task)} on {dataset}, split {split}")
                row.append(complete[0].only(seeds))
            grid[dataset, text] = row
    return grid


def classifications(datasets: Sequence[str]) -> Sequence[str]:
    """Return ``datasets``, for a study of accuracy and flips. Raises UserError for a regression."""
    for name in datasets:
        if load_spec(name).task != "classification":
            raise UserError(f"{name}: a regression has neither accuracy nor flips; use a classification such as bace")
    return datasets


def retrainings(seeds: str) -> list[int]:
    """Parse train seeds, for a study of churn. Raises UserError for fewer than two."""
    parsed = parse_seeds(seeds)
    if len(parsed) < 2:
        raise UserError(f"seeds={seeds}: churn needs at least two retrainings, such as --seeds 10")
    return parsed


def mean(key: str, cells: Sequence[Cell], evalset: str = "id") -> float:
    """Return the mean over splits of a measure in the catalogue."""
    parts = [cell.predictions[evalset] for cell in cells]
    return float(np.mean([_measure(key, p.task).mean(p) for p in parts]))


def percent(share: float, digits: int = 0) -> str:
    """Format a share as a percentage.

    >>> percent(0.287), percent(0.287, 1)
    ('29 %', '28.7 %')
    """
    return f"{100 * share:.{digits}f} %"


def points(difference: float) -> str:
    """Format a difference of shares in percentage points.

    >>> points(-0.0312)
    '−3.1 pp'
    """
    return f"{100 * difference:+.1f} pp".replace("-", "−")


def summary(cells: Sequence[Cell]) -> str:
    """Return churn and accuracy (or MAE) on the ID test, for a sentence."""
    if cells[0].predictions["id"].task == "regression":
        return f"churn {mean('churn', cells):.3f}, MAE {mean('mae', cells):.3f}"
    return f"churn {percent(mean('churn', cells), 1)}, accuracy {percent(mean('accuracy', cells), 1)}"


def beside(name: int, series: int, n_series: int) -> float:
    """Return the position of a series' point at a named tick, shifted so that the points of a tick do not overlap."""
    return name + 0.12 * (series - (n_series - 1) / 2)


def over(splits: Sequence[int]) -> str:
    """Name the canonical splits that a number is averaged over, for a caption."""
    return f"{'split' if len(splits) == 1 else 'mean over splits'} {', '.join(map(str, splits))}"
