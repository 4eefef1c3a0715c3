"""Random forest (scikit-learn) on the same bootstraps as the networks.

Breiman 2001, doi:10.1023/A:1010933404324.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.registry import method
from benchmark.train import bootstrap, generator
from benchmark.types import Fitted, Problem


@method("random_forest", title="Random forest")
@dataclass(frozen=True)
class RandomForest:
    trees: int = 500

    def __post_init__(self) -> None:
        if self.trees < 1:
            raise ValueError(f"trees must be at least 1, got {self.trees}")

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        kind = RandomForestClassifier if problem.task == "classification" else RandomForestRegressor
        forests = []
        for seed, (rows,) in zip(seeds, bootstrap(problem, seeds), strict=True):
            state = int(generator("forest", seed).integers(2**31))
            forest = kind(n_estimators=self.trees, random_state=state, n_jobs=1)
            forests.append(forest.fit(problem.train.x[rows], problem.train.y[rows]))
        return Forests(forests, problem.n_outputs)


@dataclass(frozen=True)
class Forests:
    forests: Sequence[Any]
    n_outputs: int

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.stack([self._predict(forest, x) for forest in self.forests])

    def _predict(self, forest: Any, x: np.ndarray) -> np.ndarray:
        if self.n_outputs == 1:
            return np.asarray(forest.predict(x))[:, None]
        values = np.zeros((len(x), self.n_outputs))
        values[:, forest.classes_] = forest.predict_proba(x)  # a bootstrap may lack a class
        return values
