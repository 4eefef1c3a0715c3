r"""Majority vote: the class predicted by most of k networks, which differ in initialisation and batch order.

The networks are those of a deep ensemble. The probability of a class is its share of votes.

$$
\hat p(x)_c = \frac{1}{K} \sum_{k=1}^{K} \left[\mathrm{argmax}_j p_{\theta_k}(x)_j = c\right]
$$

Source: Black et al. 2022, Selective Ensembles for Consistent Predictions, arXiv:2111.08230.

Difference: they also abstain where the vote is not significant; here the majority always decides.

Cost: trains k networks; a prediction uses all of them.
"""

from dataclasses import dataclass

import numpy as np

from benchmark.pipeline import Inputs, Learner, Model, PositiveInt, Remedy, Sample, method
from benchmark.train import Mean


@method("majority_vote", title="Majority vote K={k}", tasks=("classification",), revision=1)
class MajorityVote(Remedy):
    needs = ("randomness",)

    k: PositiveInt = 5
    """Number of models, as in ``deep_ensemble``."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        return Votes([learner.fit(sample.of(sample.rows, k)) for k in range(self.k)])


@dataclass(frozen=True)
class Votes(Mean):
    """The shares of votes (T, C)."""

    def predict(self, inputs: Inputs) -> np.ndarray:
        each = self.each(inputs)
        return np.eye(each.shape[2])[each.argmax(axis=2)].mean(axis=0)
