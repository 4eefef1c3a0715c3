r"""Twin-shared: two networks on the same rows, pulled together by a consistency loss.

The networks differ only in initialisation and batch order. The loss is that of ``twin``, with both batches from the
same rows S.

$$
S_1 = S_2 = S
$$

Source: Prastalo and Jablonka 2026, appendix on the overlap spectrum; after Bhojanapalli et al. 2021, arXiv:2102.03349.

Difference: none from the paper. Bhojanapalli et al. deploy one of the two networks, as in ``twin_shared_one``.
"""

from benchmark.pipeline import Model, Sample, Weight, method
from benchmark.train import LAMBDAS, NetworkLearner, NetworkRemedy, twins


@method("twin_shared", title="Twin-shared λ={lam:g}", regression={"lam": 3.0}, revision=1)
class TwinShared(NetworkRemedy):
    grid, regression_grid = LAMBDAS
    lam: Weight = 300.0
    """Weight of the consistency loss, as in ``twin``."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        return learner.train(sample, [sample.rows] * 2, loss=twins(sample, self.lam))
