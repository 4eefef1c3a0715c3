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

from typing import ClassVar

import numpy as np
from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.pipeline import Learner, Need, Remedy, method
from benchmark.train import LearnedFrom, Mean, bootstrap
from benchmark.types import Model, Sample


@method("distilled_bagging", title="Distilled bagging K={k}", revision=1)
@dataclass(frozen=True)
class DistilledBagging(Remedy):
    needs: ClassVar[tuple[Need, ...]] = ("targets",)

    k: PositiveInt = 5
    """Number of models to learn from, as in ``bagging``."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        teachers = Mean([learner.fit(sample.of(rows, k)) for k, rows in enumerate(bootstrap(sample, self.k))])
        student = learner.fit(sample.towards(teachers.predict(sample.inputs)))
        return LearnedFrom(student, np.append(teachers.rows, sample.rows))
