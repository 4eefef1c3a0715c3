"""The one training loop of every network method: groups of networks, many at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from benchmark.data.spec import Recipe
from benchmark.train.device import CPU, Device
from benchmark.train.losses import fit_loss
from benchmark.train.networks import Dropout, Inputs, StackedMLP
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
    keys: tuple[tuple[int, int], ...]
    orders: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Rule:
    """How a group is trained, apart from its data."""

    task: Task
    recipe: Recipe
    n_outputs: int
    dropout: float


@dataclass(frozen=True)
class Trained:
    """A stack of groups after training: its networks by readout, and the CPU seconds of one group."""

    groups: Sequence[Group]
    networks: dict[float, StackedMLP]
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
    inputs: Inputs,
    y: Tensor,
    groups: Sequence[Group],
    rule: Rule,
    coupling: Coupling | None = None,
    readouts: Sequence[float] = (FINAL,),
    device: Device = CPU,
) -> Iterator[Trained]:
    """Train groups of K networks by the paper's protocol: AdamW, clipping per network, last partial batch kept.

    A network's result depends on its own group alone, never on what shares its stack. Yields stack after stack,
    with networks on the CPU.
    """
    per_stack = max(1, device.networks_per_stack // len(groups[0].keys)) if groups else 1
    inputs, y = inputs.to(device.name), y.to(device.name)
    for i in range(0, len(groups), per_stack):
        some = groups[i : i + per_stack]
        start = _clock(device)
        networks = _train_stack(inputs, y, some, rule, coupling, readouts, device)
        yield Trained(some, networks, (_clock(device) - start) / len(some))


def _clock(device: Device) -> float:
    """Seconds of work: of this process on a CPU, of the wall where a GPU does it."""
    return time.process_time() if device.name == "cpu" else time.perf_counter()


def _train_stack(
    inputs: Inputs,
    y: Tensor,
    groups: Sequence[Group],
    rule: Rule,
    coupling: Coupling | None,
    readouts: Sequence[float],
    device: Device,
) -> dict[float, StackedMLP]:
    """One stack of S × K networks on ``inputs`` (N, D) and ``y`` (N,), both on ``device``, by readout."""
    recipe = rule.recipe
    rows = np.stack([group.rows for group in groups])
    s, k, n = rows.shape
    keys = [key for group in groups for key in group.keys]
    network = StackedMLP(keys, inputs.width, recipe.hidden, rule.n_outputs)
    noise = Dropout(keys, rule.dropout, "dropout")
    orders = [generator("batches", *key) for group in groups for key in group.orders or group.keys]
    first_weights = network.parameters[0]
    network.parameters[0] = first_weights[:, inputs.live]
    network.parameters = [parameter.to(device.name) for parameter in network.parameters]
    for parameter in network.parameters:
        parameter.requires_grad_()
    optimiser = torch.optim.AdamW(network.parameters, lr=recipe.lr, weight_decay=recipe.weight_decay, fused=True)
    means = {share: [torch.zeros_like(p) for p in network.parameters] for share in readouts if share != FINAL}
    averaged = dict.fromkeys(means, 0)
    kept, mean_kept = 1.0, dict.fromkeys(means, 0.0)

    for epoch in range(recipe.epochs):
        order = np.stack([g.permutation(n) for g in orders]).reshape(s, k, n)
        shuffled = torch.from_numpy(np.take_along_axis(rows, order, axis=2)).to(device.name)
        for batch in shuffled.split(recipe.batch_size, dim=2):  # (S, K, B)
            size = batch.shape[2]
            seen = batch if coupling is None else batch.flatten(1)[:, None].expand(s, k, k * size)
            seen = seen.reshape(s * k, -1)
            first = inputs.times(network.parameters[0], seen)
            outputs = network.after(first, noise.masks(seen.shape[1], recipe.hidden, device.name))
            if coupling is None:
                loss = fit_loss(rule.task, outputs.unflatten(0, (s, k)), y[batch]).sum()
            else:
                everything = outputs.reshape(s, k, k, size, -1)
                own = everything.diagonal(dim1=1, dim2=2).movedim(-1, 1)
                fit = fit_loss(rule.task, own, y[batch])
                loss = fit.sum() + coupling(Step(everything, batch, fit)).sum()
            optimiser.zero_grad()
            loss.backward()
            (clip_each if device.to_the_bit else clip_together)(network.parameters, CLIP)
            optimiser.step()
            kept *= 1 - recipe.lr * recipe.weight_decay
        for share, mean in means.items():
            if epoch >= share * recipe.epochs:
                averaged[share] += 1
                mean_kept[share] += (kept - mean_kept[share]) / averaged[share]
                for total, parameter in zip(mean, network.parameters, strict=True):
                    total += (parameter.detach() - total) / averaged[share]

    def whole(parameters: Sequence[Tensor], decay: float) -> StackedMLP:
        weights, *others = (parameter.detach().cpu() for parameter in parameters)
        first = first_weights * decay  # what AdamW does where every gradient is 0
        first[:, inputs.live] = weights
        return network.with_parameters([first, *others])

    final = whole(network.parameters, kept)
    return {s: whole(means[s], mean_kept[s]) if averaged.get(s) else final for s in readouts}


def clip_each(parameters: Sequence[Tensor], limit: float) -> None:
    """Scale the gradient of each network, over all its parameters together, to a norm of at most ``limit``.

    The squares are added parameter by parameter: a reduction over a short axis would round by its length.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    for m in range(len(gradients[0])):
        own = [gradient[m] for gradient in gradients]
        square = sum(float(torch.dot(flat, flat)) for flat in (gradient.flatten() for gradient in own))
        scale = limit / (square**0.5 + 1e-6)
        if scale < 1:
            for gradient in own:
                gradient.mul_(scale)


def clip_together(parameters: Sequence[Tensor], limit: float) -> None:
    """``clip_each`` for all networks at once, up to rounding."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    squares = torch.stack([gradient.flatten(1).square().sum(1) for gradient in gradients]).sum(0)
    scales = (limit / (squares.sqrt() + 1e-6)).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(scales[:, None, None])
