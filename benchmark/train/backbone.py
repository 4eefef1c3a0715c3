"""What the training loop asks of networks, and the kinds of networks there are."""

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

    def trained(self, state: Sequence[Tensor]) -> TrainedNetworks:
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
            raise UserError(f"backbone {self.name} needs {self.library}, which is not installed: {install(self.extra)}")

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
        import torch

        return torch.tensor(x, device=device.name)

    def networks(
        self, keys: Sequence[Key], inputs: Any, recipe: Recipe, n_outputs: int, dropout: float, device: Device
    ) -> Networks:
        """A new network for each key. Raises UserError if a package is missing."""
        from benchmark.train.modules import Draws, Modules  # PyTorch takes seconds to import

        modules = []
        try:
            for key in keys:
                with Draws("initialisation", key, device):
                    modules.append(self.module(recipe, n_outputs, dropout).to(device.name))
        except ImportError as error:
            remedy = f": {install(self.extra)}" if self.extra else ""
            raise UserError(f"backbone {self.name} cannot import {error.name}{remedy}") from error
        return Modules(keys, modules, inputs, recipe.batch_size, device, self.augmented)

    @property
    def versions(self) -> dict[str, str]:
        """Of its library, and of RDKit if that reads molecules for it, by distribution; ``absent`` if it is missing."""
        libraries = [self.library] * bool(self.library) + ["rdkit"] * (self.reads == "smiles")
        return {library: installed(library) for library in libraries}


def installed(library: str) -> str:
    """The version of a distribution, or ``absent``."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"


def names() -> list[str]:
    """The backbones, by the names of their files; those that begin with an underscore are none."""
    folder = importlib.import_module("benchmark.backbones").__path__
    return sorted(module.name for module in pkgutil.iter_modules(folder) if not module.name.startswith("_"))


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
