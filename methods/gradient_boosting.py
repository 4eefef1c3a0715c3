"""Gradient boosting of trees on histograms (scikit-learn's, after LightGBM).

Friedman 2001, doi:10.1214/aos/1013203451; Ke et al. 2017 (LightGBM, NeurIPS).
"""

from typing import Annotated, Any

from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from methods._estimator import Estimators, TrainingSet, are_bits


@method("gradient_boosting", title="Gradient boosting")
@dataclass(frozen=True)
class GradientBoosting(Estimators):
    trees: PositiveInt = 100
    rate: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Learning rate, the factor that shrinks each tree."""

    def trained(self, data: TrainingSet) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        kind = HistGradientBoostingClassifier if data.task == "classification" else HistGradientBoostingRegressor
        bins = 2 if are_bits(data.x) else 255  # bits have two values: more bins give the same trees, more slowly
        model = kind(max_iter=self.trees, learning_rate=self.rate, max_bins=bins, random_state=data.random_state)
        return model.fit(data.x, data.y)
