"""Descriptions of networks to be trained: groups of networks, their training rule and their coupling."""

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
"""The readout that keeps the final weights. Any other readout is a share of training, after which the weights at the
ends of the epochs are averaged."""


@dataclass(frozen=True)
class Step:
    """One training step of S seeds × K networks, as seen by a coupling."""

    outputs: Tensor
    """(S, K, K, B, C): outputs of each network on each network's batch. The rest of the graph follows from them."""
    rows: Tensor
    """(S, K, B) int64: rows of the training pool in each network's batch."""
    fit: Tensor
    """(S, K): loss of each network on its own batch, in the graph."""


Coupling = Callable[[Step], "Tensor"]
"""A loss term per train seed, (S,), that ties its K ≥ 1 networks to each other or to something else."""


@dataclass(frozen=True)
class Group:
    """K networks trained together, with their training rows (K, N) and the seed and member of each as its key.

    ``orders`` are the keys of the batch orders if they differ from ``keys``.
    """

    rows: np.ndarray
    keys: tuple[Key, ...]
    orders: tuple[Key, ...] = ()


@dataclass(frozen=True)
class Rule:
    """Training settings of a group, apart from its data."""

    task: Task
    recipe: Recipe
    n_outputs: int
    dropout: float
    backbone: str
