r"""Extended bagging: the bootstraps of the earlier bag are kept, and each is extended by new rows.

The earlier model is a bag of networks. Each network is trained again from its initial weights on its earlier bootstrap
and on as many draws from the new rows as there are new rows, so that each member changes little from month to month.

$$
S_k = S_k^{\mathrm{old}} \cup \mathrm{Bootstrap}_k(\mathrm{new\ rows}), \qquad
\hat p(x) = \frac{1}{K} \sum_{k=1}^{K} p_{\theta_k}(x)
$$

Source: ours; bagging is Breiman's (1996, doi:10.1007/BF00058655).

Cost: trains k networks; a prediction uses all of them.
"""

from dataclasses import replace

import numpy as np

from benchmark.pipeline import Learner, Model, PositiveInt, Remedy, Sample, method
from benchmark.train import Mean, before_update, bootstrap, generator


@method("extended_bagging", title="Bagging extended, K={k}", revision=1)
class ExtendedBagging(Remedy):
    samplings = ("update",)
    incumbent = "bagging"

    k: PositiveInt = 5
    """Number of models, as in ``bagging``."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        earlier = before_update(sample)
        kept = np.asarray(sample.earlier_rows)[bootstrap(earlier, self.k)]
        new = np.setdiff1d(sample.rows, np.asarray(sample.earlier_rows))
        draws = [generator("resampling", sample.seed, k).integers(0, len(new), len(new)) for k in range(self.k)]
        rows = np.concatenate([kept, new[np.stack(draws)]], axis=1)
        same = replace(sample, seed=earlier.seed)  # the initialisation and order of batches of the earlier models
        return Mean([learner.fit(same.of(rows[k], k)) for k in range(self.k)])
