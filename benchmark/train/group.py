"""What is trained together, and how: the description of networks that a method gives, before anything is trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmark.types import Recipe, Task

if TYPE_CHECKING:  # PyTorch takes seconds to import: methods are listed without it
    from torch import Tensor

Key = tuple[int, int]
"""Train seed and member of a network."""
FINAL = -1.0
"""The readout of a network as it is at the end; another number is the share of training after which its weights at
the ends of the epochs are averaged."""


@dataclass(frozen=True)
class Step:
    """One training step of S seeds × K networks, for a coupling."""

    outputs: Tensor
    """(S, K, K, B, C): network × whose batch. Everything else of the graph follows from it."""
    rows: Tensor
    """(S, K, B) int64: the rows of the training pool that are each network's batch."""
    fit: Tensor
    """(S, K): the loss of each network on its own batch, in the graph."""


Coupling = Callable[[Step], "Tensor"]
"""A loss term of each train seed, (S,), that ties its K networks together, or to something else; K may be 1."""


@dataclass(frozen=True)
class Group:
    """K networks that are trained together: their training rows (K, N), and the seed and member that key each.

    ``orders`` key the order of the batches, where that is not by ``keys``.
    """

    rows: np.ndarray
    keys: tuple[Key, ...]
    orders: tuple[Key, ...] = ()


@dataclass(frozen=True)
class Rule:
    """How a group is trained, apart from its data."""

    task: Task
    recipe: Recipe
    n_outputs: int
    dropout: float
    backbone: str
