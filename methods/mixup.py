r"""Mixup: the network is trained on weighted means of two molecules' features and labels.

Each training row is mixed with a partner from the same sample, with a random weight w.

$$
\tilde x = w \, x_i + (1 - w) \, x_j, \qquad \tilde y = w \, y_i + (1 - w) \, y_j, \qquad
w \sim \mathrm{Beta}(\alpha, \alpha)
$$

Source: Zhang et al. 2018, arXiv:1710.09412.

Difference: they draw new mixtures in each batch; here each training row is mixed once, before training.

Cost: trains one network; a prediction uses it.
"""

from dataclasses import replace

import numpy as np

from benchmark.pipeline import Learner, Model, Positive, Remedy, Sample, method
from benchmark.train import LearnedFrom, generator


@method("mixup", title="Mixup α={alpha:g}", revision=1)
class Mixup(Remedy):
    needs = ("targets", "numbers")

    alpha: Positive = 0.2
    """Both parameters of the beta distribution of the weights."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        draws, rows = generator("other", sample.seed, sample.member), sample.rows
        partners = draws.permutation(rows)
        share = draws.beta(self.alpha, self.alpha, size=(len(rows), 1))
        x, targets = (share * values[rows] + (1 - share) * values[partners] for values in (sample.x, sample.labels))
        about = {"y": sample.y[rows], "smiles": sample.smiles[rows], "rows": np.arange(len(rows))}
        pairs = replace(sample, x=x.astype(np.float32), **about)
        return LearnedFrom(learner.fit(pairs.towards(targets)), rows)
