"""Studies: questions that take more than one grid of cells to answer, and the reports that answer them.

A study is one file in ``benchmark/studies/``: a frozen dataclass whose ``report`` asks a ``Context`` for cells and
records. That of ``churn study`` trains what is missing; the leaderboard's only reads. Both run the same
``report``, so a page always shows what was computed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol, TypeVar, dataclass_transform

from pydantic import Field

from benchmark.data.spec import load_spec
from benchmark.errors import UserError
from benchmark.registry import learner_of, make_method
from benchmark.registry import title as title_of
from benchmark.settings import parse_seeds, parse_splits
from benchmark.store.cell import Cell, Grid
from benchmark.study.report import Report
from benchmark.types import PAPER, Problem, Sampling

T = TypeVar("T", bound=type)
Content = Mapping[str, Any]
"""Content of a record: numbers, texts, lists and mappings, as in JSON."""
Cells = Mapping[tuple[str, str], Sequence[Cell]]
"""The cells of a grid by dataset and method, as the grid names them; one per canonical seed."""
CanonicalSeed = Annotated[int, Field(ge=0, lt=2**32)]
"""The one split of a study that takes no more, as numpy's generators can be seeded."""
REPORT = "report"
"""The key of the record that marks a study as finished and holds its settings."""


class Missing(Exception):
    """A cell or record that a reading context does not have: the study has not been finished."""


class Trainer(Protocol):
    """Services for a function that makes a record."""

    code: str
    """16 hex digits of the sources that the record depends on; part of the key of any intermediate result."""

    def map(self, function: Callable[..., Any], items: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return ``function(*item)`` for each item, in order; results do not depend on the number of workers."""


class Context(ABC):
    """A source of cells and records. Raises UserError for a failure, and Missing if it can only read and has none."""

    @abstractmethod
    def stored(self, grid: Grid) -> Iterable[Cell]:
        """Return stored cells, newest first, with those of ``grid`` among them unless the context only reads."""

    def cells(
        self,
        methods: Sequence[str],
        datasets: Sequence[str],
        canonical_seeds: Sequence[int],
        seeds: Sequence[int],
        sampling: Sampling = PAPER,
    ) -> Cells:
        """Return the cells of a grid."""
        grid = Grid(methods, datasets, canonical_seeds, seeds, sampling)
        return arrange(self.stored(grid), grid)

    @abstractmethod
    def record(self, key: str, dataset: str, canonical_seed: int, make: Callable[..., Content], *given: Any) -> Content:
        """Return the record ``key``, computed by ``make(trainer, problem, *given)`` on first use.

        ``problem`` is the dataset on this split, and ``make`` a top-level function. The record is recomputed when the
        revision of the study, that of a part of a method in ``given``, or the data of the problem changes; ``key`` must
        name everything else that it depends on.
        """


class Study(Protocol):
    """A study: a frozen dataclass, registered with ``@study``, whose fields are its settings."""

    name: ClassVar[str]
    title: ClassVar[str]
    revision: ClassVar[int]

    def report(self, context: Context) -> Report:
        """Return the answer, from the cells and records of ``context``."""


@dataclass(frozen=True)
class GridStudy:
    """Settings of a study on a grid of cells."""

    dataset: str = "bace"
    canonical_seed: str = "99"
    seeds: str = "10"

    def cells(
        self, context: Context, methods: Sequence[str], datasets: Sequence[str], sampling: Sampling = PAPER
    ) -> Cells:
        """Return the cells of ``methods`` on ``datasets``, for all splits and retrainings of the study."""
        splits, seeds = parse_splits(self.canonical_seed), retrainings(self.seeds)
        return context.cells(methods, datasets, splits, seeds, sampling)


registered: dict[str, type] = {}
"""Studies by name."""


@dataclass_transform(frozen_default=True)
def study(name: str, *, title: str, revision: int = 1) -> Callable[[T], T]:
    """Register a class, as a frozen dataclass. Raise its ``revision`` when what it records changes."""

    def register(cls: T) -> T:
        cls.name, cls.title, cls.regression = name, title, {}  # type: ignore[attr-defined]
        cls.revision = revision  # type: ignore[attr-defined]
        registered[name] = dataclass(frozen=True)(cls)
        return cls

    return register


def arrange(cells: Iterable[Cell], wanted: Grid) -> Cells:
    """Arrange ``cells``, newest first, as a grid.

    A cell with more train seeds is reduced to the grid's. Raises Missing for the first cell that is not there.
    """
    by_kind: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        by_kind.setdefault(cell.key.kind, []).append(cell)
    grid: dict[tuple[str, str], Sequence[Cell]] = {}
    for dataset in wanted.datasets:
        spec = load_spec(dataset)
        for text in wanted.methods:
            method = make_method(text, spec.task, backbone=spec.backbone, sampling=wanted.sampling)
            pipeline = " ".join(filter(None, (method.name, learner_of(method, spec.task))))
            row = []
            for split in wanted.canonical_seeds:
                kind = spec.name, split, pipeline, repr(sorted(method.head.params.items())), wanted.sampling
                candidates = by_kind.get(kind, [])
                complete = [cell for cell in candidates if set(wanted.seeds) <= set(cell.key.seeds)]
                if not complete:
                    raise Missing(f"{title_of(method, spec.task)} on {dataset}, split {split}")
                row.append(complete[0].only(wanted.seeds))
            grid[dataset, text] = row
    return grid


def one_per_family(datasets: Sequence[str]) -> list[str]:
    """Return the first of ``datasets`` of each family, in their order."""
    first = {load_spec(name).family: name for name in reversed(datasets)}
    return [name for name in datasets if name in first.values()]


def classifications(datasets: Sequence[str]) -> Sequence[str]:
    """Return ``datasets``, for a study of accuracy and flips. Raises UserError for a regression."""
    for name in datasets:
        if load_spec(name).task != "classification":
            raise UserError(f"{name}: a regression has neither accuracy nor flips; use a classification such as bace")
    return datasets


def binary_only(problem: Problem) -> None:
    """Raise UserError for a study of the probability of class 1 on more than two classes."""
    if problem.n_outputs != 2:
        raise UserError(f"{problem.name}: this study needs two classes, found {problem.n_outputs}")


def retrainings(seeds: str) -> list[int]:
    """Parse train seeds, for a study of churn. Raises UserError for fewer than two."""
    parsed = parse_seeds(seeds)
    if len(parsed) < 2:
        raise UserError(f"seeds={seeds}: churn needs at least two retrainings, such as --seeds 10")
    return parsed
