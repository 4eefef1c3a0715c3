"""Stacks of networks, as returned by network methods and trained on the first call to predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from benchmark.train.group import FINAL, Coupling, Group, Rule
from benchmark.types import Problem

if TYPE_CHECKING:
    from benchmark.train.loop import TrainedStack


def fit_stack(
    problem: Problem,
    rows: np.ndarray,
    seeds: Sequence[int],
    *,
    coupling: Coupling | None = None,
    dropout: float = 0.0,
    passes: int = 1,
    average_from: float | None = None,
    batches: Sequence[int] = (),
) -> Stack:
    """Return S × K networks that their first use trains by the paper's protocol; predictions average the K of a seed.

    ``rows`` (S, K, N) are the training rows of each network, for example from ``bootstrap``. ``coupling`` adds a loss
    between the networks of a seed; each network then also sees the batches of the others. ``dropout`` is active in
    training and, if ``passes`` > 1, at prediction, which averages that many forward passes. ``average_from`` replaces
    the final weights by their mean over the ends of the epochs after that share of training. ``batches`` are the
    seeds of the batch orders, by default ``seeds``. A network's result depends on its own rows and key (seed,
    member), never on what shares its stack.
    """
    readout = FINAL if average_from is None else average_from
    return Stack(problem, rows, tuple(seeds), coupling, dropout, passes, readout, tuple(batches or seeds))


@dataclass(frozen=True)
class Stack:
    """The networks of ``fit_stack``. Uncoupled networks are groups of one, which methods can share."""

    problem: Problem
    rows: np.ndarray
    seeds: tuple[int, ...]
    coupling: Coupling | None
    dropout: float
    passes: int
    readout: float
    batches: tuple[int, ...]

    @property
    def rule(self) -> Rule:
        problem = self.problem
        return Rule(problem.task, problem.recipe, problem.n_outputs, self.dropout, problem.backbone)

    def groups(self) -> list[Group]:
        """Return the networks in the order of seeds and members: groups of K if coupled, otherwise of one."""
        members = list(range(self.rows.shape[1]))
        return [
            Group(rows[group], tuple((seed, m) for m in group), tuple((order, m) for m in group))
            for seed, rows, order in zip(self.seeds, self.rows, self.batches, strict=True)
            for group in ([members] if self.coupling is not None else [[m] for m in members])
        ]

    def by_seed(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        """Arrange the predictions of the groups, (K or 1, T, C) each, by seed and member: (S, K, T, C)."""
        values = np.concatenate(outputs)
        return values.reshape(len(self.seeds), -1, *values.shape[1:])

    def each(self, x: np.ndarray) -> np.ndarray:
        """Return the predictions of each network, (S, K, T, C) or (S, K, T, 1)."""
        from benchmark.train.loop import evaluate, one_thread  # PyTorch takes seconds to import

        task, passes = self.problem.task, self.passes
        with one_thread():
            return self.by_seed([evaluate(part.networks[self.readout], task, passes, x) for part in self._trained])

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Return class probabilities (S, T, C) or targets (S, T, 1), float32, for features ``x`` (T, D)."""
        return self.each(x).mean(axis=1)

    @cached_property
    def _trained(self) -> list[TrainedStack]:
        from benchmark.train.loop import train

        data = self.problem.train
        return list(train(data.x, data.y, self.groups(), self.rule, self.coupling, [self.readout]))
