"""The paper's perceptron on numbers: two hidden ReLU layers (section Methods)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.train.backbone import Backbone, Networks
from benchmark.train.device import Device
from benchmark.train.group import Key
from benchmark.types import Recipe

if TYPE_CHECKING:  # imports PyTorch, which takes seconds
    from benchmark.train.networks import Inputs


class MLP(Backbone):
    reads = "numbers"
    recipe = Recipe()
    stacked = True

    def inputs(self, x: np.ndarray, device: Device) -> Inputs:
        from benchmark.train.networks import Inputs

        return Inputs(x, device.name)

    def networks(
        self, keys: Sequence[Key], inputs: Any, recipe: Recipe, n_outputs: int, dropout: float, device: Device
    ) -> Networks:
        from benchmark.train.networks import StackedPerceptrons
        from benchmark.train.perceptrons import Perceptrons

        if device.to_the_bit:
            return Perceptrons(keys, inputs, recipe, n_outputs, dropout)
        return StackedPerceptrons(keys, inputs, recipe, n_outputs, dropout, device.name)
