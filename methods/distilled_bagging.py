r"""Distilled bagging: one network that learns the mean prediction of k networks on k bootstraps.

Only the one network is deployed. It learns the networks' predictions of molecules that most of them were trained on,
which are close to the labels. The teacher's prediction is q; in a regression, the squared difference from it is
minimised.

$$
-\sum_{c=1}^{C} q(x)_c \log\, p_\theta(x)_c, \qquad q(x) = \frac{1}{K} \sum_{k=1}^{K} p_{\theta_k}(x)
$$

Source: Hinton et al. 2015, arXiv:1503.02531.

Difference: the temperature is 1, and the labels are not used.

Cost: trains k networks and then one more; a prediction uses the last alone.
"""

import numpy as np
from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Sample
from methods._soft import AtOnce, Trained, mixed


@method("distilled_bagging", title="Distilled bagging K={k}")
@dataclass(frozen=True)
class DistilledBagging(AtOnce):
    k: PositiveInt = 5
    """Number of networks to learn from, as in ``bagging``."""

    def fit(self, sample: Sample) -> Fitted:
        teachers = fit_stack(sample, bootstrap(sample, self.k))
        return Trained(mixed(sample, teachers.predict(sample.x), 1.0), np.append(teachers.rows, sample.rows))
