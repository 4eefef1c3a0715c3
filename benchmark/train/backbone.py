"""What the training loop asks of networks, and any PyTorch modules as such networks."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor, nn

import benchmark.backbones
from benchmark.data.spec import Reads, Recipe
from benchmark.errors import UserError, did_you_mean
from benchmark.train.device import Device
from benchmark.train.resampling import Stream, generator

Key = tuple[int, int]
"""Train seed and member of a network."""


class Trained(Protocol):
    """M networks after training, which nothing changes any more."""

    def passes(self, x: np.ndarray, n: int) -> Iterator[Tensor]:
        """For each network in turn, logits or targets (n, T, C) for ``x`` (T, D); if n > 1, each with dropout."""


class Networks(Protocol):
    """M networks in training, on the features that they were made with."""

    @property
    def parameters(self) -> Sequence[Tensor]:
        """What the optimiser changes."""

    @property
    def state(self) -> Sequence[Tensor]:
        """All numbers that training changes, which SWA averages."""

    def outputs(self, rows: Tensor) -> Tensor:
        """Logits or targets (M, R, C), in the graph, for rows (M, R) of the training features."""

    def clip(self, limit: float) -> None:
        """Scale the gradient of each network to a norm of at most ``limit``."""

    def stepped(self) -> None:
        """Told after each step of the optimiser."""

    def trained(self, state: Sequence[Tensor]) -> Trained:
        """A copy of the networks, with this state."""


class Backbone:
    """A kind of network. A file of ``benchmark/backbones`` derives one from it; ``name`` is that of the file."""

    reads: ClassVar[Reads]
    recipe: ClassVar[Recipe]
    """How it is trained unless a dataset says otherwise."""
    extra: ClassVar[str] = ""
    """The extra of this package that has what ``module`` imports."""
    library: ClassVar[str] = ""
    """The distribution whose version is kept with every result."""
    stacked: ClassVar[bool] = False
    """Whether many networks are trained at the cost of fewer."""

    def __init__(self, name: str) -> None:
        self.name = name

    def require(self) -> None:
        """Raises UserError if its library is not installed."""
        if "absent" in self.versions.values():
            raise UserError(
                f"backbone {self.name} needs {self.library}, which is not installed: pip install -e '.[{self.extra}]'"
            )

    def module(self, recipe: Recipe, n_outputs: int, dropout: float) -> nn.Module:
        """A new network from features (B, D) to logits or targets (B, C), random by PyTorch's global generator.

        ``dropout`` is the rate that a method asks for; at 0 the backbone keeps its own.
        """
        raise NotImplementedError

    def augmented(self, x: Tensor) -> Tensor:
        """Training features (B, D) as networks see them in a step, random by PyTorch's global generator.

        Coupled networks see the same views of a batch: what they disagree on is then the molecule or image itself.
        """
        return x

    def weights(self) -> str:
        """Names the weights that training starts from, by their hash; empty if they are drawn. Raises UserError."""
        return ""

    def inputs(self, x: np.ndarray, device: Device) -> Any:
        """Training features (N, D) as ``networks`` takes them."""
        return torch.tensor(x, device=device.name)

    def networks(
        self, keys: Sequence[Key], inputs: Any, recipe: Recipe, n_outputs: int, dropout: float, device: Device
    ) -> Networks:
        """A new network for each key. Raises UserError if a package is missing."""
        modules = []
        try:
            for key in keys:
                with Draws("initialisation", key, device):
                    modules.append(self.module(recipe, n_outputs, dropout).to(device.name))
        except ImportError as error:
            remedy = f": pip install -e '.[{self.extra}]'" if self.extra else ""
            raise UserError(f"backbone {self.name} cannot import {error.name}{remedy}") from error
        return Modules(keys, modules, inputs, recipe.batch_size, device, self.augmented)

    @property
    def versions(self) -> dict[str, str]:
        """Of its library, and of RDKit if that reads molecules for it, by distribution; ``absent`` if it is missing."""
        libraries = [self.library] * bool(self.library) + ["rdkit"] * (self.reads == "smiles")
        return {library: installed(library) for library in libraries}

    @property
    def code(self) -> bytes:
        """The source of the backbone's own file."""
        return Path(inspect.getfile(type(self))).read_bytes()


def installed(library: str) -> str:
    """The version of a distribution, or ``absent``."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"


def names() -> list[str]:
    """The backbones, by the names of their files; those that begin with an underscore are none."""
    found = (module.name for module in pkgutil.iter_modules(benchmark.backbones.__path__))
    return sorted(name for name in found if not name.startswith("_"))


@cache
def find(name: str) -> Backbone:
    """The backbone called ``name``. Raises UserError for an unknown one, and for a file that has none."""
    if name not in names():
        raise did_you_mean("backbone", name, names())
    try:
        module = importlib.import_module(f"benchmark.backbones.{name}")
    except (Exception, SystemExit) as error:
        raise UserError(
            f"benchmark/backbones/{name}.py: cannot be imported: {type(error).__name__}: {error}; libraries that not "
            "everybody has are imported inside module"
        ) from error
    kinds = [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Backbone) and kind.__module__ == module.__name__
    ]
    if len(kinds) != 1:
        raise UserError(
            f"benchmark/backbones/{name}.py: expected one class that derives from Backbone, has {len(kinds)}"
        )
    return kinds[0](name)


class Draws:
    """A context in which PyTorch's global generators are one network's own; entered again, they go on."""

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
    """M modules, one alone or those of one coupling: trained one beside the other, predicting one after the other."""

    def __init__(
        self,
        keys: Sequence[Key],
        modules: Sequence[nn.Module],
        inputs: Tensor,
        batch_size: int,
        device: Device,
        augmented: Callable[[Tensor], Tensor],
    ) -> None:
        self.keys, self.modules, self.inputs = keys, modules, inputs
        self.batch_size, self.device, self.augmented = batch_size, device, augmented
        self.draws = [Draws("dropout", key, device) for key in keys]
        self.views = [Draws("augmentation", keys[0], device) for _ in keys]  # coupled networks have the same rows
        self.parameters = [p for module in modules for p in module.parameters() if p.requires_grad]
        self.state = _state(modules)

    def outputs(self, rows: Tensor) -> Tensor:
        outputs = []
        for module, draws, views, own in zip(self.modules, self.draws, self.views, rows, strict=True):
            with views:
                x = self.augmented(self.inputs[own])
            with draws:
                outputs.append(module.train()(x))
        return torch.stack(outputs)

    def clip(self, limit: float) -> None:
        for module in self.modules:
            nn.utils.clip_grad_norm_(module.parameters(), limit)

    def stepped(self) -> None:
        pass

    @torch.no_grad()
    def trained(self, state: Sequence[Tensor]) -> Modules:
        copies = [deepcopy(module).eval() for module in self.modules]
        for own, value in zip(_state(copies), state, strict=True):
            own.copy_(value)
        return Modules(self.keys, copies, self.inputs[:0], self.batch_size, self.device, self.augmented)

    @torch.no_grad()
    def passes(self, x: np.ndarray, n: int) -> Iterator[Tensor]:
        batches = torch.tensor(x).split(self.batch_size)
        for key, module in zip(self.keys, self.modules, strict=True):
            for part in module.modules():
                part.train(n > 1 and isinstance(part, nn.Dropout))
            with Draws("dropout at prediction", key, self.device):
                once = [[module(batch.to(self.device.name)).cpu() for batch in batches] for _ in range(n)]
            yield torch.stack([torch.cat(outputs) for outputs in once])


def _state(modules: Sequence[nn.Module]) -> list[Tensor]:
    """Parameters, and what else changes in training: the statistics of batch norms."""
    return [
        tensor
        for module in modules
        for tensor in (*module.parameters(), *module.buffers())
        if tensor.requires_grad or (tensor.is_floating_point() and not isinstance(tensor, nn.Parameter))
    ]
