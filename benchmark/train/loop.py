"""The training loop of all network methods: groups of networks, many at a time."""

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
from benchmark.train.group import FINAL, Group, Rule, Step
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
    readouts: Sequence[float] = (FINAL,),
    device: Device = CPU,
) -> Iterator[TrainedStack]:
    """Train groups of K networks on ``x`` (N, D) and ``y`` (N,), and yield one stack after another.

    The groups must be alike: as many networks and rows, coupled or not. The protocol is the paper's: AdamW, clipping
    per network, last partial batch kept. A network's result depends on its own group alone, never on what shares its
    stack.
    """
    if not groups:
        return
    inputs, target = find(rule.backbone).inputs(x, device), torch.tensor(y, device=device.name)
    per_stack = max(1, device.networks_per_stack // len(groups[0].keys)) if find(rule.backbone).stacked else 1
    for i in range(0, len(groups), per_stack):
        stack = groups[i : i + per_stack]
        start = _clock(device)
        networks = _train_stack(inputs, target, stack, rule, readouts, device)
        yield TrainedStack(stack, networks, (_clock(device) - start) / len(stack))


def _clock(device: Device) -> float:
    """Return a time in seconds: CPU time of this process, or wall time on a GPU."""
    return time.process_time() if device.name == "cpu" else time.perf_counter()


def _train_stack(
    inputs: Any,
    y: Tensor,
    groups: Sequence[Group],
    rule: Rule,
    readouts: Sequence[float],
    device: Device,
) -> dict[float, TrainedNetworks]:
    """Train one stack of S × K networks on the backbone's ``inputs`` and ``y`` (N,); return them by readout."""
    recipe = rule.recipe
    couplings = [group.coupling for group in groups if group.coupling is not None]
    rows = np.stack([group.data_rows for group in groups])
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
        own = [np.take_along_axis(group.rows, o, axis=1) for group, o in zip(groups, order, strict=True)]
        for start, batch in zip(range(0, n, recipe.batch_size), shuffled.split(recipe.batch_size, dim=2), strict=True):
            size = batch.shape[2]  # the batch is (S, K, B)
            seen = batch if not couplings else batch.flatten(1)[:, None].expand(s, k, k * size)
            outputs = networks.outputs(seen.reshape(s * k, -1))
            if not couplings:
                loss = fit_loss(rule.task, outputs.unflatten(0, (s, k)), y[batch]).sum()
            else:
                loss = torch.zeros((), device=device.name)
                for i, of_group in enumerate(outputs.reshape(s, k, k, size, -1)):
                    fit = fit_loss(rule.task, of_group.diagonal(dim1=0, dim2=1).movedim(-1, 0), y[batch[i]])
                    of_sample = torch.from_numpy(own[i][:, start : start + size]).to(device.name)
                    loss = loss + fit.sum() + couplings[i](Step(of_group, of_sample, fit))
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
