"""Stacks of networks, as returned by network methods and trained on the first call to predict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from benchmark.train.group import FINAL, Coupling, Group, Rule
from benchmark.types import Sample

if TYPE_CHECKING:
    from benchmark.train.loop import TrainedStack


def fit_stack(
    sample: Sample,
    rows: np.ndarray,
    *,
    coupling: Coupling | None = None,
    dropout: float = 0.0,
    passes: int = 1,
    average_from: float | None = None,
    initialisation: int | None = None,
    batches: int | None = None,
) -> Stack:
    """Return K networks, trained by the paper's protocol when they are first used; predictions average them.

    ``rows`` (K, N) are the rows of the sample that each network trains on, for example from ``bootstrap``. ``coupling``
    adds a loss between the networks; each then also sees the batches of the others. ``dropout`` is active in training
    and, if ``passes`` > 1, at prediction, which averages that many forward passes. ``average_from`` replaces the final
    weights by their mean over the ends of the epochs after that share of training. ``initialisation`` and ``batches``
    are the seeds of the initial weights and of the batch orders, by default that of the sample. A network's result
    depends on its own rows, seed and member, never on what is trained with it.
    """
    readout = FINAL if average_from is None else average_from
    seed = sample.seed if initialisation is None else initialisation
    order = sample.seed if batches is None else batches
    return Stack(sample, rows, coupling, dropout, passes, readout, seed, order)


@dataclass(frozen=True)
class Stack:
    """The networks of ``fit_stack``. Uncoupled networks are groups of one, which methods can share."""

    sample: Sample
    rows: np.ndarray
    coupling: Coupling | None
    dropout: float
    passes: int
    readout: float
    initialisation: int
    batches: int

    @property
    def rule(self) -> Rule:
        sample = self.sample
        return Rule(sample.task, sample.recipe, sample.n_outputs, self.dropout, sample.backbone)

    def groups(self, places: np.ndarray | None = None) -> list[Group]:
        """Return one group of all K networks if they are coupled, otherwise one for each.

        ``places`` (R,) are the sample's rows in the data to train on, by default the sample itself.
        """
        places = np.arange(len(self.sample)) if places is None else places
        members = list(range(len(self.rows)))
        return [
            Group(
                self.rows[group],
                tuple((self.initialisation, m) for m in group),
                places,
                tuple((self.batches, m) for m in group),
                self.coupling,
            )
            for group in ([members] if self.coupling is not None else [[m] for m in members])
        ]

    def each(self, x: np.ndarray) -> np.ndarray:
        """Return the predictions of each network, (K, T, C) or (K, T, 1)."""
        from benchmark.train.loop import evaluate, one_thread  # PyTorch takes seconds to import

        task, passes = self.sample.task, self.passes
        with one_thread():
            return np.concatenate([evaluate(part.networks[self.readout], task, passes, x) for part in self._trained])

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Return class probabilities (T, C) or targets (T, 1), float32, for features ``x`` (T, D)."""
        return self.each(x).mean(axis=0)

    @cached_property
    def _trained(self) -> list[TrainedStack]:
        from benchmark.train.loop import train

        return list(train(self.sample.x, self.sample.y, self.groups(), self.rule, [self.readout]))
