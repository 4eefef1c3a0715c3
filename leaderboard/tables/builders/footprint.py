"""Computational footprint of a method per training step and prediction, counted with networks that are not trained."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmark.errors import UserError
from benchmark.pipeline import Remedy
from benchmark.registry import discover
from benchmark.train import Mean
from benchmark.train.learner import NetworkLearner
from benchmark.types import PAPER, Inputs, Sample, Task


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


def footprint(method: str, params: Mapping[str, Any], task: Task, learner: str = "") -> Footprint | None:
    """Return the footprint of a method, with the ``learner`` that a cell's key names, if it does.

    It is None if one of them is missing, if the learner trains no networks, if the method takes its own steps, trains
    models of another kind, too, or deploys anything but the networks that it trains.

    >>> footprint("twin", {"lam": 300.0, "members": 2}, "classification")
    Footprint(forwards=4, backwards=1, networks=2, passes=2)
    >>> footprint("random_forest", {}, "classification") is None
    True
    """
    (parts, _), counted = discover(), _Counted()
    cls, other = parts.get(method), parts.get(learner.partition(":")[0])
    if cls is not None and issubclass(cls, NetworkLearner):
        return Footprint(1, 1, 1, 1)
    networks = not learner or (other is not None and issubclass(other, NetworkLearner))
    if cls is None or not issubclass(cls, Remedy) or cls.builds_on or not networks:
        return None
    try:
        model: Any = cls(**params).fit(_smallest(task), counted)
    except (TypeError, ValueError, AttributeError, UserError):  # hyperparameters of another version, or more trainings
        return None
    deployed = model.parts if type(model) is Mean else [model]
    if not all(isinstance(part, _Untrained) for part in deployed):
        return None
    n = sum(k for k, _ in counted.trained)
    coupled = any(coupled and k > 1 for k, coupled in counted.trained)
    return Footprint(*((n**2, 1) if coupled else (n, n)), n, n * getattr(model, "passes", 1))


@dataclass(frozen=True)
class _Untrained:
    """Networks that are only counted."""

    rows: np.ndarray
    passes: int = 1

    def predict(self, inputs: Inputs) -> np.ndarray:
        raise ValueError("a method that asks for predictions while it trains has no footprint")


@dataclass(frozen=True)
class _Counted(NetworkLearner):
    """Networks that are not trained, with their numbers and whether a loss couples them."""

    trained: list[tuple[int, bool]] = field(default_factory=list)

    def train(self, sample: Sample, rows: Any, *, loss: Any = None, step: Any = None, **others: Any) -> Any:
        if step is not None:
            raise ValueError("nobody counts the passes of a method's own step")
        self.trained.append((len(rows), loss is not None))
        return _Untrained(np.asarray(rows))


def _smallest(task: Task) -> Sample:
    """Return sixteen examples of one feature: enough to divide them, though nothing is trained."""
    rows, x = np.arange(16), np.zeros((16, 1), dtype=np.float32)
    y, n_outputs = (rows % 2, 2) if task == "classification" else (np.zeros(16), 1)
    return Sample(1, PAPER, task, n_outputs, x, y, np.full(16, ""), rows, rows)
