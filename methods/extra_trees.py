"""Extremely randomised trees (scikit-learn): a forest whose splits are drawn at random, without a second bootstrap.

Geurts et al. 2006, doi:10.1007/s10994-006-6226-1. As scikit-learn has them by default, trees of a regression look at
all features at each cut. A bit can be cut in one place only, so that on fingerprints these trees are nearly one and
average little: expect a churn near that of a single tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from benchmark.registry import method
from methods._estimator import Estimators, Sample


@method("extra_trees", title="Extra trees")
@dataclass(frozen=True)
class ExtraTrees(Estimators):
    trees: int = 500

    def __post_init__(self) -> None:
        if self.trees < 1:
            raise ValueError(f"trees must be at least 1, got {self.trees}")

    def trained(self, sample: Sample) -> Any:
        kind = ExtraTreesClassifier if sample.task == "classification" else ExtraTreesRegressor
        return kind(self.trees, random_state=sample.random_state, n_jobs=1).fit(sample.x, sample.y)
