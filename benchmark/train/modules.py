"""An adapter that lets the training loop train any PyTorch modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmark.train.adamw import optimiser
from benchmark.train.device import Device
from benchmark.train.group import Key
from benchmark.train.resampling import Stream, generator
from benchmark.types import Recipe


class Draws:
    """A context that gives a network PyTorch's global generators of its own; re-entering it resumes them."""

    def __init__(self, stream: Stream, key: Key, device: Device) -> None:
        self.seed = int(generator(stream, *key).integers(2**63))
        self.gpus = [torch.cuda.current_device()] if device.name == "cuda" else []
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
    """M modules, a single one or those of one coupling, which train side by side and predict one after another."""

    def __init__(
        self,
        keys: Sequence[Key],
        modules: Sequence[nn.Module],
        inputs: Tensor,
        recipe: Recipe,
        device: Device,
        augmented: Callable[[Tensor], Tensor],
    ) -> None:
        self.keys, self.modules, self.inputs = keys, modules, inputs
        self.recipe, self.device, self.augmented = recipe, device, augmented
        self.draws = [Draws("dropout", key, device) for key in keys]
        self.views = [Draws("augmentation", keys[0], device) for _ in keys]  # coupled networks see the same views
        self.state = _state(modules)
        self.optimiser = optimiser([p for module in modules for p in module.parameters() if p.requires_grad], recipe)

    def epoch(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        for rows in batches:
            self.outputs = self._outputs(rows)
            yield self.outputs

    def _outputs(self, rows: Tensor) -> Tensor:
        outputs = []
        for module, draws, views, batch in zip(self.modules, self.draws, self.views, rows, strict=True):
            with views:
                x = self.augmented(self.inputs[batch])
            with draws:
                outputs.append(module.train()(x))
        return torch.stack(outputs)

    def step(self, gradient: Tensor, limit: float) -> None:
        self.outputs.backward(gradient)
        for module in self.modules:
            nn.utils.clip_grad_norm_(module.parameters(), limit)
        self.optimiser.step()
        self.optimiser.zero_grad()

    @torch.no_grad()
    def trained(self, state: Sequence[Tensor]) -> Modules:
        copies = [deepcopy(module).eval() for module in self.modules]
        for tensor, value in zip(_state(copies), state, strict=True):
            tensor.copy_(value)
        return Modules(self.keys, copies, self.inputs[:0], self.recipe, self.device, self.augmented)

    @torch.no_grad()
    def passes(self, x: np.ndarray, n: int) -> Iterator[Tensor]:
        batches = torch.tensor(x).split(self.recipe.batch_size)
        for key, module in zip(self.keys, self.modules, strict=True):
            for part in module.modules():
                part.train(n > 1 and isinstance(part, nn.Dropout))
            with Draws("dropout at prediction", key, self.device):
                passes = [torch.cat([module(batch.to(self.device.name)).cpu() for batch in batches]) for _ in range(n)]
            yield torch.stack(passes)


def _state(modules: Sequence[nn.Module]) -> list[Tensor]:
    """Return all tensors that training changes: parameters and the statistics of batch norms."""
    return [
        tensor
        for module in modules
        for tensor in (*module.parameters(), *module.buffers())
        if tensor.requires_grad or (tensor.is_floating_point() and not isinstance(tensor, nn.Parameter))
    ]
