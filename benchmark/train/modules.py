"""An adapter that lets the training loop train any PyTorch modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmark.train.adamw import optimiser
from benchmark.train.ensemble import Key, OwnStep, TrainedNetwork
from benchmark.train.losses import fit_loss
from benchmark.train.networks import Perceptron
from benchmark.train.resampling import Stream, generator
from benchmark.types import Recipe, Task


class Draws:
    """A context that gives a network PyTorch's global generators of its own; re-entering it resumes them."""

    def __init__(self, stream: Stream, key: Key, device: str) -> None:
        self.seed = int(generator(stream, *key).integers(2**63))
        self.gpus = [torch.cuda.current_device()] if device == "cuda" else []
        self.states: list[Tensor] = []

    def __enter__(self) -> None:
        self.fork = torch.random.fork_rng(devices=self.gpus)
        self.fork.__enter__()
        if not self.states:
            torch.manual_seed(self.seed)
            return
        torch.set_rng_state(self.states[0])
        for gpu, state in zip(self.gpus, self.states[1:], strict=True):
            torch.cuda.set_rng_state(state, gpu)

    def __exit__(self, *error: Any) -> None:
        self.states = [torch.get_rng_state(), *(torch.cuda.get_rng_state(gpu) for gpu in self.gpus)]
        self.fork.__exit__(*error)


class Modules:
    """M modules in training side by side: a single one, or those of an extra loss that couples them."""

    def __init__(
        self,
        keys: Sequence[Key],
        modules: Sequence[nn.Module],
        inputs: Any,
        recipe: Recipe,
        device: str,
        augmented: Callable[[Any], Any],
        schedule: Callable[[float, int], float],
    ) -> None:
        self.keys, self.modules, self.inputs = keys, modules, inputs
        self.recipe, self.device, self.augmented, self.schedule = recipe, device, augmented, schedule
        self.draws = [Draws("dropout", key, device) for key in keys]
        self.views = [Draws("augmentation", keys[0], device) for _ in keys]  # coupled networks see the same views
        self.ended = 0
        self.state = _state(modules)
        self.optimiser = optimiser([p for module in modules for p in module.parameters() if p.requires_grad], recipe)

    def paced(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        """Yield the batches of an epoch, each when the learning rate of its step is set."""
        for number, rows in enumerate(batches):
            for group in self.optimiser.param_groups:
                group["lr"] = self.recipe.lr * self.schedule(self.ended + number / len(batches), self.recipe.epochs)
            yield rows
        self.ended += 1

    def epoch(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        for rows in self.paced(batches):
            self.outputs = torch.stack([self.output(m, batch) for m, batch in enumerate(rows)])
            yield self.outputs

    def output(self, m: int, rows: Tensor, name: str = "forward") -> Tensor:
        """Return what the m-th module, in training, makes of ``rows`` (R,) of the inputs: its outputs (R, C)."""
        with self.views[m]:
            x = self.augmented(self.inputs[rows.cpu().numpy() if isinstance(self.inputs, np.ndarray) else rows])
        with self.draws[m]:
            return getattr(self.modules[m].train(), name)(x)

    def step(self, gradient: Tensor, limit: float) -> None:
        self.outputs.backward(gradient)
        self._step(limit)

    def take(self, own: OwnStep, rows: Tensor, targets: Tensor, task: Task, limit: float) -> None:
        """Take a step of AdamW with the gradient that a remedy's ``own`` step leaves on the modules."""
        own(Batch(self, rows, targets, task))
        self._step(limit)

    def _step(self, limit: float) -> None:
        for module in self.modules:
            nn.utils.clip_grad_norm_(module.parameters(), limit)
        self.optimiser.step()
        self.optimiser.zero_grad()

    def trained(self, state: Sequence[Tensor]) -> list[TrainedModule]:
        values, networks = iter(state), zip(self.keys, self.modules, strict=True)
        each = [TrainedModule(key, module, self.recipe.batch_size, self.device) for key, module in networks]
        return [network.with_state([next(values) for _ in network.state]) for network in each]

    def start_from(self, networks: Sequence[TrainedNetwork]) -> None:
        states = [network.layers if isinstance(network, Perceptron) else network.state for network in networks]
        _copy(self.state, [value for state in states for value in state])


@dataclass(frozen=True)
class TrainedModule:
    """A module that was trained, and predicts batches of ``batch_size`` rows."""

    key: Key
    module: nn.Module
    batch_size: int
    device: str

    @property
    def state(self) -> list[Tensor]:
        return _state([self.module])

    def with_state(self, state: Sequence[Tensor]) -> TrainedModule:
        other = replace(self, module=deepcopy(self.module).eval())
        _copy(other.state, state)
        return other

    @torch.no_grad()
    def passes(self, x: np.ndarray, n: int) -> Tensor:
        batches = [x[i : i + self.batch_size] for i in range(0, len(x), self.batch_size)]

        def read(batch: np.ndarray) -> Any:
            return batch if batch.dtype.kind == "U" else torch.tensor(batch).to(self.device)

        for part in self.module.modules():
            part.train(n > 1 and isinstance(part, nn.Dropout))
        with Draws("dropout at prediction", self.key, self.device):
            return torch.stack([torch.cat([self.module(read(batch)).cpu() for batch in batches]) for _ in range(n)])


@dataclass(frozen=True)
class Batch:
    """A training step of K modules, as seen by a remedy that goes backward itself."""

    networks: Modules
    rows: Tensor
    """(K, B) rows of the sample in the batch of each network."""
    targets: Tensor
    """(K, B) or (K, B, C): what each network learns, as in ``Step``."""
    task: Task

    @property
    def modules(self) -> Sequence[nn.Module]:
        return self.networks.modules

    def called(self, name: str = "forward") -> Tensor:
        """Return what the method ``name`` of each network makes of its own batch, in the graph: outputs (K, B, C)."""
        return torch.stack([self.networks.output(m, rows, name) for m, rows in enumerate(self.rows)])

    def loss(self) -> Tensor:
        """Return the sum of the fit losses of the networks on their own batches."""
        return fit_loss(self.task, self.called(), self.targets).sum()


class SmeLU(nn.Module):
    """The smooth rectifier of Shamir et al. 2020, arXiv:2010.09931: a parabola between −β and β."""

    def __init__(self, beta: float) -> None:
        super().__init__()
        self.beta = beta

    def forward(self, x: Tensor) -> Tensor:
        return (x.clamp(-self.beta, self.beta) + self.beta).square() / (4 * self.beta) + (x - self.beta).clamp(min=0)


def _state(modules: Sequence[nn.Module]) -> list[Tensor]:
    """Return all tensors that training changes: parameters and the statistics of batch norms."""
    return [
        tensor
        for module in modules
        for tensor in (*module.parameters(), *module.buffers())
        if tensor.requires_grad or (tensor.is_floating_point() and not isinstance(tensor, nn.Parameter))
    ]


@torch.no_grad()
def _copy(state: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    for tensor, value in zip(state, values, strict=True):
        tensor.copy_(value)
