"""Random forest (scikit-learn) on the same bootstraps as the networks.

Breiman 2001, doi:10.1023/A:1010933404324.
"""

from __future__ import annotations

from typing import Any

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from benchmark.registry import method
from methods._estimator import Estimators, Sample


@method("random_forest", title="Random forest")
@dataclass(frozen=True)
class RandomForest(Estimators):
    trees: PositiveInt = 500

    def trained(self, sample: Sample) -> Any:
        kind = RandomForestClassifier if sample.task == "classification" else RandomForestRegressor
        return kind(self.trees, random_state=sample.random_state, n_jobs=1).fit(sample.x, sample.y)
