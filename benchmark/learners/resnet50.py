r"""ResNet-50: a convolutional network on images, fine-tuned from ImageNet.

Source: He et al. 2016, arXiv:1512.03385; Prastalo and Jablonka 2026, appendix on Waterbirds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic.dataclasses import dataclass

from benchmark.pipeline import learner
from benchmark.train.learner import NetworkLearner
from benchmark.types import Reads, Recipe

if TYPE_CHECKING:  # PyTorch takes seconds to import
    from torch import nn


@learner("resnet50", title="ResNet-50")
@dataclass(frozen=True)
class ResNet50(NetworkLearner):
    reads: ClassVar[Reads] = "pixels"
    recipe: ClassVar[Recipe] = Recipe(lr=1e-4, batch_size=64, epochs=15)
    requires: ClassVar[tuple[str, ...]] = ("transformers",)
    extra: ClassVar[str] = "pretrained"
    library: ClassVar[str] = "transformers"

    def module(self, recipe: Recipe, n_inputs: int, n_outputs: int, dropout: float) -> nn.Module:
        from benchmark.learners._resnet50 import Network

        return Network(n_outputs, dropout)

    def augmented(self, x: Any) -> Any:
        from benchmark.learners._resnet50 import pictures, random_crops

        return random_crops(pictures(x).float()).movedim(1, 3).flatten(1)

    def weights(self) -> str:
        from benchmark.learners._resnet50 import MODEL

        return MODEL.digest()
