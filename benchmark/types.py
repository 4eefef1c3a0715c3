"""Types shared by data, methods and the harness.

Shapes: S train seeds, K members, N training rows, R rows of a sample, T test rows, D features, C outputs
(the classes of a classification, 1 for a regression).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, reduce
from typing import Any, Literal, Protocol, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

Task = Literal["classification", "regression"]
TASKS: tuple[Task, ...] = ("classification", "regression")
Reads = Literal["numbers", "smiles", "pixels"]
"""Input of a learner: features that are numbers, SMILES, or features that are pixels (uint8)."""
MLP = "mlp"
"""The learner of a dataset that names none."""
Sampling = Literal["halves", "nested", "paper", "update"]
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)
"""Rules for what a retraining may see of the training pool; ``benchmark.train.resampling.sample_for`` defines each."""
Tune = Literal["", "best", "one-se", "transfer"]
"""Rule by which hyperparameters are chosen (see ``benchmark.tuning``); empty if they are the defaults."""
PAPER: Sampling = "paper"
REFERENCE = "erm"
"""Method that all others are compared with."""


class Recipe(BaseModel):
    """Training settings of the networks (paper, section Methods). A TOML names only the differences."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hidden: int = Field(256, gt=0, le=65_536, multiple_of=16)
    lr: float = Field(1e-3, gt=0, allow_inf_nan=False)
    weight_decay: float = Field(1e-4, ge=0, allow_inf_nan=False)
    batch_size: int = Field(64, gt=0)
    epochs: int = Field(30, gt=0, le=10_000)
    standardise: bool | None = None
    """True if networks learn a regression's targets standardised on their training rows, whatever unit they have; the
    predictions are in that unit. The paper's networks learn targets as they are."""


class DatasetFacts(BaseModel):
    """Description of a dataset for readers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = ""
    group: str = ""
    family: str = ""
    """Datasets with the same molecules and labels share a family, which a rank test counts once."""
    family_group: str = ""
    """Families with most molecules in common, or of one target, share a group: the strict reading counts it once."""
    target: str = ""
    unit: str = ""
    features: tuple[str, ...] = ()
    split: str = ""
    source: str = ""
    licence: str = ""
    cite: str = ""
    notes: str = ""
    """Flaws and peculiarities of the data."""


@dataclass(frozen=True)
class Inputs:
    """Inputs of a prediction: features ``x`` (T, D) and ``smiles`` (T,), empty if the rows are not molecules."""

    x: np.ndarray
    smiles: np.ndarray

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Any) -> Inputs:
        return Inputs(self.x[rows], self.smiles[rows])

    def copy(self) -> Inputs:
        """Return a copy, for a model that may change what it is given, as ``x -= mean`` does."""
        return Inputs(self.x.copy(), self.smiles.copy())


@dataclass(frozen=True)
class Examples:
    """Rows of a table: features ``x`` (N, D) float32, labels ``y`` (N,), stable ``ids`` and ``smiles`` (N,).

    ``smiles`` are empty if the rows are not molecules.
    """

    x: np.ndarray
    y: np.ndarray
    ids: np.ndarray
    smiles: np.ndarray

    def __post_init__(self) -> None:
        lengths = {f.name: len(getattr(self, f.name)) for f in fields(self)}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"examples need one row per molecule in every field, got {lengths}")
        if len(set(self.ids)) != len(self.ids):
            raise ValueError("example ids must be unique")
        if not np.isfinite(self.x).all():
            raise ValueError("features must be finite")

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Any) -> Examples:
        """Return some of the rows, by their positions."""
        return Examples(self.x[rows], self.y[rows], self.ids[rows], self.smiles[rows])

    @property
    def inputs(self) -> Inputs:
        """A copy of the rows without their labels."""
        return Inputs(self.x, self.smiles).copy()

    @cached_property
    def digest(self) -> str:
        """Hex digits that change with any byte of the rows."""
        arrays = (getattr(self, f.name).tobytes() for f in fields(self))
        return hashlib.sha256(b"".join(hashlib.sha256(array).digest() for array in arrays)).hexdigest()


@dataclass(frozen=True)
class Problem:
    """A dataset under one canonical split: the training pool and the test sets ``id`` and, if there is one, ``ood``."""

    name: str
    task: Task
    n_outputs: int
    train: Examples
    evals: Mapping[str, Examples] = field(default_factory=dict)
    canonical_seed: int = 0
    recipe: Recipe = field(default_factory=Recipe)
    backbone: str = MLP
    """The learner of pipelines that name none."""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    about: DatasetFacts = field(default_factory=DatasetFacts)
    earlier_rows: np.ndarray | None = None
    """Rows (O,) of the training pool that were there before an update, for methods that use an earlier model."""

    @property
    def fingerprint(self) -> str:
        """16 hex digits that change with the raw file, features, labels, split or training recipe."""
        parts = [*sorted(self.fingerprints.items()), ("recipe", self.recipe.model_dump_json(exclude_none=True))]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    @cached_property
    def digest(self) -> str:
        """Hex digits that change with anything in the problem: equal digests mean equal problems."""
        tests = [(name, test.digest) for name, test in self.evals.items()]
        parts = (self.name, self.backbone, self.canonical_seed, self.fingerprint, self.train.digest, tests)
        parts += () if self.earlier_rows is None else (self.earlier_rows.tolist(),)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def without_tests(self) -> Problem:
        """Return the problem without test molecules and test labels."""
        return replace(self, evals={})


def partner(seed: int) -> int:
    """Return the other train seed of a pair: 2j for 2j − 1, and 2j − 1 for 2j."""
    return seed + 1 if seed % 2 else seed - 1


@dataclass(frozen=True)
class Sample:
    """Everything that one retraining may see: no test set, no other row of the training pool, and no way to one.

    Its molecules are the rows of ``x`` (R, D), ``y`` (R,) and ``smiles`` (R,; empty if they are not molecules). The
    scale of numbers is that of the whole pool, and tells nothing else of rows outside the sample.
    """

    seed: int
    """Train seed, which keys the randomness of the retraining."""
    sampling: Sampling
    task: Task
    n_outputs: int
    x: np.ndarray
    y: np.ndarray
    smiles: np.ndarray
    rows: np.ndarray
    """Training rows (N,) of a single model, as ERM is trained on them; equal numbers are repeats of a molecule."""
    bootstrap_pool: np.ndarray
    """Rows that ``bootstrap`` draws from, with repeats: all rows under ``paper``, otherwise ``rows``."""
    recipe: Recipe = field(default_factory=Recipe)
    earlier_rows: np.ndarray | None = None
    """Rows (O,) of the sample that were there before an update; None if there was no earlier model."""
    member: int = 0
    """Number of the model among those of the retraining: the randomness of each is its own."""
    targets: np.ndarray | None = None
    """Targets to learn in place of ``y``, if there are any: class probabilities (R, C), or numbers (R, 1)."""
    batches: int | None = None
    """Train seed that keys the order of batches, if it is not ``seed``."""
    device: str = "cpu"
    """Name of PyTorch's device to train on."""

    def __len__(self) -> int:
        return len(self.y)

    @property
    def inputs(self) -> Inputs:
        """The molecules without their labels."""
        return Inputs(self.x, self.smiles)

    @property
    def labels(self) -> np.ndarray:
        """The labels as targets: one-hot (R, C), or the numbers of a regression (R, 1)."""
        return self.y[:, None] if self.task == "regression" else np.eye(self.n_outputs)[self.y]

    @cached_property
    def earlier(self) -> Sample | None:
        """Return what the model before an update was trained on; None if there was none.

        Its features are those of this sample, whose numbers are standardised on the rows of the pool before the update.
        Its train seed is that of the other retraining of a pair, so that an update shares no randomness with the model
        that it is compared with.
        """
        if self.earlier_rows is None:
            return None
        kept, rows = self.earlier_rows, np.arange(len(self.earlier_rows))
        parts = {"x": self.x[kept], "y": self.y[kept], "smiles": self.smiles[kept]}
        return replace(self, seed=partner(self.seed), **parts, rows=rows, bootstrap_pool=rows, earlier_rows=None)

    def of(self, rows: np.ndarray, member: int = 0) -> Sample:
        """Return the same sample for a single model that is trained on ``rows`` (N,), as one of several members."""
        return replace(self, rows=rows, member=self.member + member)

    def towards(self, targets: np.ndarray, weight: float = 1.0) -> Sample:
        """Return the same sample with labels replaced by the mean of ``targets``, of this ``weight``, and themselves.

        A loss that is linear in the target, such as the cross-entropy, is then the mean of the losses on both; so is
        the squared error, up to a constant. ``targets`` are class probabilities (R, C), or numbers (R, 1).
        """
        mean = (1 - weight) * self.labels + weight * targets
        return replace(self, targets=np.ascontiguousarray(mean, dtype=np.float32))


class Model(Protocol):
    """A trained predictor; its optional ``rows``, an array of any shape, are the rows of the sample it learned from."""

    def predict(self, inputs: Inputs) -> np.ndarray:
        """Return class probabilities (T, C), or targets (T, 1) of a regression; each row's depend on no other row."""


@dataclass(frozen=True)
class Predictions:
    """Predictions of S retrainings of one method for T test examples: ``values`` (S, T, C).

    Raises ValueError for a wrong shape, a value that is not finite, or probabilities that do not sum to one.
    """

    seeds: tuple[int, ...]
    ids: np.ndarray
    y: np.ndarray
    values: np.ndarray
    task: Task
    sampling: Sampling = PAPER
    """Under ``halves``, only runs of one halving are compared: see ``halvings``."""
    class_shares: tuple[float, ...] = ()
    """Shares (C,) of the classes in the training pool; empty if unknown, and for a regression."""
    computed: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Cache for quantities that measures compute from these predictions."""

    @classmethod
    def of(
        cls, problem: Problem, evalset: str, seeds: tuple[int, ...], values: np.ndarray, sampling: Sampling = PAPER
    ) -> Predictions:
        """Return predictions for a test set of ``problem``. Raises ValueError also for a wrong number of outputs."""
        test = problem.evals[evalset]
        predictions = cls(seeds, test.ids, test.y, values, problem.task, sampling)
        if values.shape[2] != problem.n_outputs:
            raise ValueError(f"predictions must have {problem.n_outputs} outputs, got {values.shape}")
        return predictions

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was computed, which another process computes again if it needs it."""
        return {**self.__dict__, "computed": {}}

    def pairs(self) -> np.ndarray:
        """Return the positions (J, 2) of the runs of each halving whose two are here, train seeds 2j − 1 and 2j."""
        place = {seed: i for i, seed in enumerate(self.seeds)}
        pairs = [(place[seed], place[seed + 1]) for seed in self.seeds if seed % 2 and seed + 1 in place]
        return np.array(pairs, dtype=int).reshape(-1, 2)

    def halvings(self) -> list[Predictions]:
        """Return the two runs of each halving."""
        return [self.only(pair)._part(sampling=PAPER) for pair in self.pairs().tolist()]

    def tens(self) -> list[Predictions]:
        """Return the runs of up to ten halvings each, two by two, so that a measure compares many pairs at once."""
        if "tens" not in self.computed:
            pairs = self.pairs()
            parts = (pairs[start : start + 10].ravel().tolist() for start in range(0, len(pairs), 10))
            self.computed["tens"] = [self.only(part)._part(sampling=PAPER) for part in parts]
        return self.computed["tens"]

    def only(self, runs: Sequence[int]) -> Predictions:
        """Select retrainings by position, in this order."""
        return self._part(seeds=tuple(self.seeds[run] for run in runs), values=self.values[list(runs)])

    def on(self, rows: np.ndarray) -> Predictions:
        """Select test examples by a boolean mask (T,) or by position."""
        return self._part(ids=self.ids[rows], y=self.y[rows], values=self.values[:, rows])

    def under(self, sampling: Sampling, class_shares: tuple[float, ...]) -> Predictions:
        """Return the same predictions with another sampling and other shares of the classes, if they have others."""
        if (self.sampling, self.class_shares) == (sampling, class_shares):
            return self
        return self._part(sampling=sampling, class_shares=class_shares)

    def _part(self, **fields: Any) -> Predictions:
        """Return a selection, without a second look at each value: statistics select many thousand times."""
        part: Predictions = object.__new__(type(self))
        part.__dict__.update(self.__dict__, computed={}, **fields)
        part._check_shape()
        return part

    def __post_init__(self) -> None:
        self._check_shape()
        self._check_values()

    def _check_shape(self) -> None:
        want = (len(self.seeds), len(self.ids))
        if 0 in want:
            raise ValueError(f"predictions need at least one seed and one example, got {want[0]} and {want[1]}")
        n_outputs = self.values.shape[2] if self.values.ndim == 3 else 0
        outputs, valid = ("classes", n_outputs > 1) if self.task == "classification" else ("1", n_outputs == 1)
        if self.values.shape[:2] != want or not valid:
            raise ValueError(
                f"predictions must have shape (seeds, examples, {outputs}) = ({want[0]}, {want[1]}, {outputs}), "
                f"got {self.values.shape}"
            )

    def _check_values(self) -> None:
        if self.values.dtype.kind not in "fiub":
            raise ValueError(f"predictions must be real numbers, got {self.values.dtype}")
        finite = np.isfinite(self.values)
        if not finite.all():
            s, t, c = np.argwhere(~finite)[0]
            raise ValueError(
                f"{(~finite).sum()} of {finite.size} predictions are not finite; the first is "
                f"{self.values[s, t, c]} for train seed {self.seeds[s]}, example {self.ids[t]}, output {c}"
            )
        if self.task == "classification":
            classes = np.moveaxis(self.values, 2, 0)  # to reduce the short last axis takes six times as long
            off = np.maximum(np.abs(reduce(np.add, classes) - 1), -reduce(np.minimum, classes))
            if off.max() > 1e-3:
                s, t = np.unravel_index(off.argmax(), off.shape)
                raise ValueError(
                    f"class probabilities must be at least 0 and sum to 1; for train seed {self.seeds[s]}, "
                    f"example {self.ids[t]} they are {self.values[s, t].tolist()} (tolerance 0.001)"
                )
