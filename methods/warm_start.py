r"""Warm start: the network is trained on from the weights of the earlier model.

At an update, the earlier model is ERM on the rows that were known then. The new one begins with its weights θ′ instead
of random ones.

$$
\theta^{(0)} = \theta', \qquad \min_\theta L_S(\theta), \qquad \hat p(x) = p_\theta(x)
$$

Source: the common practice of online learning; Ash and Adams 2020, arXiv:1910.08475, on what it costs in accuracy.

Difference: the optimiser's moments begin anew, as they would for weights that were stored.

Cost: trains two networks, of which the first is there already in practice.
"""

from benchmark.pipeline import Model, Sample, method
from benchmark.train import NetworkLearner, NetworkRemedy, before_update


@method("warm_start", title="Warm start", revision=1)
class WarmStart(NetworkRemedy):
    samplings = ("update",)
    incumbent = "erm"

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        earlier = learner.fit(before_update(sample))
        return learner.train(sample, sample.rows[None], start=earlier.parts)
