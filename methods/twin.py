r"""Twin-bootstrap: networks on independent bootstraps, pulled together by a consistency loss.

At each step, every network is fitted to a batch of its own bootstrap, and the disagreement of all pairs of networks on
all of these batches is added with the weight λ. The networks are averaged at prediction. Without the consistency loss
(λ = 0), this is bagging. The formula is the loss of a step for two networks.

$$
L_{B_1}(\theta_1) + L_{B_2}(\theta_2)
+ \lambda \, \frac{1}{2} \left[ D_{B_1}(\theta_1, \theta_2) + D_{B_2}(\theta_1, \theta_2) \right]
$$

$$
\hat p(x) = \frac{1}{2} \left[ p_{\theta_1}(x) + p_{\theta_2}(x) \right]
$$

Source: Prastalo and Jablonka 2026, section Methods, Algorithm 1.
"""

from typing import Annotated

from benchmark.pipeline import Field, Model, Sample, Weight, method
from benchmark.train import LAMBDAS, NetworkLearner, NetworkRemedy, bootstrap, twins


@method("twin", title="Twin-bootstrap λ={lam:g}", regression={"lam": 3.0}, revision=1)
class Twin(NetworkRemedy):
    grid, regression_grid = LAMBDAS
    lam: Weight = 300.0
    """Weight of the consistency loss; the paper's rule selects 300 for classification and 3 for regression."""
    members: Annotated[int, Field(ge=2)] = 2
    """Number of networks trained together; the disagreement is averaged over their pairs."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        return learner.train(sample, bootstrap(sample, self.members), loss=twins(sample, self.lam))
