"""A linear model (scikit-learn): logistic regression of classes, ridge regression of numbers.

Hoerl and Kennard 1970, doi:10.1080/00401706.1970.10488634; le Cessie and van Houwelingen 1992, doi:10.2307/2347628.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sklearn.linear_model import LogisticRegression, Ridge

from benchmark.registry import method
from methods._estimator import Estimators, Sample


@method("linear", title="Logistic or ridge regression")
@dataclass(frozen=True)
class Linear(Estimators):
    l2: float = 1.0
    """Weight of the squared coefficients: ``alpha`` of the ridge, ``1 / C`` of logistic regression."""

    def __post_init__(self) -> None:
        if not 0 < self.l2 < math.inf:
            raise ValueError(f"l2 must be above 0, got {self.l2}")

    def trained(self, sample: Sample) -> Any:
        classify = sample.task == "classification"
        model = LogisticRegression(C=1 / self.l2, max_iter=5000) if classify else Ridge(self.l2)
        return model.fit(sample.x, sample.y)
