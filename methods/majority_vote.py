r"""Majority vote: the class predicted by most of k networks, which differ in initialisation and batch order.

The networks are those of a deep ensemble. The probability of a class is its share of votes.

$$
\hat p(x)_c = \frac{1}{K} \sum_{k=1}^{K} \left[\mathrm{argmax}_j p_{\theta_k}(x)_j = c\right]
$$

Source: Black et al. 2022, Selective Ensembles for Consistent Predictions, arXiv:2111.08230.

Difference: they also abstain where the vote is not significant; here the majority always decides.

Cost: trains k networks; a prediction uses all of them.
"""

import numpy as np
from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import fit_stack
from benchmark.types import Fitted, Sample
from methods._soft import AtOnce, Trained


@method("majority_vote", title="Majority vote K={k}", tasks=("classification",))
@dataclass(frozen=True)
class MajorityVote(AtOnce):
    k: PositiveInt = 5
    """Number of networks, as in ``deep_ensemble``."""

    def fit(self, sample: Sample) -> Fitted:
        return Votes(fit_stack(sample, np.tile(sample.rows, (self.k, 1))))


class Votes(Trained):
    """The shares of votes (T, C)."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        each = self.stack.each(x)
        return np.eye(each.shape[2])[each.argmax(axis=2)].mean(axis=0)
