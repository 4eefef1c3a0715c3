"""Learners that are networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass as checked

from benchmark.pipeline import Learner, Need, Positive, Remedy, ShareBelowOne, Weight
from benchmark.train.ensemble import EachEpoch, Ensemble, Epoch, Key, Loss, Networks, OwnStep, TrainedNetwork, Training
from benchmark.types import Inputs, Model, Recipe, Sample

if TYPE_CHECKING:  # PyTorch takes seconds to import: methods are listed without it
    from torch import nn


NETWORKS: frozenset[Need] = frozenset({"networks", "modules", "targets", "randomness"})
"""Needs of remedies that every learner that is a network meets."""


@checked(frozen=True)
class NetworkLearner(Learner):
    """Base class of network architectures: ``module`` builds a PyTorch module, which the paper's protocol trains.

    Fields that are None have the values of the dataset's recipe, or of ``recipe`` where the dataset has none for this
    learner.
    """

    recipe: ClassVar[Recipe] = Recipe()
    offers: ClassVar[frozenset[Need]] = NETWORKS
    swept = "epochs"

    epochs: PositiveInt | None = None
    hidden: Annotated[int, Field(gt=0, multiple_of=16)] | None = None
    lr: Positive | None = None
    weight_decay: Weight | None = None
    batch_size: PositiveInt | None = None
    dropout: ShareBelowOne = 0.0
    """Dropout rate in training; at 0, the architecture keeps its default."""

    def fit(self, sample: Sample) -> Ensemble:
        return self.train(sample, sample.rows[None])

    def along(self, sample: Sample, values: Sequence[int | None], inputs: Inputs) -> Sequence[np.ndarray]:
        epochs = [value or sample.recipe.epochs for value in values]
        if type(self).schedule is not NetworkLearner.schedule:  # the rate of an epoch depends on how many there are
            return [replace(self, epochs=number).fit(sample).predict(inputs) for number in epochs]
        predicted: dict[int, np.ndarray] = {}

        def each_epoch(epoch: Epoch) -> None:
            if epoch.number + 1 in epochs:
                predicted[epoch.number + 1] = epoch.ensemble().predict(inputs)

        replace(self, epochs=max(epochs)).train(sample, sample.rows[None], each_epoch=each_epoch)
        return [predicted[number] for number in epochs]

    def train(
        self,
        sample: Sample,
        rows: np.ndarray | Sequence[np.ndarray],
        *,
        loss: Loss | None = None,
        step: OwnStep | None = None,
        each_epoch: EachEpoch | None = None,
        start: Sequence[TrainedNetwork] = (),
        adapt: Callable[[nn.Module], nn.Module] | None = None,
    ) -> Ensemble:
        """Train K networks by the paper's protocol, each on its ``rows`` (K, N) of the sample, and return them.

        ``loss`` replaces the mean fit loss by one of the outputs of all networks; each then also sees the batches of
        the others. ``step`` goes backward through the modules itself. ``each_epoch`` observes the networks after every
        epoch, and may end the training. ``start`` are networks whose weights to begin with, and ``adapt`` changes
        each new module. A network's result depends on its own rows, seed and member, never on what is trained beside
        it.
        """
        from benchmark.train.loop import train  # PyTorch takes seconds to import

        return train(self, sample, np.asarray(rows), Training(loss, step, each_epoch, list(start), adapt))

    def settings(self, sample: Sample) -> Recipe:
        """Return the recipe for a sample."""
        names = Recipe.model_fields.keys() & {f.name for f in fields(self)}
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return sample.recipe.model_copy(update=given)

    def of(self, inputs: Inputs) -> np.ndarray:
        """Return what the networks read of ``inputs``, one row for each molecule."""
        return inputs.smiles if self.reads == "smiles" else inputs.x

    def prepared(self, x: np.ndarray, device: str) -> Any:
        """Convert training inputs (N, …) to those of ``networks``."""
        import torch

        return x if x.dtype.kind == "U" else torch.tensor(x, device=device)

    def module(self, recipe: Recipe, n_inputs: int, n_outputs: int, dropout: float) -> nn.Module:
        """Return a new network from inputs (B, …) to logits or targets (B, C).

        Inputs are features (B, D), or a list of B SMILES. Draw initial weights from PyTorch's global generator.
        """
        raise NotImplementedError

    def schedule(self, epoch: float, epochs: int) -> float:
        """Return the learning rate after ``epoch`` of ``epochs`` epochs of a module, in multiples of the recipe's."""
        return 1.0

    def augmented(self, x: Any) -> Any:
        """Return a random view of training inputs, drawn from PyTorch's global generator.

        Coupled networks see the same views of a batch, so they disagree about the molecule or image itself.
        """
        return x

    def weights(self) -> str:
        """Return the hash of the pretrained weights, if any. Raises UserError if they are missing."""
        return ""

    def networks(
        self, keys: Sequence[Key], inputs: Any, recipe: Recipe, n_outputs: int, device: str, training: Training
    ) -> Networks:
        """Return one new network per key."""
        from benchmark.train.modules import Draws, Modules

        made = []
        for key in keys:
            with Draws("initialisation", key, device):
                module = self.module(recipe, getattr(inputs, "shape", (0,))[-1], n_outputs, self.dropout)
            made.append((training.adapt(module) if training.adapt else module).to(device))
        return Modules(keys, made, inputs, recipe, device, self.augmented, self.schedule)

    @property
    def versions(self) -> dict[str, str]:
        """Versions of what it requires, and of RDKit if it reads SMILES; ``absent`` if not installed."""
        libraries = (*self.requires, *(["rdkit"] if self.reads == "smiles" else []))
        return {library: installed(library) for library in libraries}


class NetworkRemedy(Remedy):
    """Base class of remedies that change how networks are trained."""

    needs: ClassVar[tuple[Need, ...]] = ("networks",)

    def fit(self, sample: Sample, learner: Learner) -> Model:
        assert isinstance(learner, NetworkLearner)
        return self.train(sample, learner)

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        """Train one predictor on ``sample``, as a pure function of it."""
        raise NotImplementedError


def installed(library: str) -> str:
    """Return the version of a distribution, or ``absent``."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"
