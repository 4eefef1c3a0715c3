r"""TabM: a perceptron whose K members share their weights but for factors of the inputs and outputs of each layer.

Each member has factors r and s of its own, and a bias b, in every layer, and a head of its own. Training minimises the
mean of the members' losses; a prediction is the mean of the members'.

$$
h_k = \mathrm{relu}\left(s_k \odot W (r_k \odot x) + b_k\right), \qquad
\hat p(x) = \frac{1}{K} \sum_{k=1}^{K} p_k(x)
$$

Source: Gorishniy et al. 2024, arXiv:2410.24210; batch ensembles: Wen et al. 2020, arXiv:2002.06715.

Difference: width, depth and training are those of the paper's perceptron; the source has three layers of 512 and
dropout.

Cost: about K times the arithmetic of a perceptron.
"""

from typing import Any

from benchmark.pipeline import PositiveInt, Recipe, Sample, learner
from benchmark.train import NETWORKS, Ensemble, Module, NetworkLearner


@learner("tabm", title="TabM K={k}", revision=1)
class TabM(NetworkLearner):
    recipe = Recipe()
    grid = (*({"epochs": epochs} for epochs in (3, 5, 8, 12, 20)), {})
    """Shorter trainings first; the default is the longest."""
    offers = NETWORKS | {"relu"}

    k: PositiveInt = 32
    """Number of members; the default is that of the source."""

    def module(self, recipe: Recipe, n_inputs: int, n_outputs: int, dropout: float) -> Module:
        from benchmark.learners._tabm import Network

        return Network(self.k, n_inputs, recipe.hidden, n_outputs, dropout)

    def train(self, sample: Sample, rows: Any, **given: Any) -> Ensemble:
        from benchmark.learners._tabm import member_losses

        if not (given.get("loss") or given.get("step")):
            given["step"] = member_losses
        return super().train(sample, rows, **given)
