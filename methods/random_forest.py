"""Random forest (scikit-learn) on the same bootstraps as the networks.

Breiman 2001, doi:10.1023/A:1010933404324.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from benchmark.registry import method
from methods._estimator import Estimators, Sample


@method("random_forest", title="Random forest")
@dataclass(frozen=True)
class RandomForest(Estimators):
    trees: int = 500

    def __post_init__(self) -> None:
        if self.trees < 1:
            raise ValueError(f"trees must be at least 1, got {self.trees}")

    def trained(self, sample: Sample) -> Any:
        kind = RandomForestClassifier if sample.task == "classification" else RandomForestRegressor
        return kind(self.trees, random_state=sample.random_state, n_jobs=1).fit(sample.x, sample.y)
