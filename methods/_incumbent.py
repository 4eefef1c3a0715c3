"""The earlier model of an update, which some methods are allowed to use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from benchmark.train import before_update, fit_stack
from benchmark.types import Sample, Sampling
from methods._soft import AtOnce, Trained


class Updates(AtOnce):
    """Base class of methods that use an earlier model, and so belong to the sampling ``update`` alone."""

    samplings: ClassVar[tuple[Sampling, ...]] = ("update",)
    incumbent: ClassVar[str] = "erm"
    """The method that trained the earlier model."""


@dataclass(frozen=True)
class _Same:
    """A sample that equals another one with the same content."""

    sample: Sample

    @cached_property
    def content(self) -> tuple[object, ...]:
        s = self.sample
        return s.seed, s.task, s.recipe.model_dump_json(), s.backbone, s.x.tobytes(), s.y.tobytes(), s.rows.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.content)


@lru_cache(maxsize=8)  # methods that are trained together share their earlier models
def _trained(same: _Same) -> Trained:
    return Trained(fit_stack(same.sample, same.sample.rows[None]))


def erm(sample: Sample) -> Trained:
    """Return ERM, trained on a sample at once, and only the first time for the same sample."""
    return _trained(_Same(sample))


def incumbent(sample: Sample) -> Trained:
    """Return the model in use before an update: ERM on the rows known then, at the train seed of the partner."""
    return erm(before_update(sample))


def was_right(sample: Sample, outputs: np.ndarray) -> np.ndarray:
    """Return a mask (R,) of the molecules that ``outputs`` (R, C) have right.

    A number of a regression is right if its error is not above the median error.
    """
    if sample.task == "classification":
        return np.asarray(outputs.argmax(axis=1) == sample.y)
    errors = np.abs(outputs[:, 0] - sample.y)
    return np.asarray(errors <= np.median(errors))
