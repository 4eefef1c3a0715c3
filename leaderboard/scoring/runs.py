"""Predictions of any model: probabilities, class labels or values, with or without truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from benchmark.errors import UserError
from benchmark.types import Predictions, Task

PredictionKind = Literal["probabilities", "labels", "values"]
LARGEST = 1e100
"""Values beyond this are refused: intervals use their squares, which would soon overflow."""


@dataclass(frozen=True)
class Runs:
    """Predictions of R runs of a model for T examples.

    ``values`` are probabilities (R, T, C), class labels (R, T) as indices of ``classes``, or regression values (R, T).
    ``y`` (T,) is the truth if known: indices of ``classes``, or targets. ``columns`` describes how the columns of a
    table were read. Raises UserError for a mismatched shape, a number that is not finite, or a value beyond ±1e100.
    """

    names: tuple[str, ...]
    ids: np.ndarray
    kind: PredictionKind
    values: np.ndarray
    classes: tuple[str, ...] = ()
    y: np.ndarray | None = None
    source: str = "arrays"
    columns: str = ""

    def check_tolerance(self, tolerance: float | None) -> None:
        """Raise UserError for a tolerance that is not above 0 and finite, or of classes, which have none."""
        if tolerance is not None and (self.kind != "values" or not 0 < tolerance < np.inf):
            raise UserError(
                f"--tolerance {tolerance:g}, for {self.kind}: expected a positive number in the target's unit, and "
                "only for regression values"
            )

    def __post_init__(self) -> None:
        shape = (len(self.names), len(self.ids), *([len(self.classes)] if self.kind == "probabilities" else []))
        if self.values.shape != shape or 0 in shape:
            raise UserError(f"{self.source}: expected {self.kind} of non-empty shape {shape}, got {self.values.shape}")
        if self.kind != "values" and len(self.classes) < 2:
            raise UserError(f"{self.source}: expected two or more classes, found {', '.join(self.classes) or 'none'}")
        if self.y is not None and (self.y.shape != (len(self.ids),) or not np.isfinite(self.y).all()):
            raise UserError(f"{self.source}: expected one finite true value for each of {len(self.ids)} examples")
        for values in (self.values, self.y) if self.kind == "values" else ():
            if values is not None and max(float(values.max()), -float(values.min())) > LARGEST:
                *_, t = place = np.unravel_index(np.abs(values).argmax(), values.shape)
                raise UserError(
                    f"{self.source}: example {str(self.ids[t])!r} has a value of {values[place]:g}: "
                    f"expected values from -{LARGEST:g} to {LARGEST:g}"
                )

    @classmethod
    def of(cls, values: np.ndarray, y: np.ndarray | None = None, ids: np.ndarray | None = None) -> Runs:
        """Create from arrays: floats (R, T, C) are probabilities, integers (R, T) are class labels, and floats (R, T)
        or (R, T, 1) are regression values.

        Raises UserError for another shape, numbers that are not finite, probabilities that do not sum to one, true
        classes that do not match the labels, and two true classes beside regression values.
        """
        values = np.asarray(values)
        if values.ndim == 3 and values.shape[2] == 1:
            values = values[..., 0]
        if values.ndim not in (2, 3):
            raise UserError(f"expected an array (runs, examples, classes) or (runs, examples), got {values.shape}")
        names = tuple(str(r + 1) for r in range(len(values)))
        ids = np.asarray(range(values.shape[1]) if ids is None else ids, dtype=str)
        truth = None if y is None else np.asarray(y)
        if truth is not None and truth.shape != values.shape[1:2]:
            raise UserError(f"expected one true value for each of {values.shape[1]} examples, got shape {truth.shape}")
        if values.ndim == 2 and not np.issubdtype(values.dtype, np.floating):
            labels, true = (set([] if part is None else _distinct(part).tolist()) for part in (values, truth))
            if any(label != label for label in true) or (true and not (labels <= true or true <= labels)):
                shown = [", ".join(sorted(map(str, some))[:6]) for some in (labels, true)]
                raise UserError(f"the predicted classes ({shown[0]}) and the true ones ({shown[1]}) do not match")
            every = np.unique(values if truth is None else np.concatenate([values.ravel(), truth]))
            codes = np.searchsorted(every, values).astype(np.uint16)
            truth = None if truth is None else np.searchsorted(every, truth)
            return cls(names, ids, "labels", codes, tuple(map(str, every)), truth)
        kind: PredictionKind = "probabilities" if values.ndim == 3 else "values"
        two = _distinct(np.zeros(0) if truth is None else truth)
        if values.ndim == 2 and len(two) == 2 and (two.dtype.kind != "f" or two.tolist() == [0, 1]):
            raise UserError(
                f"the true values are two classes, {two[0]} and {two[1]}, but floats (runs, examples) are regression "
                "values: give the probabilities of both classes as (runs, examples, classes), or classes as integers"
            )
        classes = tuple(map(str, range(values.shape[2]))) if kind == "probabilities" else ()
        if truth is not None and classes and not np.isin(truth, range(len(classes))).all():
            raise UserError(f"true classes must be integers from 0 to {len(classes) - 1}, to match the probabilities")
        truth = truth.astype(int) if truth is not None and classes else truth
        runs = cls(names, ids, kind, values, classes, truth)
        try:
            runs.predictions()
        except ValueError as error:
            raise UserError(str(error).replace("train seed", "run")) from None
        return runs

    @property
    def task(self) -> Task:
        return "regression" if self.kind == "values" else "classification"

    @property
    def size(self) -> int:
        """Number of comparisons between runs: of probabilities (one per class of a label) or values."""
        return len(self.names) ** 2 * len(self.ids) * max(1, len(self.classes))

    def predictions(self) -> Predictions:
        """Return the predictions; labels become probabilities of one. Without truth, y is −1."""
        values = self.values
        if self.kind == "labels":
            values = np.eye(len(self.classes), dtype=np.float32)[values]
        elif self.kind == "values":
            values = values[..., None]
        y = np.full(len(self.ids), -1) if self.y is None else self.y
        return Predictions(tuple(range(len(self.names))), self.ids, y, values, self.task)

    def predicted_classes(self) -> np.ndarray:
        """Return the predicted class of each run, (R, T), as indices of ``classes``."""
        if self.kind == "labels":
            return self.values
        return np.stack([p.argmax(axis=-1).astype(np.uint16) for p in self.values])


def _distinct(classes: np.ndarray) -> np.ndarray:
    """Return the distinct entries of an array in order. Raises UserError for texts beside numbers."""
    try:
        return np.unique(classes)
    except TypeError:
        raise UserError("the classes are numbers as well as texts, or None: expected all of one type") from None


def together(tables: Sequence[Runs], source: str, names: Sequence[str] = ()) -> Runs:
    """Combine runs on the same examples, as ``readers.read`` returns them, and call them by ``names`` if given.

    Raises UserError if the kind of prediction, the classes or the examples differ.
    """
    first = tables[0]
    for runs in tables[1:]:
        if (runs.kind, runs.classes) != (first.kind, first.classes) or not np.array_equal(runs.ids, first.ids):
            raise UserError(f"{source}: expected predictions of one kind, with the same classes, for the same examples")
    return replace(
        first,
        names=tuple(names) or tuple(name for runs in tables for name in runs.names),
        values=np.concatenate([runs.values for runs in tables]),
        y=next((runs.y for runs in tables if runs.y is not None), None),
        source=source,
        columns=" ".join(dict.fromkeys(runs.columns for runs in tables)),
    )
