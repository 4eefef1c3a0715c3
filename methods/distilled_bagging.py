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

from benchmark.pipeline import Learner, Model, PositiveInt, Remedy, Sample, method
from benchmark.train import LearnedFrom, Mean, bootstrap


@method("distilled_bagging", title="Distilled bagging K={k}", revision=1)
class DistilledBagging(Remedy):
    needs = ("targets",)

    k: PositiveInt = 5
    """Number of models to learn from, as in ``bagging``."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        teachers = Mean([learner.fit(sample.of(rows, k)) for k, rows in enumerate(bootstrap(sample, self.k))])
        student = learner.fit(sample.towards(teachers.predict(sample.inputs)))
        return LearnedFrom(student, np.append(teachers.rows, sample.rows))
