"""Learners that are networks, and the models that they train."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass as checked

from benchmark.errors import UserError
from benchmark.pipeline import Learner, Need
from benchmark.types import Inputs, Recipe, Sample, Task

if TYPE_CHECKING:  # PyTorch takes seconds to import: methods are listed without it
    from torch import Tensor, nn

    from benchmark.train.device import Device
    from benchmark.train.modules import Batch

Key = tuple[int, int]
"""Train seed and member of a network."""


class Unit(NamedTuple):
    """Mean and standard deviation of the targets that networks are trained on."""

    mean: float = 0.0
    deviation: float = 1.0

    @classmethod
    def of(cls, y: Tensor) -> Unit:
        """Return the unit of training targets of any shape; the deviation is 1 if they are all equal."""
        return cls(float(y.mean()), float(y.std(correction=0)) or 1.0)

    def standardised(self, y: Tensor) -> Tensor:
        return (y - self.mean) / self.deviation


@dataclass(frozen=True)
class Step:
    """One training step of the K networks of a retraining, as seen by a loss of their outputs."""

    outputs: Tensor
    """(K, K, B, C): outputs of each network on each network's batch. The rest of the graph follows from them."""
    rows: Tensor
    """(K, B) int64: rows of the sample in each network's batch."""
    targets: Tensor
    """(K, B) what each network learns on its own batch, standardised if ``unit`` says so; (K, B, C) if the sample has
    ``targets``."""
    fit: Tensor
    """(K,): loss of each network on its own batch, in the graph."""
    unit: Unit
    """Mean and standard deviation of the targets that the networks learn standardised; 0 and 1 if they do not."""


Loss = Callable[[Step], "Tensor"]
"""The scalar loss of a step of K ≥ 1 networks, a function of their outputs."""
OwnStep = Callable[["Batch"], None]
"""Goes backward through the networks of a batch itself, as often as it likes; the optimiser's step follows."""
EachEpoch = Callable[[int, "Networks"], "bool | None"]
"""Called with the number of an epoch that has ended, and the networks; True ends the training."""


class TrainedNetworks(Protocol):
    """M trained networks, immutable from now on."""

    @property
    def state(self) -> Sequence[Tensor]:
        """All their weights."""

    def with_state(self, state: Sequence[Tensor]) -> TrainedNetworks:
        """Return the same networks with other weights."""

    def select(self, m: int) -> TrainedNetworks:
        """Return the m-th network alone."""

    def passes(self, x: Any, n: int) -> Iterator[Tensor]:
        """Yield logits or targets (n, T, C) of each network for inputs ``x`` (T, …); n > 1 passes use dropout."""


class Networks(Protocol):
    """M networks in training, on the inputs they were created with."""

    @property
    def state(self) -> Sequence[Tensor]:
        """All tensors that training changes; read between epochs."""

    def epoch(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        """Yield logits or targets (M, R, C) for each batch of rows (M, R) of the training inputs.

        The caller takes a ``step`` before the next batch. All epochs have the same rows, in any order.
        """

    def step(self, gradient: Tensor, limit: float) -> None:
        """Take a step of AdamW for the gradient (M, R, C) of a loss with respect to the last outputs.

        The gradient of the weights of each network is scaled to a norm of at most ``limit``.
        """

    def trained(self, state: Sequence[Tensor]) -> TrainedNetworks:
        """Return a copy of the networks with the given state."""


@dataclass(frozen=True)
class Training:
    """What differs from the paper's protocol in a training."""

    loss: Loss | None = None
    step: OwnStep | None = None
    each_epoch: EachEpoch | None = None
    start: Sequence[TrainedNetworks] = ()
    adapt: Callable[[nn.Module], nn.Module] | None = None

    @property
    def together(self) -> bool:
        """Whether all networks are trained as one group."""
        return (self.loss or self.step or self.each_epoch) is not None


Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@checked(frozen=True)
class NetworkLearner(Learner):
    """Base class of network architectures: ``module`` builds a PyTorch module, which the paper's protocol trains.

    Fields that are None have the values of the dataset's recipe, or of ``recipe`` where the dataset has none for this
    learner.
    """

    recipe: ClassVar[Recipe] = Recipe()
    library: ClassVar[str] = ""
    """The distribution whose version is recorded with every result."""
    offers: ClassVar[frozenset[Need]] = frozenset({"networks", "modules", "targets", "randomness"})
    at_a_time: ClassVar[int] = 1
    """How many networks are trained at a time on a CPU."""

    epochs: PositiveInt | None = None
    hidden: Annotated[int, Field(gt=0, multiple_of=16)] | None = None
    lr: Positive | None = None
    weight_decay: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    batch_size: PositiveInt | None = None
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Dropout rate in training; at 0, the architecture keeps its default."""

    def fit(self, sample: Sample) -> Ensemble:
        return self.train(sample, sample.rows[None])

    def train(
        self,
        sample: Sample,
        rows: np.ndarray,
        *,
        loss: Loss | None = None,
        step: OwnStep | None = None,
        each_epoch: EachEpoch | None = None,
        start: Sequence[TrainedNetworks] = (),
        adapt: Callable[[nn.Module], nn.Module] | None = None,
    ) -> Ensemble:
        """Train K networks by the paper's protocol, each on its ``rows`` (K, N) of the sample, and return them.

        ``loss`` replaces the mean fit loss by one of the outputs of all networks; each then also sees the batches of
        the others. ``step`` goes backward through the modules itself. ``each_epoch`` observes the networks after every
        epoch, and may end the training. ``start`` are networks whose weights to begin with, and ``adapt`` changes
        each new module. A network's result depends on its own rows, seed and member, never on what is trained beside
        it. Raises UserError if a package is missing.
        """
        from benchmark.train.loop import train  # PyTorch takes seconds to import

        return train(self, sample, np.asarray(rows), Training(loss, step, each_epoch, tuple(start), adapt))

    def settings(self, sample: Sample) -> Recipe:
        """Return the recipe for a sample."""
        names = Recipe.model_fields.keys() & {field.name for field in fields(self)}
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return sample.recipe.model_copy(update=given)

    def of(self, inputs: Inputs) -> np.ndarray:
        """Return what the networks read of ``inputs``, one row for each molecule."""
        return inputs.smiles if self.reads == "smiles" else inputs.x

    def prepared(self, x: np.ndarray, device: Device) -> Any:
        """Convert training inputs (N, …) to those of ``networks``."""
        import torch

        return x if x.dtype.kind == "U" else torch.tensor(x, device=device.name)

    def module(self, recipe: Recipe, n_inputs: int, n_outputs: int, dropout: float) -> nn.Module:
        """Return a new network from inputs (B, …) to logits or targets (B, C).

        Inputs are features (B, D), or a list of B SMILES. Draw initial weights from PyTorch's global generator.
        """
        raise NotImplementedError

    def augmented(self, x: Any) -> Any:
        """Return a random view of training inputs, drawn from PyTorch's global generator.

        Coupled networks see the same views of a batch, so they disagree about the molecule or image itself.
        """
        return x

    def weights(self) -> str:
        """Return the hash of the pretrained weights, if any. Raises UserError if they are missing."""
        return ""

    def networks(
        self, keys: Sequence[Key], inputs: Any, recipe: Recipe, n_outputs: int, device: Device, training: Training
    ) -> Networks:
        """Return one new network per key. Raises UserError if a package is missing."""
        from benchmark.train.modules import Draws, Modules

        made = []
        try:
            for key in keys:
                with Draws("initialisation", key, device):
                    module = self.module(recipe, getattr(inputs, "shape", (0,))[-1], n_outputs, self.dropout)
                made.append((training.adapt(module) if training.adapt else module).to(device.name))
        except ImportError as error:
            raise UserError(
                f"{self.name} cannot import {error.name}: {self.how_to_install(str(error.name))}"
            ) from error
        networks = Modules(keys, made, inputs, recipe, device, self.augmented)
        return networks.started_from(training.start) if training.start else networks

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


@dataclass(frozen=True)
class Ensemble:
    """K trained networks, whose predictions are averaged."""

    learner: NetworkLearner
    parts: Sequence[TrainedNetworks]
    units: Sequence[Unit]
    """For each network, the unit of its outputs; none if these are in that of the targets."""
    task: Task
    rows: np.ndarray
    """Rows (K, N) of the sample that each network learned from."""

    def each(self, inputs: Inputs, passes: int = 1) -> np.ndarray:
        """Return the predictions of each network, (K, T, C) or (K, T, 1), averaged over ``passes`` with dropout."""
        from benchmark.train.loop import evaluate

        return evaluate(self, self.learner.of(inputs), passes)

    def predict(self, inputs: Inputs) -> np.ndarray:
        return np.asarray(self.each(inputs).mean(axis=0))

    def using(self, *parts: TrainedNetworks) -> Ensemble:
        """Return the same ensemble with other weights."""
        return replace(self, parts=parts)


@dataclass(frozen=True)
class Mean:
    """The mean of models that learned from ``rows``."""

    parts: Sequence[Any]

    @property
    def rows(self) -> np.ndarray:
        """The rows of all of them."""
        return np.concatenate([np.ravel(part.rows) for part in self.parts])

    def each(self, inputs: Inputs) -> np.ndarray:
        """Return the predictions of each, (K, T, C)."""
        return np.stack([np.asarray(part.predict(inputs)) for part in self.parts])

    def predict(self, inputs: Inputs) -> np.ndarray:
        return np.asarray(self.each(inputs).mean(axis=0))


@dataclass(frozen=True)
class LearnedFrom:
    """A model that learned from other ``rows`` than it says, such as those of its teachers."""

    model: Any
    rows: np.ndarray

    def predict(self, inputs: Inputs) -> np.ndarray:
        return np.asarray(self.model.predict(inputs))


@dataclass(frozen=True)
class FirstOf:
    """The first of several networks alone."""

    networks: Ensemble

    @property
    def rows(self) -> np.ndarray:
        return self.networks.rows

    def predict(self, inputs: Inputs) -> np.ndarray:
        return np.asarray(self.networks.each(inputs)[0])
