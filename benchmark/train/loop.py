"""The one training loop of every network method: groups of networks, many at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmark.data.spec import Recipe
from benchmark.train import backbone
from benchmark.train.backbone import Backbone, Key
from benchmark.train.device import CPU, Device
from benchmark.train.losses import fit_loss
from benchmark.train.resampling import generator
from benchmark.types import Task

CLIP = 1.0
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


Coupling = Callable[[Step], Tensor]
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

    @property
    def made_of(self) -> Backbone:
        """What the networks are."""
        return backbone.find(self.backbone)


@dataclass(frozen=True)
class Trained:
    """A stack of groups after training: its networks by readout, and the CPU seconds of one group."""

    groups: Sequence[Group]
    networks: dict[float, backbone.Trained]
    seconds: float


@contextmanager
def one_thread() -> Iterator[None]:
    """A second thread splits sums differently: results would depend on the machine's core count."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def train(
    x: np.ndarray,
    y: np.ndarray,
    groups: Sequence[Group],
    rule: Rule,
    coupling: Coupling | None = None,
    readouts: Sequence[float] = (FINAL,),
    device: Device = CPU,
) -> Iterator[Trained]:
    """Train groups of K networks on ``x`` (N, D) and ``y`` (N,) by the paper's protocol: AdamW, clipping per network,
    last partial batch kept.

    A network's result depends on its own group alone, never on what shares its stack. Yields stack after stack.
    """
    if not groups:
        return
    inputs, target = rule.made_of.inputs(x, device), torch.tensor(y, device=device.name)
    per_stack = max(1, device.networks_per_stack // len(groups[0].keys)) if rule.made_of.stacked else 1
    for i in range(0, len(groups), per_stack):
        some = groups[i : i + per_stack]
        start = _clock(device)
        networks = _train_stack(inputs, target, some, rule, coupling, readouts, device)
        yield Trained(some, networks, (_clock(device) - start) / len(some))


def _clock(device: Device) -> float:
    """Seconds of work: of this process on a CPU, of the wall where a GPU does it."""
    return time.process_time() if device.name == "cpu" else time.perf_counter()


def _train_stack(
    inputs: Any,
    y: Tensor,
    groups: Sequence[Group],
    rule: Rule,
    coupling: Coupling | None,
    readouts: Sequence[float],
    device: Device,
) -> dict[float, backbone.Trained]:
    """One stack of S × K networks, by readout, on ``inputs`` of the backbone and ``y`` (N,), on ``device``."""
    recipe = rule.recipe
    rows = np.stack([group.rows for group in groups])
    s, k, n = rows.shape
    keys = [key for group in groups for key in group.keys]
    orders = [generator("batches", *key) for group in groups for key in group.orders or group.keys]
    networks = rule.made_of.networks(keys, inputs, recipe, rule.n_outputs, rule.dropout, device)
    optimiser = torch.optim.AdamW(networks.parameters, lr=recipe.lr, weight_decay=recipe.weight_decay, fused=True)
    means = {share: [torch.zeros_like(value) for value in networks.state] for share in readouts if share != FINAL}
    averaged = dict.fromkeys(means, 0)

    for epoch in range(recipe.epochs):
        order = np.stack([g.permutation(n) for g in orders]).reshape(s, k, n)
        shuffled = torch.from_numpy(np.take_along_axis(rows, order, axis=2)).to(device.name)
        for batch in shuffled.split(recipe.batch_size, dim=2):  # (S, K, B)
            size = batch.shape[2]
            seen = batch if coupling is None else batch.flatten(1)[:, None].expand(s, k, k * size)
            outputs = networks.outputs(seen.reshape(s * k, -1))
            if coupling is None:
                loss = fit_loss(rule.task, outputs.unflatten(0, (s, k)), y[batch]).sum()
            else:
                everything = outputs.reshape(s, k, k, size, -1)
                own = everything.diagonal(dim1=1, dim2=2).movedim(-1, 1)
                fit = fit_loss(rule.task, own, y[batch])
                loss = fit.sum() + coupling(Step(everything, batch, fit)).sum()
            optimiser.zero_grad()
            loss.backward()
            networks.clip(CLIP)
            optimiser.step()
            networks.stepped()
        for share, mean in means.items():
            if epoch >= share * recipe.epochs:
                averaged[share] += 1
                for total, value in zip(mean, networks.state, strict=True):
                    total += (value.detach() - total) / averaged[share]

    final = networks.trained(networks.state)
    return {share: networks.trained(means[share]) if averaged.get(share) else final for share in readouts}
