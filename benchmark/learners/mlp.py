r"""Perceptron: two hidden ReLU layers on numbers.

It is the network of the paper, and the learner of every dataset that names no other.

$$
f_\theta(x) = W_3 \, \mathrm{relu}(W_2 \, \mathrm{relu}(W_1 x + b_1) + b_2) + b_3
$$

Source: Prastalo and Jablonka 2026, section Methods.

Difference: none. A fast implementation is equal to a plain one up to rounding.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmark.pipeline import Recipe, learner
from benchmark.train import NETWORKS, Module, NetworkLearner
from benchmark.train.ensemble import Key, Networks, Training


@learner("mlp", title="Perceptron", revision=1)
class MLP(NetworkLearner):
    recipe = Recipe()
    offers = NETWORKS | {"relu"}
    grid = (
        *({"epochs": epochs} for epochs in (3, 5)),
        *({"epochs": 8, **other} for other in ({"hidden": 64}, {"weight_decay": 1.0}, {"dropout": 0.5}, {})),
        {"epochs": 12},
        *({"epochs": 20, **other} for other in ({"hidden": 64}, {"weight_decay": 1.0}, {"dropout": 0.5}, {})),
        {},
    )
    """Shorter trainings first; of equally long ones the narrower, then the decaying, then the one with dropout."""

    def prepared(self, x: np.ndarray, device: str) -> Any:
        from benchmark.train.networks import Inputs

        return Inputs(x)

    def module(self, recipe: Recipe, n_inputs: int, n_outputs: int, dropout: float) -> Module:
        from torch import nn

        sizes = [(n_inputs, recipe.hidden), (recipe.hidden, recipe.hidden)]
        layers = [layer for ends in sizes for layer in (nn.Linear(*ends), nn.ReLU(), nn.Dropout(dropout))]
        return nn.Sequential(*layers, nn.Linear(recipe.hidden, n_outputs))

    def networks(
        self, keys: Sequence[Key], inputs: Any, recipe: Recipe, n_outputs: int, device: str, training: Training
    ) -> Networks:
        from benchmark.train.networks import Perceptron
        from benchmark.train.perceptrons import Perceptrons

        initial = [Perceptron(key, inputs.x.shape[1], recipe.hidden, n_outputs, self.dropout) for key in keys]
        own_step = training.step or training.adapt
        if not own_step and device == "cpu":
            return Perceptrons(initial, inputs, recipe)
        modules = super().networks(keys, inputs.x.to(device), recipe, n_outputs, device, training)
        if not own_step:
            modules.start_from(initial)
        return modules
