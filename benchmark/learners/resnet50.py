r"""ResNet-50: a convolutional network of fifty layers on images, pretrained on ImageNet and fine-tuned.

Each block adds a function F of its input, three convolutions, to the input itself. A new linear head reads the mean of
the last block's outputs over the image; all weights are trained.

$$
h^{(l+1)} = \mathrm{relu}\left( h^{(l)} + F_l(h^{(l)}) \right), \qquad
\hat p(x) = \mathrm{softmax}\left( W \, \mathrm{mean}(h^{(L)}) + b \right)
$$

Source: He et al. 2016, arXiv:1512.03385; Prastalo and Jablonka 2026, appendix on Waterbirds.

Difference: none from the paper. It is trained on random crops and predicts from the centre of an image.

Cost: trains one network of 23.5 million weights, which takes hours on one core.
"""

from typing import Any

from benchmark.pipeline import Recipe, learner
from benchmark.train import NETWORKS, Module, NetworkLearner


@learner("resnet50", title="ResNet-50", revision=1)
class ResNet50(NetworkLearner):
    reads = "pixels"
    recipe = Recipe(lr=1e-4, batch_size=64, epochs=15)
    grid = (*({"epochs": epochs} for epochs in (1, 3, 6, 10)), {})
    """Shorter trainings first; the default is the longest."""
    offers = NETWORKS | {"relu"}
    requires = ("transformers",)
    extra = "pretrained"

    def module(self, recipe: Recipe, n_inputs: int, n_outputs: int, dropout: float) -> Module:
        from benchmark.learners._resnet50 import Network

        return Network(n_outputs, dropout)

    def augmented(self, x: Any) -> Any:
        from benchmark.learners._resnet50 import pictures, random_crops

        return random_crops(pictures(x).float()).movedim(1, 3).flatten(1)

    def weights(self) -> str:
        from benchmark.learners._resnet50 import MODEL

        return MODEL.digest()
