"""Descriptions of networks to be trained: groups of networks, their training rule and their coupling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmark.types import Recipe, Task

if TYPE_CHECKING:  # PyTorch takes seconds to import: methods are listed without it
    from torch import Tensor

Key = tuple[int, int]
"""Train seed and member of a network."""
FINAL = -1.0
"""The readout that keeps the final weights. Any other readout is a share of training, after which the weights at the
ends of the epochs are averaged."""


class Unit(NamedTuple):
    """Mean and standard deviation of the targets that a group of networks is trained on."""

    mean: float = 0.0
    deviation: float = 1.0

    @classmethod
    def of(cls, y: Tensor) -> Unit:
        """Return the unit of training targets of any shape; the deviation is 1 if they are all equal."""
        return cls(float(y.mean()), float(y.std(correction=0)) or 1.0)

    def standardised(self, y: Tensor) -> Tensor:
        return (y - self.mean) / self.deviation


@dataclass(frozen=True)
class Step:
    """One training step of the K networks of a retraining, as seen by a coupling."""

    outputs: Tensor
    """(K, K, B, C): outputs of each network on each network's batch. The rest of the graph follows from them."""
    rows: Tensor
    """(K, B) int64: rows of the sample in each network's batch."""
    fit: Tensor
    """(K,): loss of each network on its own batch, in the graph."""
    unit: Unit
    """Mean and standard deviation of the targets that the networks learn standardised; 0 and 1 if they do not."""


Coupling = Callable[[Step], "Tensor"]
"""A scalar loss term that ties the K ≥ 1 networks of a retraining to each other or to something else."""


@dataclass(frozen=True)
class Group:
    """K networks trained together, with their training rows (K, N) and the seed and member of each as its key.

    ``rows`` number the R rows of a sample, and ``places`` (R,) are these rows in the data to train on. ``orders`` are
    the keys of the batch orders if they differ from ``keys``. A ``coupling`` adds a loss between the networks.
    """

    rows: np.ndarray
    keys: tuple[Key, ...]
    places: np.ndarray
    orders: tuple[Key, ...] = ()
    coupling: Coupling | None = None

    @property
    def data_rows(self) -> np.ndarray:
        """Training rows (K, N), as numbers of rows of the data."""
        return np.asarray(self.places[self.rows])


@dataclass(frozen=True)
class Rule:
    """Training settings of a group, apart from its data."""

    task: Task
    recipe: Recipe
    n_outputs: int
    dropout: float
    backbone: str
