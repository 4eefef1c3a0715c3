"""What a study is: a question that more than one grid of cells answers, and the report that says the answer.

A study is one file of ``benchmark/studies/``: a frozen dataclass whose ``report`` asks a ``Lab`` for cells and records.
The lab that ``python -m benchmark study`` gives trains what is missing; the leaderboard's only reads. Both run the same
``report``, so that a page never says anything else than what was computed.
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
from benchmark.settings import parse_seeds
from benchmark.store.cell import Cell
from benchmark.types import Task

T = TypeVar("T", bound=type)
Content = Mapping[str, Any]
"""What a lab keeps that is no cell: numbers, texts, lists and mappings, as JSON has them."""


@dataclass(frozen=True)
class Measured:
    """A measure of predictions, averaged over canonical splits, with its interval over retrainings.

    ``key`` names it in the catalogue; ``cells`` hold one cell per split. With ``versus`` it is the difference to these,
    at equal train seeds.
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
    """A statistic of replicates: ``values`` are (R,), one of each, or a symmetric (R, R), one of each pair."""

    values: np.ndarray
    statistic: Literal["mean", "std"] = "mean"
    flags: str = ""


Number = Measured | Sampled
SheetRow = Sequence[str | Number]


@dataclass(frozen=True)
class Head:
    """The header of a column of numbers, which are shown times ``scale`` with so many ``digits``.

    Their intervals are cut at 0, unless they are ``signed``, and at ``most``.
    """

    text: str
    scale: float = 1
    digits: int = 3
    signed: bool = False
    most: float = np.inf


def head(measure: Measure, versus: bool = False) -> Head:
    """The header of a measure, or of its difference to others."""
    if versus:
        title, scale, digits = measure.shown_delta
        return Head(title, scale, digits, signed=True)
    return Head(measure.title, measure.scale, measure.digits, most=measure.most)


def heads_compared(task: Task) -> list[Head]:
    """The headers of the columns that ``compared`` fills."""
    return [head(measure, versus) for measure in (QUALITY[task], churn(task)) for versus in (False, True)]


def compared(cells: Sequence[Cell], reference: Sequence[Cell]) -> SheetRow:
    """Accuracy (or MAE) and churn of ``cells`` on the ID test, each also less ``reference``, if another."""
    row: list[str | Number] = []
    for quantity in (QUALITY[cells[0].predictions["id"].task].key, "churn"):
        row += [Measured(quantity, cells), "–" if cells is reference else Measured(quantity, cells, reference)]
    return row


@dataclass(frozen=True)
class Sheet:
    """A table of a report: a header of texts and ``Head``, and rows of texts and numbers, as long as the header."""

    key: str
    title: str
    caption: str
    header: Sequence[str | Head]
    rows: Sequence[SheetRow]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Axis:
    """An axis, with numbers times ``scale``, or with the texts ``names`` at 0, 1, 2, …."""

    label: str
    scale: float = 1
    log: bool = False
    names: Sequence[str] = ()


@dataclass(frozen=True)
class Point:
    """A point of a chart: ``x`` is known, or a number with an interval as ``y`` is; ``label`` stands beside it."""

    x: float | Number
    y: Number
    label: str = ""
    chosen: bool = False


@dataclass(frozen=True)
class Chart:
    """A figure of a report: series of points by name, joined by lines if they have an order."""

    key: str
    title: str
    caption: str
    x: Axis
    y: Axis
    series: Mapping[str, Sequence[Point]]
    joined: bool = True


@dataclass(frozen=True)
class Report:
    """The answer of a study in sentences, tables and charts; ``shown`` names tables and figures that boards have."""

    answer: Sequence[str]
    sheets: Sequence[Sheet] = ()
    charts: Sequence[Chart] = ()
    shown: Sequence[str] = ()


REPORT = "report"
"""The key of the record that says that a study was finished, with its settings."""


class Missing(Exception):
    """A lab that only reads has no such cell or record: the study has not been run to its end."""


class Trainer(Protocol):
    """What the making of a record may use."""

    code: str
    """16 hex digits of the sources that a record depends on: what is kept elsewhere meanwhile must name it."""

    def map(self, function: Callable[..., Any], items: Sequence[tuple[Any, ...]]) -> list[Any]:
        """``function(*item)`` of each item, in their order, on the workers; results do not depend on their number."""

    def note(self, line: str) -> None:
        """Tell the user how far it is."""


class Lab(Protocol):
    """Where a study gets what it reports on. Raises Missing if it only reads, and UserError for what cannot be had."""

    def cells(
        self, methods: Sequence[str], datasets: Sequence[str], canonical_seeds: Sequence[int], seeds: Sequence[int]
    ) -> Mapping[tuple[str, str], Sequence[Cell]]:
        """The cells of a grid by dataset and method, as they are named here, one for each canonical seed."""

    def record(self, key: str, dataset: str, canonical_seed: int, make: Callable[..., Content], *given: Any) -> Content:
        """What ``make(trainer, *given)`` gave when it was first asked for the record of this ``key``.

        ``make`` is a function at the top of a module. ``key`` names all that the record depends on besides its code,
        that of the methods among ``given``, and the data of ``dataset`` on this split: after an edit of those it is
        made again.
        """


class Study(Protocol):
    """A study: a frozen dataclass, registered with ``@study``, whose fields are its settings."""

    name: ClassVar[str]
    title: ClassVar[str]

    def report(self, lab: Lab) -> Report: ...


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
    """All studies of ``benchmark/studies/`` by name."""
    package = importlib.import_module("benchmark.studies")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"benchmark.studies.{module.name}")
    return dict(sorted(_studies.items()))


def make_study(name: str, settings: Mapping[str, str]) -> Study:
    """The study ``name`` with ``settings`` written as text. Raises UserError for an unknown name, setting or value."""
    known = discover()
    if name not in known:
        raise did_you_mean("study", name, list(known))
    made: Study = build(known[name], "classification", settings, "setting")  # type: ignore[assignment]
    return made


def arrange(
    cells: Iterable[Cell],
    methods: Sequence[str],
    datasets: Sequence[str],
    canonical_seeds: Sequence[int],
    seeds: Sequence[int],
) -> Mapping[tuple[str, str], Sequence[Cell]]:
    """The cells of a grid, as ``benchmark.lab.study.Lab.cells`` gives them, from ``cells``, newest first.

    Of those with further train seeds, ``seeds`` are taken. Raises Missing, naming the first that is not there.
    """
    known: dict[tuple[str, str, str, int], list[Cell]] = {}
    for cell in cells:
        key = cell.key
        known.setdefault((key.dataset, key.method, _spell(key.params), key.canonical_seed), []).append(cell)
    found: dict[tuple[str, str], Sequence[Cell]] = {}
    for dataset in datasets:
        spec = load_spec(dataset)
        for text in methods:
            made = make_method(text, spec.task, backbone=spec.backbone)
            some = []
            for split in canonical_seeds:
                fitting = known.get((spec.name, made.name, _spell(params(made)), split), [])
                enough = [cell for cell in fitting if set(seeds) <= set(cell.key.seeds)]
                if not enough:
                    raise Missing(f"{title_of(made, spec.task)} on {dataset}, split {split}")
                some.append(enough[0].only(seeds))
            found[dataset, text] = some
    return found


def _spell(params: Mapping[str, Any]) -> str:
    return repr(sorted(params.items()))


def classifications(datasets: Sequence[str]) -> Sequence[str]:
    """``datasets``, for a study of accuracy and flips. Raises UserError for a regression."""
    for name in datasets:
        if load_spec(name).task != "classification":
            raise UserError(f"{name}: a regression has neither accuracy nor flips; choose classifications, as bace")
    return datasets


def retrainings(seeds: str) -> list[int]:
    """Train seeds, for a study of churn. Raises UserError for fewer than two."""
    found = parse_seeds(seeds)
    if len(found) < 2:
        raise UserError(f"seeds={seeds}: churn needs two retrainings or more; give --seeds 10")
    return found


def mean(key: str, cells: Sequence[Cell], evalset: str = "id") -> float:
    """The mean over splits of a measure of the catalogue."""
    parts = [cell.predictions[evalset] for cell in cells]
    return float(np.mean([_measure(key, p.task).mean(p) for p in parts]))


def percent(share: float, digits: int = 0) -> str:
    """
    >>> percent(0.287), percent(0.287, 1)
    ('29 %', '28.7 %')
    """
    return f"{100 * share:.{digits}f} %"


def points(difference: float) -> str:
    """A difference of shares in percentage points.

    >>> points(-0.0312)
    '−3.1 pp'
    """
    return f"{100 * difference:+.1f} pp".replace("-", "−")


def summary(cells: Sequence[Cell]) -> str:
    """Churn and accuracy (or MAE) on the ID test, for a sentence."""
    if cells[0].predictions["id"].task == "regression":
        return f"churn {mean('churn', cells):.3f}, MAE {mean('mae', cells):.3f}"
    return f"churn {percent(mean('churn', cells), 1)}, accuracy {percent(mean('accuracy', cells), 1)}"


def beside(name: int, series: int, n_series: int) -> float:
    """Where a series has its point at a name of an axis: beside those of the others, which would cover it."""
    return name + 0.12 * (series - (n_series - 1) / 2)


def over(splits: Sequence[int]) -> str:
    """The canonical splits of a number, for a caption."""
    return f"{'split' if len(splits) == 1 else 'mean over splits'} {', '.join(map(str, splits))}"
