r"""Chemprop: a directed message passing network on the bonds of a molecule.

Each bond from an atom v to an atom w has a row h, made of the features x of v and e of the bond. Twice, it receives
the rows of the bonds that lead to v, but its own reverse. An atom reads the bonds that lead to it, and a perceptron
with one hidden layer reads the sum over the atoms.

$$
h_{vw}^{(t+1)} = \mathrm{relu}\left( W_i [x_v, e_{vw}] + W_h \sum_{u \in N(v) \setminus w} h_{uv}^{(t)} \right),
\qquad h_{vw}^{(0)} = \mathrm{relu}\left( W_i [x_v, e_{vw}] \right)
$$

Source: Heid et al. 2024, doi:10.1021/acs.jcim.3c01250.

Difference: the settings are those of chemprop's command line, and so are the warm-up and the decay of the learning
rate, except for widths of 304 (a multiple of 16) instead of 300. Like all networks here, it is trained by AdamW and
keeps its last epoch; chemprop uses Adam and keeps the epoch that is best on a tenth of the rows.
"""

from typing import Any

import numpy as np

from benchmark.pipeline import Recipe, learner
from benchmark.train import NETWORKS, Module, NetworkLearner

WARM_UP, LEAST = 2, 0.1
"""Epochs in which the learning rate rises, and the share of its maximum with which it begins and ends."""


@learner("chemprop", title="Chemprop", revision=2)
class Chemprop(NetworkLearner):
    reads = "smiles"
    recipe = Recipe(hidden=304, epochs=50)
    grid = (*({"epochs": epochs} for epochs in (5, 8, 12, 20, 30)), {})
    """Shorter trainings first; the default is the longest."""
    offers = NETWORKS | {"relu"}
    requires = ("chemprop",)
    extra = "chemprop"

    def prepared(self, x: np.ndarray, device: str) -> Any:
        from benchmark.learners._chemprop import Molecules

        return Molecules(x)

    def module(self, recipe: Recipe, n_inputs: int, n_outputs: int, dropout: float) -> Module:
        from benchmark.learners._chemprop import Network

        return Network(recipe.hidden, n_outputs, dropout)

    def schedule(self, epoch: float, epochs: int) -> float:
        if epoch < WARM_UP:
            return LEAST + (1 - LEAST) * epoch / WARM_UP
        return LEAST ** ((epoch - WARM_UP) / (epochs - WARM_UP))
