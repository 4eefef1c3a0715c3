"""Networks in training and trained ones, what a training has to do with them, and the models that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from benchmark.train.device import one_thread
from benchmark.types import Inputs, Task

if TYPE_CHECKING:  # PyTorch takes seconds to import: methods are listed without it
    from torch import Tensor, nn

Key = tuple[int, int]
"""Train seed and member of a network."""


class TargetScaler(NamedTuple):
    """Mean and standard deviation of the targets that networks are trained on."""

    mean: float = 0.0
    deviation: float = 1.0

    @classmethod
    def of(cls, y: Tensor) -> TargetScaler:
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
    unit: TargetScaler
    """Mean and standard deviation of the targets that the networks learn standardised; 0 and 1 if they do not."""


Loss = Callable[[Step], "Tensor"]
"""The scalar loss of a step of K ≥ 1 networks, a function of their outputs."""
OwnStep = Callable[[Any], None]
"""Goes backward through the networks of a ``benchmark.train.modules.Batch`` itself, as often as it likes; then the
optimiser takes its step."""
EachEpoch = Callable[["Epoch"], "bool | None"]
"""Called after every epoch; True ends the training."""


class TrainedNetwork(Protocol):
    """A trained network, immutable from now on."""

    @property
    def state(self) -> Sequence[Tensor]:
        """All its weights."""

    def with_state(self, state: Sequence[Tensor]) -> TrainedNetwork:
        """Return the same network with other weights."""

    def passes(self, x: Any, n: int) -> Tensor:
        """Return logits or targets (n, T, C) for inputs ``x`` (T, …); n > 1 passes use dropout."""


class Networks(Protocol):
    """M networks in training, on the inputs they were created with."""

    @property
    def state(self) -> Sequence[Tensor]:
        """All tensors that training changes; read between epochs."""

    def start_from(self, networks: Sequence[TrainedNetwork]) -> None:
        """Begin with the weights of other networks."""

    def epoch(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        """Yield logits or targets (M, R, C) for each batch of rows (M, R) of the training inputs.

        The caller takes a ``step`` before the next batch. All epochs have the same rows, in any order.
        """

    def step(self, gradient: Tensor, limit: float) -> None:
        """Take a step of AdamW for the gradient (M, R, C) of a loss with respect to the last outputs.

        The gradient of the weights of each network is scaled to a norm of at most ``limit``.
        """

    def trained(self, state: Sequence[Tensor]) -> Sequence[TrainedNetwork]:
        """Return a copy of each network with the given state."""


@dataclass(frozen=True)
class Training:
    """The differences of a training from the paper's protocol."""

    loss: Loss | None = None
    step: OwnStep | None = None
    each_epoch: EachEpoch | None = None
    start: Sequence[TrainedNetwork] = field(default_factory=list)
    adapt: Callable[[nn.Module], nn.Module] | None = None


@dataclass(frozen=True)
class Ensemble:
    """K trained networks, whose predictions are averaged."""

    learner: Any
    """The ``NetworkLearner`` that trained them."""
    parts: Sequence[TrainedNetwork]
    units: Sequence[TargetScaler]
    """For each network, the unit of its outputs; none if these are in that of the targets."""
    task: Task
    rows: np.ndarray
    """Rows (K, N) of the sample that each network learned from."""
    passes: int = 1
    """Number of predictions of each network, with dropout if there are several."""

    def each(self, inputs: Inputs) -> np.ndarray:
        """Return the predictions of each network, (K, T, C) or (K, T, 1), averaged over its passes."""
        import torch

        x = self.learner.of(inputs)
        with torch.no_grad(), one_thread():
            outputs = [part.passes(x, self.passes) for part in self.parts]
            if self.units:
                outputs = [o * unit.deviation + unit.mean for o, unit in zip(outputs, self.units, strict=True)]
            softmax = self.task == "classification"
            return torch.stack([(o.softmax(-1) if softmax else o).mean(0) for o in outputs]).numpy()

    def predict(self, inputs: Inputs) -> np.ndarray:
        return np.asarray(self.each(inputs).mean(axis=0))

    def first(self) -> LearnedFrom:
        """Return the first of the networks alone, which learned from the rows of all."""
        return LearnedFrom(replace(self, parts=self.parts[:1], units=self.units[:1]), self.rows)

    def using(self, *parts: TrainedNetwork) -> Ensemble:
        """Return the same ensemble with other weights."""
        return replace(self, parts=parts)


@dataclass(frozen=True)
class Epoch:
    """An epoch that has ended."""

    number: int
    networks: Networks
    at_first: Ensemble
    """The ensemble, without its networks."""

    def ensemble(self) -> Ensemble:
        """Return the networks as they are now."""
        return self.at_first.using(*self.networks.trained(self.networks.state))


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
        return np.stack([np.asarray(part.predict(inputs.copy())) for part in self.parts])

    def predict(self, inputs: Inputs) -> np.ndarray:
        return np.asarray(self.each(inputs).mean(axis=0))


@dataclass(frozen=True)
class LearnedFrom:
    """A model that learned from other ``rows`` than it says, such as those of its teachers."""

    model: Any
    rows: np.ndarray

    def predict(self, inputs: Inputs) -> np.ndarray:
        return np.asarray(self.model.predict(inputs))
