r"""Codistillation: two networks on disjoint shards, pulled together by a consistency loss.

ERM's rows are divided between the two networks, so that no molecule is in both shards; each network has half as many
draws and takes half as many steps. The loss is that of ``twin``.

$$
S_1 \cap S_2 = \emptyset, \qquad \lvert S_1 \rvert = \lvert S_2 \rvert = \left\lfloor \frac{|S|}{2} \right\rfloor
$$

Source: Prastalo and Jablonka 2026, appendix on the overlap spectrum; after Anil et al. 2018, arXiv:1804.03235.

Difference: Anil et al. let each network learn from stale copies of the others after a burn-in; here both are pulled
together on both batches from the first step, as in ``twin``. The paper divides the whole pool (``whole``): then all
retrainings contain the same molecules, and their agreement says nothing about resampling. The default here is to divide
a bootstrap.
"""

from benchmark.pipeline import Model, Sample, Weight, method
from benchmark.train import LAMBDAS, NetworkLearner, NetworkRemedy, shards, twins


@method("codistillation", title="Codistillation λ={lam:g}", regression={"lam": 3.0}, revision=1)
class Codistillation(NetworkRemedy):
    grid, regression_grid = LAMBDAS
    lam: Weight = 300.0
    """Weight of the consistency loss, as in ``twin``."""
    whole: bool = False
    """Under ``paper``, divide the whole pool instead of the bootstrap, which reproduces the published numbers."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        rows = shards(sample, sample.bootstrap_pool if self.whole else sample.rows)
        return learner.train(sample, rows, loss=twins(sample, self.lam))
