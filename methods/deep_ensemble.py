r"""Deep ensemble: the average of k networks on one sample, which differ in initialisation and batch order.

All networks are trained on the rows of ERM, so averaging removes the randomness of training, but none of that of the
data.

$$
\min_{\theta_k} L_S(\theta_k), \qquad \hat p(x) = \frac{1}{K} \sum_{k=1}^{K} p_{\theta_k}(x)
$$

Source: Lakshminarayanan et al. 2017, arXiv:1612.01474; Prastalo and Jablonka 2026, section Methods.

Difference: as in the paper, without the adversarial training of Lakshminarayanan et al.
"""

from benchmark.pipeline import Learner, Model, PositiveInt, Remedy, Sample, method
from benchmark.train import Mean


@method("deep_ensemble", title="Deep ensemble K={k}", revision=1)
class DeepEnsemble(Remedy):
    needs = ("randomness",)

    k: PositiveInt = 5
    """Number of models; the paper sets 5 in advance, following the source."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        return Mean([learner.fit(sample.of(sample.rows, k)) for k in range(self.k)])
