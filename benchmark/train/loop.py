"""The training loop of all networks."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from benchmark.train.device import one_thread, repeatable, without_denormals
from benchmark.train.ensemble import Ensemble, Epoch, Loss, Networks, Step, TargetScaler, TrainedNetwork, Training
from benchmark.train.losses import fit_gradient, fit_loss
from benchmark.train.modules import Modules
from benchmark.train.resampling import generator
from benchmark.types import Recipe, Sample, Task

CLIP = 1.0
T = TypeVar("T")


@dataclass
class Shared:
    """Networks that the methods of a retraining have in common, with the seconds that each took to train."""

    networks: dict[Any, tuple[TrainedNetwork, float]] = field(default_factory=dict)
    inputs: dict[Any, tuple[Any, Any]] = field(default_factory=dict)
    """Prepared inputs of a learner, with the array that they are of, so that no other takes over its place."""
    results: dict[Any, tuple[Any, float]] = field(default_factory=dict)
    """Results of ``once``, with the seconds that each took."""
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


@contextmanager
def sharing_nothing() -> Iterator[None]:
    """Train each network anew while this is open: arrays that a user's code changes in place keep their identity."""
    kept, _shared[:] = _shared[:], []
    try:
        yield
    finally:
        _shared[:] = kept


def once(name: Any, make: Callable[[], T]) -> T:
    """Return ``make()``, which is called once for each ``name`` while ``sharing`` is open, and charged each time."""
    shared = _shared[-1] if _shared else Shared()
    if name in shared.results:
        result, seconds = shared.results[name]
        shared.saved += seconds
    else:
        start = time.process_time() + shared.saved
        result = make()
        shared.results[name] = result, time.process_time() + shared.saved - start
    return cast("T", result)


def train(learner: Any, sample: Sample, rows: np.ndarray, training: Training) -> Ensemble:
    """Train networks as described by ``NetworkLearner.train``.

    The protocol is the paper's: AdamW, clipping per network, last partial batch kept.
    """
    shared, recipe, device = _shared[-1] if _shared else Shared(), learner.settings(sample), sample.device
    keys = [(sample.seed, sample.member + m) for m in range(len(rows))]
    order = sample.seed if sample.batches is None else sample.batches
    arrays = sample.x, sample.y, sample.smiles, sample.targets
    data = learner, tuple(map(id, arrays)), repr(recipe), sample.device
    names = [(*data, key, order, own.tobytes()) for key, own in zip(keys, rows, strict=True)]
    units = []
    if recipe.standardise and sample.task == "regression":  # coupled networks have one unit in common
        learned = [rows] * len(rows) if training.loss or training.step else rows
        units = [TargetScaler.of(torch.from_numpy(sample.y[own])) for own in learned]
    whole = Ensemble(learner, [], units, sample.task, rows)
    known = shared.networks if training == Training() else {}
    trained = {m: known[name] for m, name in enumerate(names) if name in known}
    missing = [m for m in range(len(rows)) if m not in trained]
    shared.saved += sum(seconds for _, seconds in trained.values())
    with one_thread(), without_denormals(), repeatable(device):
        if data not in shared.inputs:
            shared.inputs[data] = learner.prepared(learner.of(sample.inputs), device), arrays
        together = (training.loss or training.step or training.each_epoch) is not None
        for some in [missing] if together else [[m] for m in missing]:
            start, about = _clock(device), ([keys[m] for m in some], shared.inputs[data][0], recipe, sample.n_outputs)
            networks = learner.networks(*about, device, training)
            if training.start:
                networks.start_from([training.start[m] for m in some])
            part = replace(whole, rows=rows[some], units=[units[m] for m in some] if units else [])
            draws = [generator("batches", order, sample.member + m) for m in some]
            ended = _train_together(networks, part, sample, recipe, draws, training)
            made, seconds = networks.trained(networks.state), (_clock(device) - start) / len(some)
            trained |= {m: (network, seconds) for m, network in zip(some, made, strict=True)}
            if replace(training, each_epoch=None) == Training() and not ended:
                shared.networks |= {names[m]: trained[m] for m in some}
    return whole.using(*(trained[m][0] for m in range(len(rows))))


def _clock(device: str) -> float:
    """Return a time in seconds: CPU time of this process, or wall time on a GPU."""
    return time.process_time() if device == "cpu" else time.perf_counter()


def _train_together(
    networks: Networks,
    ensemble: Ensemble,
    sample: Sample,
    recipe: Recipe,
    draws: Sequence[np.random.Generator],
    training: Training,
) -> bool:
    """Train the K networks of an ensemble side by side; return whether ``each_epoch`` has ended the training."""
    task, rows, units, device = sample.task, ensemble.rows, ensemble.units, sample.device
    known = torch.from_numpy(sample.y if sample.targets is None else sample.targets).to(device)
    if task == "classification" and sample.targets is None and training.loss is None and training.step is None:
        known = one_hot(known, sample.n_outputs)  # as ``fit_gradient`` takes them

    def wanted(batch: Tensor) -> Tensor:
        """Return what each network learns on its own batch: ``batch`` (K, B) → (K, B), or (K, B, C)."""
        if not units:
            return known[batch]
        return torch.stack([unit.standardised(own) for unit, own in zip(units, known[batch], strict=True)])

    for number in range(recipe.epochs):
        order = np.stack([draw.permutation(rows.shape[1]) for draw in draws])
        batches = torch.from_numpy(np.take_along_axis(rows, order, axis=1)).to(device).split(recipe.batch_size, 1)
        if training.step is not None:
            assert isinstance(networks, Modules)
            for batch in networks.paced(batches):
                networks.take(training.step, batch, wanted(batch), task, CLIP)
        else:
            loss = training.loss
            seen = batches if loss is None else [batch.flatten()[None].expand(len(rows), -1) for batch in batches]
            for batch, outputs in zip(batches, networks.epoch(seen), strict=True):
                if loss is None:
                    gradient = fit_gradient(task, outputs, wanted(batch))
                else:
                    gradient = _gradient(loss, outputs, batch, wanted(batch), task, units)
                networks.step(gradient, CLIP)
        if training.each_epoch is not None and training.each_epoch(Epoch(number, networks, ensemble)):
            return True
    return False


def _gradient(
    loss: Loss, outputs: Tensor, rows: Tensor, targets: Tensor, task: Task, units: Sequence[TargetScaler]
) -> Tensor:
    """Return the gradient (K, K·B, C) of a loss of K networks with respect to their ``outputs``."""
    k, size = rows.shape
    outputs = outputs.detach().requires_grad_()
    each = outputs.reshape(k, k, size, -1)
    fit = fit_loss(task, each.diagonal(dim1=0, dim2=1).movedim(-1, 0), targets)
    return torch.autograd.grad(loss(Step(each, rows, targets, fit, next(iter(units), TargetScaler()))), outputs)[0]
