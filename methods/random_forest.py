"""Random forest (scikit-learn) on the same bootstraps as the networks.

Breiman 2001, doi:10.1023/A:1010933404324.
"""

from typing import Any

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from methods._estimator import Estimators, TrainingSet


@method("random_forest", title="Random forest")
@dataclass(frozen=True)
class RandomForest(Estimators):
    trees: PositiveInt = 500
    leaf: PositiveInt = 1
    """Fewest training rows in a leaf."""

    def trained(self, data: TrainingSet) -> Any:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        kind = RandomForestClassifier if data.task == "classification" else RandomForestRegressor
        forest = kind(self.trees, min_samples_leaf=self.leaf, random_state=data.random_state, n_jobs=1)
        return forest.fit(data.x, data.y)
