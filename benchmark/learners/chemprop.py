r"""Chemprop: a directed message passing network on the bonds of a molecule.

The settings are those of chemprop's command line, except for widths of 304 (a multiple of 16) instead of 300.

Source: Heid et al. 2024, doi:10.1021/acs.jcim.3c01250.

Difference: like all networks here, it is trained by AdamW at a constant learning rate; chemprop uses Adam with warm-up
and decay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from benchmark.pipeline import learner
from benchmark.train.learner import NetworkLearner
from benchmark.types import Reads, Recipe

if TYPE_CHECKING:  # PyTorch takes seconds to import
    from torch import nn

    from benchmark.train.device import Device


@learner("chemprop", title="Chemprop")
@dataclass(frozen=True)
class Chemprop(NetworkLearner):
    reads: ClassVar[Reads] = "smiles"
    recipe: ClassVar[Recipe] = Recipe(hidden=304, epochs=50)
    requires: ClassVar[tuple[str, ...]] = ("chemprop",)
    extra: ClassVar[str] = "chemprop"
    library: ClassVar[str] = "chemprop"

    def prepared(self, x: np.ndarray, device: Device) -> Any:
        from benchmark.learners._chemprop import Molecules

        return Molecules(x)

    def module(self, recipe: Recipe, n_inputs: int, n_outputs: int, dropout: float) -> nn.Module:
        from benchmark.learners._chemprop import Network

        return Network(recipe.hidden, n_outputs, dropout)
