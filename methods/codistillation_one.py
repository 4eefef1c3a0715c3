r"""Codistillation, one deployed: one of two coupled networks on disjoint shards is deployed, and the other is only
used in training.

The training is that of ``codistillation``. The consistency loss also compares the networks on the molecules of the
other shard, without their labels.

$$
\hat p(x) = p_{\theta_1}(x)
$$

Source: after Anil et al. 2018, arXiv:1804.03235.

Difference: they deploy one, too; the training differs from theirs as that of ``codistillation`` does.

Cost: trains two coupled networks, each on half of the rows; a prediction uses one.
"""

from benchmark.pipeline import Model, Sample, Weight, method
from benchmark.train import LAMBDAS, NetworkLearner, NetworkRemedy, shards, twins


@method("codistillation_one", title="Codistillation λ={lam:g}, one deployed", regression={"lam": 3.0}, revision=1)
class CodistillationOne(NetworkRemedy):
    grid, regression_grid = LAMBDAS
    lam: Weight = 300.0
    """Weight of the consistency loss, as in ``twin``."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        return learner.train(sample, shards(sample, sample.rows), loss=twins(sample, self.lam)).first()
