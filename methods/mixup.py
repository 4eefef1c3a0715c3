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
from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import generator
from benchmark.types import Fitted, Sample
from methods._soft import AtOnce, Trained, labels, mixed


@method("mixup", title="Mixup α={alpha:g}")
@dataclass(frozen=True)
class Mixup(AtOnce):
    alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.2
    """Both parameters of the beta distribution of the weights."""

    def fit(self, sample: Sample) -> Fitted:
        draws, known = generator("other", sample.seed), labels(sample)
        rows, partners = sample.rows, draws.permutation(sample.rows)
        share = draws.beta(self.alpha, self.alpha, size=(len(rows), 1))
        x, targets = (share * of[rows] + (1 - share) * of[partners] for of in (sample.x, known))
        pairs = replace(sample, x=x.astype(np.float32), y=sample.y[rows], rows=np.arange(len(rows)))
        return Trained(mixed(pairs, targets, 1.0), rows)
