"""Choice of hyperparameters from the grids of a learner and a remedy: inside each sample, or once for all samples.

``best`` takes the setting with the smallest loss on held-out molecules of the sample, and ``one-se`` the most
regularised one whose loss is at most one standard error larger (Breiman et al. 1984, ISBN 0412048418, section 3.4.3).
``transfer`` takes a setting that was chosen once, on the datasets of the board (``learners/transferred.toml``); each of
these datasets gets the one that the other families choose, so nothing is chosen on its test molecules.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files as resources
from typing import Any, NamedTuple, TypeVar

import numpy as np

from benchmark.errors import UserError
from benchmark.pipeline import Learner, Part, Pipeline, Remedied, Remedy
from benchmark.train.resampling import generator
from benchmark.types import Inputs, Sample, Sampling, Task, Tune

P = TypeVar("P", bound=Part)
TITLES: Mapping[Tune, str] = {"best": "tuned", "one-se": "one-SE", "transfer": "transferred"}
FOLDS = 5
REVISION = 1
"""Raised when the choice inside a sample changes."""


@dataclass(frozen=True)
class Tuned(Pipeline):
    """A pipeline whose learner, and then its remedy, are given a setting of their grids before each training.

    The learner's setting is chosen with plain fitting, and the remedy's with the learner that this gives.
    """

    family: str = ""
    """Family of the dataset."""

    def for_sample(self, sample: Sample) -> tuple[Remedy, Learner]:
        learner = self._learner(self.learner, sample)

        def predict(remedies: Sequence[Remedy], fold: Sample, inputs: Inputs) -> list[np.ndarray]:
            return [remedy.fit(fold, learner).predict(inputs.copy()) for remedy in remedies]

        return self._one(self.remedy, sample, predict, learner), learner

    def _learner(self, learner: Learner, sample: Sample) -> Learner:
        if isinstance(learner, Remedied):
            return replace(learner, learner=self._learner(learner.learner, sample))
        return self._one(learner, sample, predictions)

    def _one(self, part: P, sample: Sample, predict: Predict[P], given: Learner | None = None) -> P:
        """Return the setting of ``part`` that is chosen for ``sample``; ``part`` itself if it has no grid."""
        if self.tune == "transfer":
            chosen = transferred(part.name, sample.task)
            return replace(part, **chosen.get(self.family, chosen.get("all", {})))
        settings = [replace(part, **setting) for setting in grid_of(type(part), sample.task)]
        if not settings:
            return part
        from benchmark.train.loop import once  # imports PyTorch

        name = type(part), part, given, id(sample.x), sample.seed, sample.member, sample.rows.tobytes()
        return settings[choose(once(name, lambda: losses(settings, sample, predict)), self.tune)]


Predict = Callable[[Sequence[P], Sample, Inputs], Sequence[np.ndarray]]
"""Returns what each of several settings, trained on a sample, predicts (T, C)."""


def grid_of(part: type[Part], task: Task) -> Sequence[Mapping[str, object]]:
    """Return the settings that a part may be given."""
    return part.regression_grid or part.grid if task == "regression" else part.grid


@cache
def _transferred() -> Mapping[str, Mapping[Task, Mapping[str, Mapping[str, Any]]]]:
    return tomllib.loads((resources("benchmark.learners") / "transferred.toml").read_text(encoding="utf-8"))


def transferred(name: str, task: Task) -> Mapping[str, Mapping[str, Any]]:
    """Return the settings that ``study transfer`` chose for a part: by family without it, and on ``all`` families."""
    return _transferred().get(name, {}).get(task, {})


def revision(pipeline: Pipeline) -> str:
    """Return what names the settings that a pipeline may be given, and how they are chosen, in the key of a cell."""
    parts = pipeline.remedy, pipeline.base
    if pipeline.tune == "transfer":
        content = repr([_transferred().get(part.name) for part in parts])
    else:
        content = repr([getattr(part, name, None) for part in parts for name in ("grid", "regression_grid", "quick")])
    return f"tuning@{REVISION}.{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def refuse(pipeline: Pipeline, task: Task, sampling: Sampling, given: Sequence[set[str]]) -> None:
    """Raise UserError if there is nothing to choose, or what is to be chosen is ``given``, to remedy or learner.

    Also at an update, where the earlier model would be given a setting that was chosen with later rows.
    """
    if sampling == "update" and pipeline.tune != "transfer":
        raise UserError(f"--tune {pipeline.tune} would tune the earlier model on later rows: use --tune transfer")
    parts = [pipeline.remedy, pipeline.base]
    names = " and ".join(part.name for part in parts)
    if not any(grid_of(type(part), task) for part in parts):
        raise UserError(f"--tune {pipeline.tune}: {names} have no grid of settings: leave out --tune")
    if pipeline.tune == "transfer" and not any(transferred(part.name, task) for part in parts):
        raise UserError(f"--tune transfer: {names} come with no setting for a {task}: use --tune best or one-se")
    for part, known in zip(parts, given, strict=True):
        if both := sorted({name for setting in grid_of(type(part), task) for name in setting} & known):
            raise UserError(f"--tune {pipeline.tune} chooses {', '.join(both)}: give no value, or leave out --tune")


class Fold(NamedTuple):
    """A part of a sample, with the molecules that it lacks, their labels (V,), and their places (V,) in the sample."""

    sample: Sample
    inputs: Inputs
    y: np.ndarray
    molecules: np.ndarray


def folds(sample: Sample) -> Iterator[Fold]:
    """Divide the distinct molecules that a single model is trained on into ``FOLDS`` parts, and leave out each.

    The parts have the same share of each class, or of small and large numbers. Molecules that are left out are not in
    the fold's sample, and so are none of their repeats.
    """
    molecules = np.unique(sample.rows)
    shuffled = generator("folds", sample.seed, sample.member).permutation(len(molecules))
    part = np.empty(len(molecules), dtype=int)
    part[np.lexsort([shuffled, sample.y[molecules]])] = np.arange(len(molecules)) % FOLDS
    for number in range(FOLDS):
        out = molecules[part == number]
        if not 0 < len(out) < len(molecules):
            continue
        kept = np.setdiff1d(np.arange(len(sample)), out)
        place = np.full(len(sample), -1)
        place[kept] = np.arange(len(kept))
        rows, pool = (place[before][place[before] >= 0] for before in (sample.rows, sample.bootstrap_pool))
        arrays = {name: getattr(sample, name)[kept] for name in ("x", "y", "smiles")}
        part_of = replace(sample, **arrays, rows=rows, bootstrap_pool=pool, earlier_rows=None)
        yield Fold(part_of, sample.inputs[out], sample.y[out], out)


def losses(settings: Sequence[P], sample: Sample, predict: Predict[P]) -> np.ndarray:
    """Return the loss (G, M) of each of G settings on each of the M molecules of ``sample``, when it is held out.

    It is the log loss, with probabilities of at least 1/2M, or the absolute error.
    """
    from benchmark.train.loop import sharing  # imports PyTorch

    size = len(np.unique(sample.rows))
    table = np.full((len(settings), len(sample)), np.nan)
    for fold in folds(sample):
        with sharing():  # forgets what was trained on a fold
            predicted = np.stack(predict(settings, fold.sample, fold.inputs)).astype(np.float64)
        if sample.task == "regression":
            table[:, fold.molecules] = np.abs(predicted[:, :, 0] - fold.y)
        else:
            right = predicted[:, np.arange(len(fold.y)), fold.y]
            table[:, fold.molecules] = -np.log(right.clip(min=1 / (2 * size)))
    return table[:, np.unique(sample.rows)]


def choose(losses: np.ndarray, rule: Tune) -> int:
    """Return the number of the setting that ``best`` or ``one-se`` chooses by ``losses`` (G, M).

    Settings are in the order of their grid, the most regularised first. The standard error is that of the difference to
    the smallest loss, over molecules, not that of the loss itself: most of the latter is how much molecules differ,
    which all settings share. With it, an SVM lost 1 percentage point of accuracy, as much as a method may lose and
    still have a place on the board; with that of the differences it lost at most 0.3.

    >>> choose(np.array([[0.5, 0.3, 0.4], [0.4, 0.3, 0.4], [0.9, 0.9, 0.9]]), "one-se")
    0
    """
    best = int(losses.mean(axis=1).argmin())
    if rule == "best" or losses.shape[1] < 2:  # of so few molecules, there is no error
        return best
    worse = losses - losses[best]
    error = worse.std(axis=1, ddof=1) / np.sqrt(losses.shape[1])
    return int(np.flatnonzero(worse.mean(axis=1) <= error)[0])


def predictions(settings: Sequence[Learner], sample: Sample, inputs: Inputs) -> list[np.ndarray]:
    """Return what each of several settings of a learner predicts, (T, C), with as little training as possible."""
    settings = [replace(setting, **setting.quick) for setting in settings]
    groups: dict[Learner, list[int]] = {}
    swept = settings[0].swept
    for i, setting in enumerate(settings):
        alike = replace(setting, **{swept: getattr(settings[0], swept)}) if swept else setting
        groups.setdefault(alike, []).append(i)
    predicted: dict[int, np.ndarray] = {}
    for learner, members in groups.items():
        if swept:
            values = [getattr(settings[i], swept) for i in members]
            predicted |= zip(members, learner.along(sample, values, inputs), strict=True)
        else:
            predicted[members[0]] = np.asarray(learner.fit(sample).predict(inputs.copy()))
    return [predicted[i] for i in range(len(settings))]
