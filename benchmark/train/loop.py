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
from benchmark.train.group import FINAL, Coupling, Group, Rule, Step, Unit
from benchmark.train.losses import fit_gradient, fit_loss
from benchmark.train.resampling import generator
from benchmark.types import Task

CLIP = 1.0


@dataclass(frozen=True)
class TrainedStack:
    """A trained stack of groups: its networks by readout, and the CPU seconds per group."""

    groups: Sequence[Group]
    networks: dict[float, TrainedNetworks]
    seconds: float


@dataclass(frozen=True)
class InUnits:
    """M networks that learned standardised targets, with predictions in the ``units`` (M) of the targets."""

    networks: TrainedNetworks
    units: Sequence[Unit]

    def passes(self, x: np.ndarray, n: int) -> Iterator[Tensor]:
        for outputs, unit in zip(self.networks.passes(x, n), self.units, strict=True):
            yield outputs * unit.deviation + unit.mean


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
    backbone = find(rule.backbone)
    inputs, target = backbone.inputs(x, device), torch.tensor(y, device=device.name)
    networks = (device.networks_per_stack or backbone.stack) if backbone.stacked else 1
    per_stack = max(1, networks // len(groups[0].keys))
    for i in range(0, len(groups), per_stack):
        stack = groups[i : i + per_stack]
        start = _clock(device)
        trained = _train_stack(inputs, target, stack, rule, readouts, device)
        yield TrainedStack(stack, trained, (_clock(device) - start) / len(stack))


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
    standardise = bool(rule.task == "regression" and recipe.standardise)
    units = [Unit.of(y[of_group]) for of_group in torch.from_numpy(rows).to(device.name)] if standardise else []
    means: dict[float, list[Tensor]] = {}
    averaged = dict.fromkeys(readouts, 0)

    for epoch in range(recipe.epochs):
        order = np.stack([g.permutation(n) for g in orders]).reshape(s, k, n)
        shuffled = torch.from_numpy(np.take_along_axis(rows, order, axis=2)).to(device.name)
        own = [np.take_along_axis(group.rows, o, axis=1) for group, o in zip(groups, order, strict=True)]
        batches = shuffled.split(recipe.batch_size, dim=2)  # each (S, K, B)
        seen = [batch if not couplings else batch.flatten(1)[:, None].expand(s, k, -1) for batch in batches]
        outputs_of = networks.epoch([rows.reshape(s * k, -1) for rows in seen])
        for start, batch, outputs in zip(range(0, n, recipe.batch_size), batches, outputs_of, strict=True):
            wanted = y[batch]
            if units:
                wanted = torch.stack([unit.standardised(of) for unit, of in zip(units, wanted, strict=True)])
            if couplings:
                own_rows = [torch.from_numpy(of_sample[:, start : start + batch.shape[2]]) for of_sample in own]
                gradient = _coupled_gradient(outputs, wanted, own_rows, couplings, rule, units)
            else:
                gradient = fit_gradient(rule.task, outputs, wanted.flatten(0, 1))
            networks.step(gradient, CLIP)
        for share in readouts:
            if share != FINAL and epoch >= share * recipe.epochs:
                averaged[share] += 1
                mean = means.setdefault(share, [torch.zeros_like(value) for value in networks.state])
                for total, value in zip(mean, networks.state, strict=True):
                    total += (value.detach() - total) / averaged[share]

    of_networks = [unit for unit in units for _ in range(k)]

    def trained(state: Sequence[Tensor]) -> TrainedNetworks:
        return InUnits(networks.trained(state), of_networks) if units else networks.trained(state)

    final = trained(networks.state)
    return {share: trained(means[share]) if share in means else final for share in readouts}


def _coupled_gradient(
    outputs: Tensor,
    y: Tensor,
    rows: Sequence[Tensor],
    couplings: Sequence[Coupling],
    rule: Rule,
    units: Sequence[Unit],
) -> Tensor:
    """Return the gradient (S·K, K·B, C) of the loss of S groups of K networks, with respect to their ``outputs``.

    ``y`` (S, K, B) is what each network learns on its own batch, in ``units`` (S) if it is standardised, and ``rows``
    are S tensors (K, B) of its rows of the sample.
    """
    s, k, size = y.shape
    outputs = outputs.detach().requires_grad_()
    loss = torch.zeros((), device=outputs.device)
    for i, of_group in enumerate(outputs.reshape(s, k, k, size, -1)):
        fit = fit_loss(rule.task, of_group.diagonal(dim1=0, dim2=1).movedim(-1, 0), y[i])
        unit = units[i] if units else Unit()
        loss = loss + fit.sum() + couplings[i](Step(of_group, rows[i].to(outputs.device), fit, unit))
    return torch.autograd.grad(loss, outputs)[0]


@torch.no_grad()
def evaluate(networks: TrainedNetworks, task: Task, passes: int, x: np.ndarray) -> np.ndarray:
    """Return probabilities or targets (M, T, C) of M networks for ``x`` (T, D), averaged over passes."""
    outputs = networks.passes(x, passes)
    return torch.stack([(o.softmax(-1) if task == "classification" else o).mean(0) for o in outputs]).numpy()
