"""Finished cells and their JSON form; no other module knows the fields."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from benchmark.types import MLP, PAPER, DatasetFacts, Predictions, Recipe, Sampling

Name = Annotated[str, StringConstraints(pattern=r"^\w[\w.:-]*(@\w+=[\w.+-]+)*$", max_length=200)]
"""Name of a dataset or method, safe as a file name: no path separators or line breaks."""
Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


class Grid(NamedTuple):
    """Methods on datasets, as the command line names them, for canonical seeds and train seeds under one sampling."""

    methods: Sequence[str]
    datasets: Sequence[str]
    canonical_seeds: Sequence[int]
    seeds: Sequence[int]
    sampling: Sampling = PAPER


@dataclass(frozen=True)
class CellKey:
    """Identity of a cell: everything its predictions depend on except library versions, which ``Facts`` holds.

    Equal keys give equal predictions under equal library versions.
    """

    dataset: Name
    method: Name
    params: Mapping[str, Any]
    canonical_seed: int
    seeds: tuple[int, ...]
    problem: Hex
    code: Hex
    device: str = "cpu"
    sampling: Sampling = PAPER

    __pydantic_config__ = ConfigDict(extra="forbid")

    @property
    def digest(self) -> str:
        """Sixteen hex digits that name the cell on disk and in the store."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def kind(self) -> tuple[str, int, str, str, Sampling]:
        """Dataset, split, method, hyperparameters and sampling of the cell, regardless of code, seeds and data."""
        return self.dataset, self.canonical_seed, self.method, repr(sorted(self.params.items())), self.sampling

    @property
    def spelled_seeds(self) -> str:
        """Train seeds in the syntax of ``--seeds``: ``1-10`` if consecutive, otherwise ``1,3,5``."""
        first, last = self.seeds[0], self.seeds[-1]
        if len(self.seeds) > 1 and list(self.seeds) == list(range(first, last + 1)):
            return f"{first}-{last}"
        return ",".join(map(str, self.seeds)) + ("," if len(self.seeds) == 1 else "")


class Submission(BaseModel, frozen=True, extra="forbid"):
    """Self-description of a submission; ``status`` and ``checks`` tell whether its code was rerun.

    ``marks`` are those of ``leaderboard.submission.audit``, separated by spaces.
    """

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
    marks: str = ""


class Facts(BaseModel, frozen=True, extra="forbid"):
    """Provenance of a cell: everything a reader needs to trust it or to repeat it."""

    command: str
    dataset: DatasetFacts = DatasetFacts()
    rows: dict[str, int] = {}
    """Numbers of rows in the training pool (``train``) and each test set."""
    fingerprints: dict[str, str] = {}
    backbone: str = MLP
    recipe: Recipe = Recipe()
    versions: dict[str, str] = {}
    commit: str = "unknown"
    modified: bool | None = None
    """True if files differed from the commit; None if unknown."""
    device: str = "unknown"
    wall_seconds: float = 0.0
    """CPU seconds of all retrainings together."""
    study: str = ""
    """The study that the cell was trained for, if no run has requested it."""
    control: bool = False
    """Whether the method is only there to compare others with, and has no rank."""
    rows_seen: float | None = None
    """Share of the training pool's rows that a predictor was trained on, repeats counted once; None if unknown."""
    submission: Submission | None = None

    @property
    def status(self) -> str:
        """``baseline`` for cells trained by the suite, otherwise the submission's: self-reported or verified."""
        return self.submission.status if self.submission else "baseline"

    @property
    def spelled_rows(self) -> str:
        """Row counts as text, such as ``968 train, 242 id, 303 ood``."""
        return ", ".join(f"{n} {part}" for part, n in self.rows.items())


@dataclass(frozen=True)
class Cell:
    """One method on one split of one dataset, with its predictions on each test set."""

    key: CellKey
    title: str
    predictions: Mapping[str, Predictions]
    fit_seconds: float
    """CPU seconds of one retraining, averaged over the train seeds."""
    facts: Facts
    run_id: str = ""
    reports: Mapping[str, str] = field(default_factory=dict)
    """Reports on the health of the data, by file name."""

    def __post_init__(self) -> None:
        sampled = {name: replace(p, sampling=self.key.sampling) for name, p in self.predictions.items()}
        object.__setattr__(self, "predictions", sampled)

    def only(self, seeds: Iterable[int]) -> Self:
        """Return the cell restricted to some train seeds, in ascending order, as if only these had been trained."""
        keep = tuple(sorted(seeds))
        if keep == self.key.seeds:
            return self
        index = [self.key.seeds.index(seed) for seed in keep]
        predictions = {evalset: p.only(index) for evalset, p in self.predictions.items()}
        return replace(self, key=replace(self.key, seeds=keep), predictions=predictions)

    def with_facts(self, **changes: Any) -> Self:
        """Return a copy of the cell with changed facts."""
        return replace(self, facts=self.facts.model_copy(update=changes))


@dataclass(frozen=True)
class Record:
    """A study's result other than a cell: ``content`` is JSON, ``key`` is unique within the study."""

    study: str
    key: str
    code: str
    """Sixteen hex digits of the code and data that it depends on (see ``benchmark.lab.training``)."""
    content: Mapping[str, Any]


_KEY = TypeAdapter(CellKey)


def encode(cell: Cell) -> dict[str, Any]:
    """Return a cell without predictions and reports as JSON; facts at their defaults are omitted."""
    return {
        "key": asdict(cell.key),
        "title": cell.title,
        "fit_seconds": cell.fit_seconds,
        "facts": cell.facts.model_dump(mode="json", exclude_defaults=True),
    }


def decode_key(content: Any) -> CellKey:
    """Return the key from the output of ``encode``. Raises ValueError naming the invalid field."""
    return _validated("key", _KEY.validate_python, content)


def decode(
    content: Mapping[str, Any],
    predictions: Mapping[str, Predictions],
    run_id: str = "",
    reports: Mapping[str, str] | None = None,
) -> Cell:
    """Return the cell encoded as ``content``. Raises ValueError naming the invalid or missing field."""
    try:
        facts = _validated("facts", Facts.model_validate, content["facts"])
        title, seconds = str(content["title"]), float(content["fit_seconds"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"expected key, title, fit_seconds and facts: {error!r}") from error
    return Cell(decode_key(content["key"]), title, predictions, seconds, facts, run_id, reports or {})


def _validated(name: str, validate: Callable[[Any], Any], content: Any) -> Any:
    try:
        return validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{name}: {where}: {first['msg']}, found {str(first['input'])[:80]!r}") from error
