"""Computational footprint of a method per training step and prediction, read from its stack of networks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.registry import discover, trains_networks
from benchmark.types import PAPER, Sample, Task


@dataclass(frozen=True)
class Footprint:
    """Counts in units of one network and one batch (paper, compute appendix).

    ``forwards`` and ``backwards`` are per training step; coupled networks share a single backward pass. A prediction
    queries ``networks`` networks in a total of ``passes`` forward passes.
    """

    forwards: int
    backwards: int
    networks: int
    passes: int


def footprint(method: str, params: Mapping[str, Any], task: Task) -> Footprint | None:
    """Return the footprint of a method in ``methods/``, or None if it is missing or trains no stack of networks.

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
        stack = cls(**params).fit(_smallest(task))
    except (TypeError, ValueError):  # hyperparameters of another version of the method
        return None
    if not isinstance(stack, Stack):
        return None
    k = len(stack.rows)
    coupled = stack.coupling is not None
    return Footprint(k * k if coupled else k, 1 if coupled else k, k, k * stack.passes)


def _smallest(task: Task) -> Sample:
    """Return sixteen examples of one feature: enough to divide them, though nothing is trained."""
    rows, x = np.arange(16), np.zeros((16, 1), dtype=np.float32)
    y, n_outputs = (rows % 2, 2) if task == "classification" else (np.zeros(16), 1)
    return Sample(1, PAPER, task, n_outputs, x, y, np.full(16, ""), rows, rows)
