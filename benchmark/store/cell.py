"""Finished cells and their JSON form; no other module knows the fields."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import from_json

from benchmark.settings import visible
from benchmark.store import earlier_codes
from benchmark.types import MLP, PAPER, DatasetFacts, Predictions, Recipe, Sampling, Tune


def _short(text: str) -> str:
    if len(text.encode()) > 200:
        raise ValueError("has more than 200 bytes, too many for the name of a file")
    return text


def _distinct(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        raise ValueError("repeats a train seed")
    return seeds


Name = Annotated[
    str, StringConstraints(pattern=r"^\w[\w.:-]*(@\w+=[\w.+-]+)*$"), AfterValidator(_short), AfterValidator(visible)
]
"""Name of a dataset or method, safe as a file name: no path separators or line breaks."""
Code = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{16}|\S+@\S+( \S+@\S+)*)$", max_length=1000)]
"""Parts with their revisions, or the fingerprint of code that version 0.1.0 wrote and nobody knows any more."""
Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Text = Annotated[str, StringConstraints(pattern=r"^[\w.:=+-]*$"), AfterValidator(_short)]
"""Letters, digits and what separates settings; may be empty."""
Title = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(visible)]
"""One line of text."""


class Grid(NamedTuple):
    """Methods on datasets, as the command line names them, for canonical seeds and train seeds under one sampling."""

    methods: Sequence[str]
    datasets: Sequence[str]
    canonical_seeds: Sequence[int]
    seeds: Sequence[int]
    sampling: Sampling = PAPER
    learner: str = ""
    """The learner of all methods in place of the datasets'."""
    features: str = ""
    """The features of molecules in place of the datasets', as in ``atom_pairs.4096+rdkit_descriptors``."""
    tune: Tune = ""
    """Rule by which hyperparameters are chosen."""


OPTIONAL = ("learner", "features", "tune")
"""Fields of a key that are left out of its digest where they are empty: version 0.1.0 had none of them."""


@dataclass(frozen=True)
class CellKey:
    """Identity of a cell: everything its predictions depend on except library versions, which ``Facts`` holds.

    Equal keys give equal predictions under equal library versions.
    """

    dataset: Name
    method: Name
    params: Mapping[str, str | int | float | bool | None]
    canonical_seed: Seed
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1), AfterValidator(_distinct)]
    problem: Hex
    code: Code
    """The parts that the predictions depend on, with their revisions (see ``benchmark.run.code``)."""
    device: Title = "cpu"
    sampling: Sampling = PAPER
    learner: Text = ""
    """The learner, as the command line spells it, if it is not the dataset's and the method is not named after it."""
    features: Text = ""
    """The features of molecules that are read in place of the dataset's, as in the name of a variant."""
    tune: Tune = ""
    """Rule by which hyperparameters are chosen; those in ``params`` are the others, and the defaults."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    @property
    def digest(self) -> str:
        """Sixteen hex digits that name the cell on disk and in the store: for what version 0.1.0 trained, its own."""
        parts, _, _ = self.code.rpartition(" ")
        fields = {name: value for name, value in vars(self).items() if value or name not in OPTIONAL}
        return digest(fields | {"code": earlier_codes.fingerprint_of(parts) or self.code})

    @property
    def pipeline(self) -> str:
        """The method, with learner, features and tuning where they are not the defaults."""
        return " ".join(filter(None, (self.method, self.learner, self.features, self.tuning)))

    @property
    def tuning(self) -> str:
        """The rule by which hyperparameters are chosen, as in ``tune=best``; empty if they are the defaults."""
        return f"tune={self.tune}" if self.tune else ""

    @property
    def place(self) -> str:
        """Dataset and split in words, as in ``bace, split 99``."""
        return f"{self.dataset}, split {self.canonical_seed}"

    @property
    def kind(self) -> tuple[str, int, str, str, Sampling]:
        """Dataset, split, pipeline, hyperparameters and sampling of the cell, regardless of code, seeds and data."""
        return self.dataset, self.canonical_seed, self.pipeline, repr(sorted(self.params.items())), self.sampling

    @property
    def spelled_seeds(self) -> str:
        """Train seeds in the syntax of ``--seeds``: ``1-10`` if consecutive, otherwise ``1,3,5``."""
        first, last = self.seeds[0], self.seeds[-1]
        if len(self.seeds) > 1 and list(self.seeds) == list(range(first, last + 1)):
            return f"{first}-{last}"
        return ",".join(map(str, self.seeds)) + ("," if len(self.seeds) == 1 else "")


def digest(key: Any) -> str:
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]


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
    files: dict[str, str] = {}
    """Files of data or weights that its code reads, with their sha256."""
    code: str = ""
    paper: str = ""
    superseded_by: str = ""
    checks: str = ""
    marks: str = ""


class Facts(BaseModel, frozen=True, extra="forbid"):
    """Provenance of a cell: everything a reader needs to trust it or to repeat it."""

    command: str
    dataset: DatasetFacts = DatasetFacts()
    rows: dict[str, NonNegativeInt] = {}
    """Numbers of rows in the training pool (``train``) and each test set."""
    class_rows: tuple[NonNegativeInt, ...] = ()
    """Rows of each class in the training pool; empty for a regression, and in cells of version 0.1.0."""
    fingerprints: dict[str, str] = {}
    backbone: str = MLP
    recipe: Recipe = Recipe()
    versions: dict[str, str] = {}
    commit: str = "unknown"
    modified: bool | None = None
    """True if files differed from the commit; None if unknown."""
    device: str = "unknown"
    wall_seconds: Seconds = 0.0
    """CPU seconds of all retrainings together."""
    study: str = ""
    """The study that the cell was trained for, if no run has requested it."""
    control: bool = False
    """True if the method is only there to compare others with, and has no rank."""
    rows_seen: float | None = Field(None, ge=0, le=1)
    """Share of the training pool's rows that a predictor was trained on, repeats counted once; None if unknown."""
    submission: Submission | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_fingerprints(cls, content: Any) -> Any:
        """Leave out the fingerprint of ERM's code, which version 0.1.0 noted: keys have revisions now."""
        if isinstance(content, Mapping):
            return {name: value for name, value in content.items() if name != "reference_code"}
        return content

    @property
    def status(self) -> str:
        """``baseline`` for cells trained by the suite, otherwise the submission's: self-reported or verified."""
        return self.submission.status if self.submission else "baseline"

    @property
    def spelled_rows(self) -> str:
        """Row counts as text, such as ``968 train, 242 ID test, 303 OOD test``."""
        return ", ".join(f"{n} {part if part == 'train' else f'{part.upper()} test'}" for part, n in self.rows.items())


@dataclass(frozen=True)
class Cell:
    """One method on one split of one dataset, with its predictions on each test set."""

    key: CellKey
    title: str
    predictions: Mapping[str, Predictions]
    fit_seconds: float
    """CPU seconds of one retraining, on one thread: the median over the train seeds (in 0.1.0 the mean)."""
    facts: Facts
    run_id: str = ""
    reports: Mapping[str, str] = field(default_factory=dict)
    """Reports on the health of the data, by file name."""

    def __post_init__(self) -> None:
        rows = self.facts.class_rows or earlier_codes.class_rows().get(self.key.problem, ())
        shares = tuple(n / sum(rows) for n in rows)
        known = {name: p.under(self.key.sampling, shares) for name, p in self.predictions.items()}
        object.__setattr__(self, "predictions", known)

    def only(self, seeds: Iterable[int]) -> Self:
        """Return the cell restricted to some train seeds, in ascending order, as if only these had been trained."""
        keep = tuple(sorted(seeds))
        if keep == self.key.seeds:
            return self
        index = [self.key.seeds.index(seed) for seed in keep]
        predictions = {evalset: p.only(index) for evalset, p in self.predictions.items()}
        return replace(self, key=replace(self.key, seeds=keep), predictions=predictions)

    def with_facts(self, **changes: Any) -> Self:
        return replace(self, facts=self.facts.model_copy(update=changes))


@dataclass(frozen=True)
class Record:
    """A study's result other than a cell: ``content`` is JSON, ``key`` is unique within the study."""

    study: Name
    key: Title
    code: Hex
    """Sixteen hex digits of the code and data that it depends on (see ``benchmark.study.training``)."""
    content: Mapping[str, Any]

    __pydantic_config__ = ConfigDict(extra="forbid")


_KEY, _RECORD = TypeAdapter(CellKey), TypeAdapter(Record)
_FACTS, _NAME, _TITLE, _SECONDS = (TypeAdapter[Any](kind) for kind in (Facts, Name, Title, Seconds))


def encode(cell: Cell) -> dict[str, Any]:
    """Return a cell without predictions and reports as JSON; facts at their defaults are omitted."""
    return {
        "key": {**vars(cell.key), "params": dict(cell.key.params)},
        "title": cell.title,
        "fit_seconds": cell.fit_seconds,
        "facts": cell.facts.model_dump(mode="json", exclude_defaults=True),
    }


def decode_key(content: Any, expected: str = "") -> CellKey:
    """Return the key from the output of ``encode``, with revisions in place of a fingerprint by version 0.1.0.

    Raises ValueError naming the invalid field, and if the key has another digest than ``expected``, if that is given.
    """
    key: CellKey = _validated("key", _KEY, content)
    if parts := earlier_codes.earlier().get(key.code):
        key = replace(key, code=f"{parts} {key.sampling}@1")
    if expected and expected not in (digest(content), key.digest):
        raise ValueError(f"key: it was changed: its digest is {key.digest}, expected {expected[:80]}")
    return key


def recordable(key: CellKey, title: str) -> CellKey:
    """Return a key as it will be read. Raises ValueError or TypeError for what of it, or of the title, cannot be."""
    _validated("title", _TITLE, title)
    readable: CellKey = _validated("key", _KEY, from_json(json.dumps({**vars(key), "params": dict(key.params)})))
    return readable


def decode_record(content: Any) -> Record:
    """Return the record from its fields. Raises ValueError naming the invalid field."""
    return _validated("record", _RECORD, content)


def decode(
    content: Mapping[str, Any],
    predictions: Mapping[str, Predictions],
    run_id: str = "",
    reports: Mapping[str, str] | None = None,
    expected: str = "",
) -> Cell:
    """Return the cell encoded as ``content``.

    Raises ValueError as ``decode_key`` does, naming the invalid or missing field, and for ``predictions`` that
    contradict the fields.
    """
    try:
        key, facts, title, seconds = (content[name] for name in ("key", "facts", "title", "fit_seconds"))
    except (KeyError, TypeError) as error:
        raise ValueError(f"expected key, title, fit_seconds and facts: {error!r}") from error
    key, facts = decode_key(key, expected), _validated("facts", _FACTS, facts)
    title = _validated("title", _TITLE, title)
    if not (facts.submission and seconds != seconds):  # the time that a submission took is unknown
        seconds = _validated("fit_seconds", _SECONDS, seconds)
    _check(key, facts, predictions)
    return Cell(key, title, predictions, float(seconds), facts, run_id, reports or {})


def _check(key: CellKey, facts: Facts, predictions: Mapping[str, Predictions]) -> None:
    """Raise ValueError if predictions contradict the key and facts that they were stored with."""
    if missing := {"train", "id"} - facts.rows.keys():
        raise ValueError(f"facts: rows: the number of rows of {sorted(missing)[0]!r} is missing")
    if facts.rows.keys() - {"train"} != predictions.keys():
        raise ValueError(f"predictions are of the tests {sorted(predictions)}, but facts: rows has {list(facts.rows)}")
    for test, p in predictions.items():
        _validated("test", _NAME, test)
        if p.seeds != key.seeds:
            raise ValueError(f"{test}: predictions are of train seeds {p.seeds}, expected {key.seeds}")
        if len(p.ids) != facts.rows[test]:
            raise ValueError(f"{test}: {len(p.ids)} examples are predicted, but facts: rows has {facts.rows[test]}")
        if len(set(p.ids.tolist())) < len(p.ids):
            raise ValueError(f"{test}: an example is repeated")
        if facts.class_rows and (p.task, len(facts.class_rows)) != ("classification", p.values.shape[2]):
            raise ValueError(
                f"facts: class_rows: expected the rows of each of {p.values.shape[2]} classes, found {facts.class_rows}"
            )
        numbers = np.issubdtype(p.y.dtype, np.integer) or np.issubdtype(p.y.dtype, np.floating)
        classes = p.values.shape[2] if p.task == "classification" else 0
        if not numbers or not np.isfinite(p.y).all() or (classes and not set(p.y.tolist()) <= {*range(classes)}):
            raise ValueError(f"{test}: expected labels {f'from 0 to {classes - 1}' if classes else 'that are finite'}")


def _validated(name: str, adapter: TypeAdapter[Any], content: Any) -> Any:
    try:
        return adapter.validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ": ".join(filter(None, [name, ".".join(str(part)[:60] for part in first["loc"])]))
        raise ValueError(f"{where}: {first['msg']}, found {str(first['input'])[:80]!r}") from error
