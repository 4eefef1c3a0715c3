"""What a method computes for each training step and each prediction, read from the networks that it describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.registry import discover, trains_networks
from benchmark.types import Examples, Problem, Task


@dataclass(frozen=True)
class Footprint:
    """In units of one network and one batch (paper, compute appendix).

    ``forwards`` and ``backwards`` are per training step; a backward pass of coupled networks is one, through all of
    them. ``networks`` are queried for a prediction, in ``passes`` forward passes together.
    """

    forwards: int
    backwards: int
    networks: int
    passes: int


def footprint(method: str, params: Mapping[str, Any], task: Task) -> Footprint | None:
    """The footprint of a method of ``methods/``; None for one that is not there or trains no stack of networks.

    >>> footprint("twin", {"lam": 300.0, "members": 2}, "classification")
    Footprint(forwards=4, backwards=1, networks=2, passes=2)
    >>> footprint("random_forest", {}, "classification") is None
    True
    """
    from benchmark.train.stack import Stack

    cls = discover()[0].get(method)
    if cls is None or not trains_networks(cls):
        return None
    try:
        stack = cls(**params).fit(_smallest(task), [1])
    except (TypeError, ValueError):  # hyperparameters of another version of the method
        return None
    if not isinstance(stack, Stack):
        return None
    k = stack.rows.shape[1]
    coupled = stack.coupling is not None
    return Footprint(k * k if coupled else k, 1 if coupled else k, k, k * stack.passes)


def _smallest(task: Task) -> Problem:
    """Sixteen examples of one feature: nothing is trained on them, but a bootstrap of them can be divided."""
    y = np.arange(16) % 2 if task == "classification" else np.arange(16, dtype=np.float32)
    rows = Examples(np.zeros((16, 1), dtype=np.float32), y, np.arange(16).astype(str), np.full(16, ""))
    return Problem("smallest", task, 2 if task == "classification" else 1, rows)
