r"""GIN: a graph isomorphism network, with three layers of messages between the atoms of a molecule.

A layer adds to the row h of an atom v a perceptron of this row and those of the atom's neighbours N(v), followed by a
layer norm. A linear head reads the mean over the atoms.

$$
h_v^{(l+1)} = \mathrm{norm}\left(h_v^{(l)} + \mathrm{MLP}_l\left((1 + \epsilon_l) h_v^{(l)}
+ \sum_{u \in N(v)} h_u^{(l)}\right)\right)
$$

Source: Xu et al. 2019, arXiv:1810.00826; Prastalo and Jablonka 2026, appendix on GIN.

Difference: none from the paper. Xu et al. have batch norms and no residual connections, and read the sums over the
atoms of all layers.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from benchmark.pipeline import Recipe, learner
from benchmark.train import NETWORKS, NetworkLearner
from benchmark.train.ensemble import Key, Networks, Training


@learner("gin", title="GIN", revision=1)
class GIN(NetworkLearner):
    reads = "smiles"
    recipe = Recipe(hidden=128, batch_size=32, epochs=50)
    grid = (*({"epochs": epochs} for epochs in (5, 8, 12, 20, 30)), {})
    """Shorter trainings first; the default is the longest."""
    offers = NETWORKS - {"modules"}

    def prepared(self, x: Iterable[str], device: str) -> Any:
        from benchmark.learners._gin import Molecules

        return Molecules(x)

    def networks(
        self, keys: Sequence[Key], inputs: Any, recipe: Recipe, n_outputs: int, device: str, training: Training
    ) -> Networks:
        from benchmark.learners import _gin

        return _gin.Networks(keys, inputs, recipe, n_outputs, self.dropout, device)
