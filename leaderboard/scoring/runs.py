"""Predictions of a model that was trained elsewhere: probabilities, class labels or values, with or without truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmark.errors import UserError
from benchmark.types import Predictions, Task

PredictionKind = Literal["probabilities", "labels", "values"]
PREDICTION_KINDS: tuple[PredictionKind, ...] = ("probabilities", "labels", "values")
LARGEST = 1e100
"""Values beyond it are refused: their squares, which intervals are made of, would soon be no floats."""
BLOCK = 2**20
"""So many numbers are looked at at a time: what is computed from them is then small beside the predictions."""


@dataclass(frozen=True)
class Runs:
    """What R runs of a model said about T examples.

    ``values`` are probabilities (R, T, C), class labels (R, T) as indices of ``classes``, or values (R, T) of a
    regression. ``y`` (T,) is the truth: indices of ``classes``, or targets; None where it is not known. ``columns``
    says which column of a table was read as what.
    Raises UserError for a shape that does not fit, a number that is not finite, or a value beyond ±1e100.
    """

    names: tuple[str, ...]
    ids: np.ndarray
    kind: PredictionKind
    values: np.ndarray
    classes: tuple[str, ...] = ()
    y: np.ndarray | None = None
    source: str = "arrays"
    columns: str = ""

    def __post_init__(self) -> None:
        shape = (len(self.names), len(self.ids), *([len(self.classes)] if self.kind == "probabilities" else []))
        if self.values.shape != shape or 0 in shape:
            raise UserError(f"{self.source}: {self.kind} of shape {shape} expected, with no 0, got {self.values.shape}")
        if self.kind != "values" and len(self.classes) < 2:
            raise UserError(f"{self.source}: two classes or more expected, found {', '.join(self.classes) or 'none'}")
        if self.y is not None and (self.y.shape != (len(self.ids),) or not np.isfinite(self.y).all()):
            raise UserError(f"{self.source}: one finite true value for each of {len(self.ids)} examples expected")
        for some in (self.values, self.y) if self.kind == "values" else ():
            if some is not None and max(some.max(), -some.min()) > LARGEST:
                *_, t = np.unravel_index(np.abs(some).argmax(), some.shape)
                raise UserError(
                    f"{self.source}: example {str(self.ids[t])!r} has a value of {some.flat[np.abs(some).argmax()]:g}: "
                    f"values from -{LARGEST:g} to {LARGEST:g} expected"
                )

    @classmethod
    def of(cls, values: np.ndarray, y: np.ndarray | None = None, ids: np.ndarray | None = None) -> Runs:
        """From arrays: floats (R, T, C) are probabilities, integers (R, T) class labels, floats (R, T) or (R, T, 1)
        values of a regression.

        Raises UserError for another shape, for what is not finite, and for probabilities that do not sum to one.
        """
        values = np.asarray(values)
        if values.ndim == 3 and values.shape[2] == 1:
            values = values[..., 0]
        if values.ndim not in (2, 3):
            raise UserError(f"an array (runs, examples, classes) or (runs, examples) expected, got {values.shape}")
        names = tuple(str(r + 1) for r in range(len(values)))
        known = np.array([str(t) for t in range(values.shape[1])]) if ids is None else np.asarray(ids, dtype=str)
        truth = None if y is None else np.asarray(y)
        if values.ndim == 2 and not np.issubdtype(values.dtype, np.floating):
            every = np.unique(values if truth is None else np.concatenate([values.ravel(), truth]))
            codes = np.searchsorted(every, values).astype(np.uint16)
            truth = None if truth is None else np.searchsorted(every, truth)
            return cls(names, known, "labels", codes, tuple(map(str, every)), truth)
        kind: PredictionKind = "probabilities" if values.ndim == 3 else "values"
        classes = tuple(map(str, range(values.shape[2]))) if kind == "probabilities" else ()
        if truth is not None and classes and not np.isin(truth, range(len(classes))).all():
            raise UserError(f"true classes must be integers from 0 to {len(classes) - 1}, as the probabilities have")
        made = cls(names, known, kind, values, classes, truth)
        try:
            for _ in made.blocks():
                pass
        except ValueError as error:
            raise UserError(str(error).replace("train seed", "run")) from None
        return made

    @property
    def task(self) -> Task:
        return "regression" if self.kind == "values" else "classification"

    def blocks(self) -> Iterator[tuple[slice, Predictions]]:
        """Some examples after the other, all runs of them; a label is a probability of one. Without truth, y is −1."""
        size = max(1, BLOCK // (len(self.names) * max(1, len(self.classes))))
        seeds = tuple(range(len(self.names)))
        for start in range(0, len(self.ids), size):
            rows = slice(start, start + size)
            part = self.values[:, rows]
            if self.kind == "labels":
                part = np.eye(len(self.classes), dtype=np.float32)[part]
            elif self.kind == "values":
                part = part[..., None]
            y = np.full(part.shape[1], -1) if self.y is None else self.y[rows]
            yield rows, Predictions(seeds, self.ids[rows], y, part, self.task)

    def classes_said(self) -> np.ndarray:
        """The predicted class of each run, (R, T), as indices of ``classes``."""
        if self.kind == "labels":
            return self.values
        return np.stack([of_run.argmax(axis=-1).astype(np.uint16) for of_run in self.values])
