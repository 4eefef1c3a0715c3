"""Gradient boosting of trees on histograms (scikit-learn's, after LightGBM).

Friedman 2001, doi:10.1214/aos/1013203451; Ke et al. 2017 (LightGBM, NeurIPS).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from benchmark.registry import method
from methods._estimator import Estimators, Sample, are_bits


@method("gradient_boosting", title="Gradient boosting")
@dataclass(frozen=True)
class GradientBoosting(Estimators):
    trees: int = 100
    rate: float = 0.1
    """By how much each tree is shrunk (the learning rate)."""

    def __post_init__(self) -> None:
        if self.trees < 1 or not 0 < self.rate <= 1:
            raise ValueError(f"trees must be at least 1 and rate in (0, 1], got {self.trees} and {self.rate}")

    def trained(self, sample: Sample) -> Any:
        kind = HistGradientBoostingClassifier if sample.task == "classification" else HistGradientBoostingRegressor
        bins = 2 if are_bits(sample.x) else 255  # bits have two values: more bins give the same trees, later
        model = kind(max_iter=self.trees, learning_rate=self.rate, max_bins=bins, random_state=sample.random_state)
        return model.fit(sample.x, sample.y)
