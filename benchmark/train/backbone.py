"""The interface between networks and the training loop, and the registry of backbones."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from benchmark.errors import UserError, did_you_mean
from benchmark.files import install
from benchmark.train.device import Device
from benchmark.train.group import Key
from benchmark.types import Reads, Recipe

if TYPE_CHECKING:
    from torch import Tensor, nn


class TrainedNetworks(Protocol):
    """M trained networks, immutable from now on."""

    def passes(self, x: np.ndarray, n: int) -> Iterator[Tensor]:
        """Yield logits or targets (n, T, C) of each network for ``x`` (T, D); n > 1 passes use dropout."""


class Networks(Protocol):
    """M networks in training, on the features they were created with."""

    @property
    def state(self) -> Sequence[Tensor]:
        """All tensors that training changes, as averaged by SWA; read between epochs."""

    def epoch(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        """Yield logits or targets (M, R, C) for each batch of rows (M, R) of the training features.

        The caller takes a ``step`` before the next batch. All epochs have the same rows, in any order.
        """

    def step(self, gradient: Tensor, limit: float) -> None:
        """Take a step of AdamW for the gradient (M, R, C) of a loss with respect to the last outputs.

        The gradient of the weights of each network is scaled to a norm of at most ``limit``.
        """

    def trained(self, state: Sequence[Tensor]) -> TrainedNetworks:
        """Return a copy of the networks with the given state."""


class Backbone:
    """Base class of network architectures: one subclass per file of ``benchmark/backbones``, named after the file."""

    reads: ClassVar[Reads]
    revision: ClassVar[int] = 1
    """Raised when its predictions change."""
    recipe: ClassVar[Recipe]
    """Training settings, which a dataset can override."""
    extra: ClassVar[str] = ""
    """The extra of this package that installs the imports of ``module``."""
    library: ClassVar[str] = ""
    """The distribution whose version is recorded with every result."""
    stacked: ClassVar[bool] = False
    """Networks can be trained many at a time."""
    stack: ClassVar[int] = 1
    """How many are trained at a time on a CPU."""

    def __init__(self, name: str) -> None:
        self.name = name

    def require(self) -> None:
        """Raise UserError if the library is not installed."""
        if "absent" in self.versions.values():
            raise UserError(f"backbone {self.name} needs {self.library}, which is not installed: {install(self.extra)}")

    def module(self, recipe: Recipe, n_outputs: int, dropout: float) -> nn.Module:
        """Return a new network from features (B, D) to logits or targets (B, C).

        Draw initial weights from PyTorch's global generator. ``dropout`` is the rate requested by the method; at 0
        the backbone keeps its default.
        """
        raise NotImplementedError

    def augmented(self, x: Tensor) -> Tensor:
        """Return a random view of training features (B, D), drawn from PyTorch's global generator.

        Coupled networks see the same views of a batch, so they disagree about the molecule or image itself.
        """
        return x

    def weights(self) -> str:
        """Return the hash of the pretrained weights, if any. Raises UserError if they are missing."""
        return ""

    def inputs(self, x: np.ndarray, device: Device) -> Any:
        """Convert training features (N, D) to the input of ``networks``."""
        import torch

        return torch.tensor(x, device=device.name)

    def networks(
        self, keys: Sequence[Key], inputs: Any, recipe: Recipe, n_outputs: int, dropout: float, device: Device
    ) -> Networks:
        """Return one new network per key. Raises UserError if a package is missing."""
        from benchmark.train.modules import Draws, Modules  # PyTorch takes seconds to import

        modules = []
        try:
            for key in keys:
                with Draws("initialisation", key, device):
                    modules.append(self.module(recipe, n_outputs, dropout).to(device.name))
        except ImportError as error:
            remedy = f": {install(self.extra)}" if self.extra else ""
            raise UserError(f"backbone {self.name} cannot import {error.name}{remedy}") from error
        return Modules(keys, modules, inputs, recipe, device, self.augmented)

    @property
    def versions(self) -> dict[str, str]:
        """Versions of its library, and of RDKit if it reads SMILES, by distribution; ``absent`` if not installed."""
        libraries = (self.library, "rdkit" if self.reads == "smiles" else "")
        return {library: installed(library) for library in libraries if library}


def installed(library: str) -> str:
    """Return the version of a distribution, or ``absent``."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"


def names() -> list[str]:
    """Return the names of all backbones: the files of their folder without a leading underscore."""
    folder = importlib.import_module("benchmark.backbones").__path__
    return sorted(module.name for module in pkgutil.iter_modules(folder) if not module.name.startswith("_"))


@cache
def find(name: str) -> Backbone:
    """Return the backbone called ``name``. Raises UserError if it is unknown or its file does not define one."""
    if name not in names():
        raise did_you_mean("backbone", name, names())
    try:
        module = importlib.import_module(f"benchmark.backbones.{name}")
    except (Exception, SystemExit) as error:
        raise UserError(
            f"benchmark/backbones/{name}.py: cannot be imported: {type(error).__name__}: {error}; import optional "
            "libraries inside module"
        ) from error
    kinds = [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Backbone) and kind.__module__ == module.__name__
    ]
    if len(kinds) != 1:
        raise UserError(f"benchmark/backbones/{name}.py: expected one subclass of Backbone, found {len(kinds)}")
    return kinds[0](name)
