"""What a finished cell is, and how it is written as JSON and read back: the one place that knows its fields."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from benchmark.types import MLP, DatasetFacts, Predictions, Recipe

Name = Annotated[str, StringConstraints(pattern=r"^\w[\w.:-]*(@\w+=[\w.+-]+)*$", max_length=200)]
"""A name of a dataset or method, which may become the name of a file: no path and no line break."""
Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


@dataclass(frozen=True)
class CellKey:
    """What makes a cell: all that its predictions depend on except versions of libraries, which are kept beside it.

    Two equal keys give equal predictions with the same versions.
    """

    dataset: Name
    method: Name
    params: Mapping[str, Any]
    canonical_seed: int
    seeds: tuple[int, ...]
    problem: Hex
    code: Hex
    device: str = "cpu"

    __pydantic_config__ = ConfigDict(extra="forbid")

    @property
    def digest(self) -> str:
        """16 hex digits that name the cell on disk and in the store."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def kind(self) -> tuple[str, int, str, str]:
        """What cells of one method on one split share, whichever code, seeds and data they are of."""
        return self.dataset, self.canonical_seed, self.method, repr(sorted(self.params.items()))

    @property
    def spelled_seeds(self) -> str:
        """The train seeds as ``--seeds`` takes them: ``1-10`` for consecutive ones, else ``1,3,5``."""
        first, last = self.seeds[0], self.seeds[-1]
        if len(self.seeds) > 1 and list(self.seeds) == list(range(first, last + 1)):
            return f"{first}-{last}"
        return ",".join(map(str, self.seeds)) + ("," if len(self.seeds) == 1 else "")


class Submission(BaseModel):
    """What a submission says of itself, and whether its code was run again (``status``, ``checks``)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: str
    name: str
    authors: str
    licence: str
    compute: str
    training_data: str
    sha256: str
    code: str = ""
    paper: str = ""
    superseded_by: str = ""
    checks: str = ""


class Facts(BaseModel):
    """Where a cell comes from: everything a reader needs to trust it or to repeat it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: str
    dataset: DatasetFacts = DatasetFacts()
    rows: dict[str, int] = {}
    """Rows of the training pool (``train``) and of each test set."""
    fingerprints: dict[str, str] = {}
    backbone: str = MLP
    recipe: Recipe = Recipe()
    versions: dict[str, str] = {}
    commit: str = "unknown"
    modified: bool | None = None
    """Whether files differed from the commit; None where that is not known."""
    device: str = "unknown"
    wall_seconds: float = 0.0
    """CPU seconds of all retrainings together."""
    study: str = ""
    """The study that the cell was trained for, if no run has asked for it."""
    submission: Submission | None = None

    @property
    def status(self) -> str:
        """``baseline`` for what the suite ran, else what a submission is: self-reported or verified."""
        return self.submission.status if self.submission else "baseline"

    @property
    def spelled_rows(self) -> str:
        """``968 train, 242 id, 303 ood``."""
        return ", ".join(f"{n} {part}" for part, n in self.rows.items())


@dataclass(frozen=True)
class Cell:
    """A finished cell: one method on one split of one dataset, with its predictions on each test set."""

    key: CellKey
    title: str
    predictions: Mapping[str, Predictions]
    fit_seconds: float
    """CPU seconds of one retraining, averaged over the train seeds."""
    facts: Facts
    run_id: str = ""
    reports: Mapping[str, str] = field(default_factory=dict)
    """Texts kept beside the predictions, by file name: what is wrong with the data."""

    def only(self, seeds: Iterable[int]) -> Cell:
        """The cell with these of its train seeds alone, in ascending order: what training just these would give."""
        keep = tuple(sorted(seeds))
        if keep == self.key.seeds:
            return self
        index = [self.key.seeds.index(seed) for seed in keep]
        predictions = {evalset: p.only(index) for evalset, p in self.predictions.items()}
        return replace(self, key=replace(self.key, seeds=keep), predictions=predictions)

    def with_facts(self, **changes: Any) -> Cell:
        """The same cell with other facts."""
        return replace(self, facts=self.facts.model_copy(update=changes))


@dataclass(frozen=True)
class Record:
    """What a study keeps that is no cell: ``content`` is JSON, ``key`` names within the study what it depends on."""

    study: str
    key: str
    code: str
    """16 hex digits of the code and the data that it depends on: see ``benchmark.lab.training``."""
    content: Mapping[str, Any]


_KEY = TypeAdapter(CellKey)


def encode(cell: Cell) -> dict[str, Any]:
    """All of a cell but its predictions and reports, as JSON has it; facts at their defaults are left out."""
    return {
        "key": asdict(cell.key),
        "title": cell.title,
        "fit_seconds": cell.fit_seconds,
        "facts": cell.facts.model_dump(mode="json", exclude_defaults=True),
    }


def decode_key(content: Any) -> CellKey:
    """The key in what ``encode`` made. Raises ValueError naming the field that is wrong."""
    try:
        return _KEY.validate_python(content)
    except ValidationError as error:
        raise ValueError(f"key: {_first(error)}") from error


def decode(
    content: Mapping[str, Any],
    predictions: Mapping[str, Predictions],
    run_id: str = "",
    reports: Mapping[str, str] | None = None,
) -> Cell:
    """The cell that ``encode`` made ``content`` of. Raises ValueError naming the field that is wrong or missing."""
    try:
        facts = Facts.model_validate(content["facts"])
        title, seconds = str(content["title"]), float(content["fit_seconds"])
    except ValidationError as error:
        raise ValueError(f"facts: {_first(error)}") from error
    except (KeyError, TypeError) as error:
        raise ValueError(f"expected key, title, fit_seconds and facts: {error!r}") from error
    return Cell(decode_key(content["key"]), title, predictions, seconds, facts, run_id, reports or {})


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}, found {str(first['input'])[:80]!r}"
