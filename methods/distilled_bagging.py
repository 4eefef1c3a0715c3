"""Distilled bagging: one network that learns the mean prediction of k networks on k bootstraps.

Hinton et al. 2015, arXiv:1503.02531, at temperature 1 and without labels. Only the one network is deployed. It
learns the networks' predictions of molecules that most of them were trained on, which are close to the labels.
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

    def fit(self, sample: Sample) -> Fitted:
        teachers = fit_stack(sample, bootstrap(sample, self.k))
        return Trained(mixed(sample, teachers.predict(sample.x), 1.0), np.append(teachers.rows, sample.rows))
