"""The training loop of all network methods: groups of networks, many at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmark.train.backbone import TrainedNetworks, find
from benchmark.train.device import CPU, Device
from benchmark.train.group import FINAL, Coupling, Group, Rule, Step
from benchmark.train.losses import fit_loss
from benchmark.train.resampling import generator
from benchmark.types import Task

CLIP = 1.0


@dataclass(frozen=True)
class TrainedStack:
    """A trained stack of groups: its networks by readout, and the CPU seconds per group."""

    groups: Sequence[Group]
    networks: dict[float, TrainedNetworks]
    seconds: float


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit PyTorch to one thread: more threads split sums, and results would depend on the number of cores."""
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
) -> Iterator[TrainedStack]:
    """Train groups of K networks on ``x`` (N, D) and ``y`` (N,), and yield one stack after another.

    The protocol is the paper's: AdamW, clipping per network, last partial batch kept. A network's result depends on
    its own group alone, never on what shares its stack.
    """
    if not groups:
        return
    inputs, target = find(rule.backbone).inputs(x, device), torch.tensor(y, device=device.name)
    per_stack = max(1, device.networks_per_stack // len(groups[0].keys)) if find(rule.backbone).stacked else 1
    for i in range(0, len(groups), per_stack):
        stack = groups[i : i + per_stack]
        start = _clock(device)
        networks = _train_stack(inputs, target, stack, rule, coupling, readouts, device)
        yield TrainedStack(stack, networks, (_clock(device) - start) / len(stack))


def _clock(device: Device) -> float:
    """Return a time in seconds: CPU time of this process, or wall time on a GPU."""
    return time.process_time() if device.name == "cpu" else time.perf_counter()


def _train_stack(
    inputs: Any,
    y: Tensor,
    groups: Sequence[Group],
    rule: Rule,
    coupling: Coupling | None,
    readouts: Sequence[float],
    device: Device,
) -> dict[float, TrainedNetworks]:
    """Train one stack of S × K networks on the backbone's ``inputs`` and ``y`` (N,); return them by readout."""
    recipe = rule.recipe
    rows = np.stack([group.rows for group in groups])
    s, k, n = rows.shape
    keys = [key for group in groups for key in group.keys]
    orders = [generator("batches", *key) for group in groups for key in group.orders or group.keys]
    networks = find(rule.backbone).networks(keys, inputs, recipe, rule.n_outputs, rule.dropout, device)
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


@torch.no_grad()
def evaluate(networks: TrainedNetworks, task: Task, passes: int, x: np.ndarray) -> np.ndarray:
    """Return probabilities or targets (M, T, C) of M networks for ``x`` (T, D), averaged over passes."""
    outputs = networks.passes(x, passes)
    return torch.stack([(o.softmax(-1) if task == "classification" else o).mean(0) for o in outputs]).numpy()
