r"""Twin-shared, one deployed: one of two coupled networks on the same rows is deployed, and the other is only used in
training.

The training is that of ``twin_shared``.

$$
\hat p(x) = p_{\theta_1}(x)
$$

Source: after Bhojanapalli et al. 2021, arXiv:2102.03349.

Difference: they deploy one, too; the training differs from theirs as that of ``twin_shared`` does.

Cost: trains two coupled networks; a prediction uses one.
"""

from benchmark.pipeline import Model, Sample, Weight, method
from benchmark.train import LAMBDAS, NetworkLearner, NetworkRemedy, twins


@method("twin_shared_one", title="Twin-shared λ={lam:g}, one deployed", regression={"lam": 3.0}, revision=1)
class TwinSharedOne(NetworkRemedy):
    grid, regression_grid = LAMBDAS
    lam: Weight = 300.0
    """Weight of the consistency loss, as in ``twin``."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        return learner.train(sample, [sample.rows] * 2, loss=twins(sample, self.lam)).first()
