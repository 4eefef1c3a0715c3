"""The training loop of all networks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmark.train.device import DEVICES, Device
from benchmark.train.learner import Ensemble, Key, Loss, NetworkLearner, Step, TrainedNetworks, Training, Unit
from benchmark.train.losses import fit_gradient, fit_loss
from benchmark.train.modules import Modules
from benchmark.train.resampling import generator
from benchmark.types import Recipe, Sample, Task

CLIP = 1.0


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit PyTorch to one thread: more threads split sums, and results would depend on the number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass
class Shared:
    """Networks that the methods of a retraining have in common, with the seconds that each took to train."""

    networks: dict[Any, tuple[TrainedNetworks, float]] = field(default_factory=dict)
    inputs: dict[Any, tuple[Any, Any]] = field(default_factory=dict)
    """Prepared inputs of a learner, with the array that they are of, so that no other takes over its place."""
    saved: float = 0.0
    """Seconds that were not spent because networks were there."""


_shared: list[Shared] = []


@contextmanager
def sharing() -> Iterator[Shared]:
    """Train each network once while this is open: ERM, SWA, bagging and deep ensembles have some in common."""
    _shared.append(Shared())
    try:
        yield _shared[-1]
    finally:
        _shared.pop()


def train(learner: NetworkLearner, sample: Sample, rows: np.ndarray, training: Training) -> Ensemble:
    """Train networks as described by ``NetworkLearner.train``.

    The protocol is the paper's: AdamW, clipping per network, last partial batch kept.
    """
    shared, recipe, device = _shared[-1] if _shared else Shared(), learner.settings(sample), DEVICES[sample.device]
    order = sample.seed if sample.batches is None else sample.batches
    keys = [(sample.seed, sample.member + m) for m in range(len(rows))]
    orders = [(order, sample.member + m) for m in range(len(rows))]
    arrays = sample.x, sample.y, sample.smiles, sample.targets
    data = tuple(map(id, arrays))
    names = [
        (learner, data, rows[m].tobytes(), keys[m], orders[m], repr(recipe), sample.device) for m in range(len(rows))
    ]
    known = shared.networks if training == Training() else {}
    missing = [m for m, name in enumerate(names) if name not in known]
    shared.saved += sum(shared.networks[names[m]][1] for m in range(len(rows)) if m not in missing)
    size = len(rows) if training.together else device.networks_per_stack or learner.at_a_time
    with one_thread():
        if (learner, data) not in shared.inputs:
            shared.inputs[learner, data] = learner.prepared(learner.of(sample.inputs), device), arrays
        for i in range(0, len(missing), size):
            some, start = missing[i : i + size], _clock(device)
            part = replace(training, start=tuple(training.start[m] for m in some if training.start))
            of_some = rows[some], [keys[m] for m in some], [orders[m] for m in some]
            networks, ended = _train_group(learner, sample, shared.inputs[learner, data][0], *of_some, recipe, part)
            seconds = (_clock(device) - start) / len(some)
            final = replace(training, each_epoch=None) == Training() and not ended
            for j, m in enumerate(some):
                (shared.networks if final else known)[names[m]] = networks.select(j), seconds
    made = shared.networks | known
    of_units = [rows if training.loss or training.step else own for own in rows]
    units = [Unit.of(torch.from_numpy(sample.y[own])) for own in of_units] if _standardises(sample, recipe) else []
    return Ensemble(learner, [made[name][0] for name in names], units, sample.task, rows)


def _clock(device: Device) -> float:
    """Return a time in seconds: CPU time of this process, or wall time on a GPU."""
    return time.process_time() if device.name == "cpu" else time.perf_counter()


def _standardises(sample: Sample, recipe: Recipe) -> bool:
    return bool(sample.task == "regression" and recipe.standardise)


def _train_group(
    learner: NetworkLearner,
    sample: Sample,
    inputs: Any,
    rows: np.ndarray,
    keys: Sequence[Key],
    orders: Sequence[Key],
    recipe: Recipe,
    training: Training,
) -> tuple[TrainedNetworks, bool]:
    """Train K networks, each on its ``rows`` (K, N); return them, and whether ``each_epoch`` has ended the training."""
    device, task, loss, (k, n) = DEVICES[sample.device], sample.task, training.loss, rows.shape
    known = torch.from_numpy(sample.y if sample.targets is None else sample.targets).to(device.name)
    y = torch.from_numpy(sample.y)
    draws = [generator("batches", *key) for key in orders]
    networks = learner.networks(keys, inputs, recipe, sample.n_outputs, device, training)
    of_units = [rows if loss or training.step else own for own in rows]
    units = [Unit.of(y[torch.from_numpy(own)]) for own in of_units] if _standardises(sample, recipe) else [Unit()] * k
    for epoch in range(recipe.epochs):
        order = np.stack([draw.permutation(n) for draw in draws])
        batches = torch.from_numpy(np.take_along_axis(rows, order, axis=1)).to(device.name).split(recipe.batch_size, 1)
        seen = [batch if loss is None else batch.flatten()[None].expand(k, -1) for batch in batches]

        def wanted(batch: Tensor) -> Tensor:
            targets = known[batch]
            if not _standardises(sample, recipe):
                return targets
            return torch.stack([unit.standardised(own) for unit, own in zip(units, targets, strict=True)])

        if training.step is not None:
            assert isinstance(networks, Modules)
            for batch in batches:
                networks.take(training.step, batch, wanted(batch), task, CLIP)
        else:
            for batch, outputs in zip(batches, networks.epoch(seen), strict=True):
                if loss is None:
                    gradient = fit_gradient(task, outputs, wanted(batch))
                else:
                    gradient = _gradient(loss, outputs, batch, wanted(batch), task, units[0])
                networks.step(gradient, CLIP)
        if training.each_epoch is not None and training.each_epoch(epoch, networks):
            return networks.trained(networks.state), True
    return networks.trained(networks.state), False


def _gradient(loss: Loss, outputs: Tensor, rows: Tensor, targets: Tensor, task: Task, unit: Unit) -> Tensor:
    """Return the gradient (K, K·B, C) of a loss of K networks with respect to their ``outputs``."""
    k, size = rows.shape
    outputs = outputs.detach().requires_grad_()
    each = outputs.reshape(k, k, size, -1)
    fit = fit_loss(task, each.diagonal(dim1=0, dim2=1).movedim(-1, 0), targets)
    return torch.autograd.grad(loss(Step(each, rows, targets, fit, unit)), outputs)[0]


@torch.no_grad()
def evaluate(ensemble: Ensemble, x: Any, passes: int = 1) -> np.ndarray:
    """Return probabilities or targets (K, T, C) of an ensemble's networks for ``x`` (T, …), averaged over passes."""
    with one_thread():
        outputs = [of_one for part in ensemble.parts for of_one in part.passes(x, passes)]
        if ensemble.units:
            outputs = [o * unit.deviation + unit.mean for o, unit in zip(outputs, ensemble.units, strict=True)]
        softmax = ensemble.task == "classification"
        return torch.stack([(o.softmax(-1) if softmax else o).mean(0) for o in outputs]).numpy()
