"""What flows through the suite.

Shapes: S train seeds, K members, N training rows, T test rows, D features, C outputs
(the classes of a classification, 1 for a regression).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from benchmark.data.spec import DatasetSpec, Recipe

Task = Literal["classification", "regression"]
STUDY = "study"
"""Of the facts about a cell: the study that it was trained for, if no run asked for it."""


@dataclass(frozen=True)
class Examples:
    """Rows of a table: features ``x`` (N, D) float32, labels ``y`` (N,), stable ``ids`` and ``smiles`` (N,).

    ``smiles`` are empty where the rows are no molecules.
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


@dataclass(frozen=True)
class Problem:
    """One dataset under one canonical split: the training pool and the test sets ``id`` and, if it has one, ``ood``."""

    spec: DatasetSpec
    canonical_seed: int
    train: Examples
    evals: Mapping[str, Examples]
    n_outputs: int
    fingerprints: Mapping[str, str]

    @property
    def task(self) -> Task:
        return self.spec.task

    @property
    def recipe(self) -> Recipe:
        return self.spec.recipe

    @property
    def fingerprint(self) -> str:
        """16 hex digits that change with the raw file, the features, the split or the training recipe."""
        parts = [*sorted(self.fingerprints.items()), ("recipe", self.recipe.model_dump_json())]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def without_tests(self) -> Problem:
        """What a method is given to fit: no test molecule and no test label can reach it."""
        return replace(self, evals={})


class Fitted(Protocol):
    """S trained predictors, one for each train seed."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Probabilities (S, T, C) of a classification or targets (S, T, 1) of a regression, for ``x`` (T, D)."""


class Method(Protocol):
    """A way to train: a frozen dataclass, registered with ``@method``, whose fields are its hyperparameters."""

    name: ClassVar[str]
    title: ClassVar[str]

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        """Train one predictor per train seed on bootstraps of ``problem.train``; a pure function of its arguments."""


@dataclass(frozen=True)
class Predictions:
    """What S retrainings of one method said about T test examples: ``values`` (S, T, C).

    Raises ValueError for a wrong shape, a value that is not finite, or probabilities that do not sum to one.
    """

    seeds: tuple[int, ...]
    ids: np.ndarray
    y: np.ndarray
    values: np.ndarray
    task: Task

    @classmethod
    def of(cls, problem: Problem, evalset: str, seeds: tuple[int, ...], values: np.ndarray) -> Predictions:
        """The predictions for a test set of ``problem``; ValueError also for another number of outputs than it has."""
        test = problem.evals[evalset]
        made = cls(seeds, test.ids, test.y, values, problem.task)
        if values.shape[2] != problem.n_outputs:
            raise ValueError(f"predictions must have {problem.n_outputs} outputs, got {values.shape}")
        return made

    def only(self, runs: Sequence[int]) -> Predictions:
        """Of the retrainings those at these places, in this order."""
        return replace(self, seeds=tuple(self.seeds[run] for run in runs), values=self.values[list(runs)])

    def __post_init__(self) -> None:
        want = (len(self.seeds), len(self.ids))
        if 0 in want:
            raise ValueError(f"predictions need at least one seed and one example, got {want[0]} and {want[1]}")
        n_outputs = self.values.shape[2] if self.values.ndim == 3 else 0
        wrong_outputs = n_outputs < 2 if self.task == "classification" else n_outputs != 1
        if self.values.shape[:2] != want or wrong_outputs:
            outputs = "classes" if self.task == "classification" else "1"
            raise ValueError(
                f"predictions must have shape (seeds, examples, {outputs}) = ({want[0]}, {want[1]}, {outputs}), "
                f"got {self.values.shape}"
            )
        finite = np.isfinite(self.values)
        if not finite.all():
            s, t, c = np.argwhere(~finite)[0]
            raise ValueError(
                f"{(~finite).sum()} of {finite.size} predictions are not finite; the first is "
                f"{self.values[s, t, c]} for train seed {self.seeds[s]}, example {self.ids[t]}, output {c}"
            )
        if self.task == "classification":
            off = np.maximum(np.abs(self.values.sum(axis=2) - 1), -self.values.min(axis=2))
            if off.max() > 1e-3:
                s, t = np.unravel_index(off.argmax(), off.shape)
                raise ValueError(
                    f"class probabilities must be at least 0 and sum to 1; for train seed {self.seeds[s]}, "
                    f"example {self.ids[t]} they are {self.values[s, t].tolist()} (tolerance 0.001)"
                )


@dataclass(frozen=True)
class CellKey:
    """What makes a cell: all that its predictions depend on but versions of libraries, which are kept beside it.

    Two equal keys give equal predictions with the same versions.
    """

    dataset: str
    method: str
    params: Mapping[str, Any]
    canonical_seed: int
    seeds: tuple[int, ...]
    problem: str
    code: str
    device: str = "cpu"

    @property
    def digest(self) -> str:
        """16 hex digits that name the cell on disk and in the store."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def spelled_seeds(self) -> str:
        """The train seeds as ``--seeds`` takes them: ``1-10`` for consecutive ones, else ``1,3,5``."""
        first, last = self.seeds[0], self.seeds[-1]
        if len(self.seeds) > 1 and list(self.seeds) == list(range(first, last + 1)):
            return f"{first}-{last}"
        return ",".join(map(str, self.seeds)) + ("," if len(self.seeds) == 1 else "")


@dataclass(frozen=True)
class Cell:
    """A finished cell: one method on one split of one dataset, with its predictions on each test set."""

    key: CellKey
    title: str
    predictions: Mapping[str, Predictions]
    fit_seconds: float
    """CPU seconds of one retraining, averaged over the train seeds."""
    about: Mapping[str, str]
    """Provenance, as text: see ``benchmark.provenance``."""
    run_id: str = ""
    reports: Mapping[str, str] = field(default_factory=dict)
    """Texts to be kept beside the predictions, by file name: what is wrong with the data."""

    def only(self, seeds: Iterable[int]) -> Cell:
        """The cell with these of its train seeds alone, in ascending order: what training just these would give."""
        keep = tuple(sorted(seeds))
        if keep == self.key.seeds:
            return self
        index = [self.key.seeds.index(seed) for seed in keep]
        predictions = {evalset: p.only(index) for evalset, p in self.predictions.items()}
        return replace(self, key=replace(self.key, seeds=keep), predictions=predictions)


@dataclass(frozen=True)
class Record:
    """What a study keeps that is no cell: ``content`` is JSON, ``key`` names within the study what it depends on."""

    study: str
    key: str
    code: str
    """16 hex digits of the sources and the data that it depends on: see ``benchmark.lab``."""
    content: Mapping[str, Any]
