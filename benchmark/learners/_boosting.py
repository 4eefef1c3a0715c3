"""What the libraries of gradient boosting need to be silent, and to train the same model each time on the same rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from benchmark.learners._estimator import Estimators, TrainingSet

EXTRA = "boosting"
"""The extra of this suite that installs the libraries."""
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    # Without the last two, LightGBM times two ways to sum gradients and takes the faster: they round differently.
    "lightgbm": {"verbosity": -1, "deterministic": True, "force_col_wise": True},
    "xgboost": {"verbosity": 0},
    "catboost": {"verbose": False, "allow_writing_files": False},
}
"""Parameters of all estimators of a library that do not depend on the data, by the library's module."""
SYNONYMS: Mapping[str, Sequence[str]] = {"catboost": ("logging_level", "silent", "verbose_eval")}
"""Other names of these parameters, of which a library takes one alone."""


@dataclass(frozen=True)
class Encoded:
    """A classifier whose labels 0 to C − 1 stand for ``classes_`` (C,)."""

    classifier: Any
    classes_: np.ndarray

    @classmethod
    def trained(cls, classifier: Any, data: TrainingSet) -> "Encoded":
        """Fit a classifier that takes no labels with a gap: XGBoost's, for rows that lack one of three classes."""
        classes, y = np.unique(data.y, return_inverse=True)
        return cls(classifier.fit(data.x, y, sample_weight=data.weight), classes)

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Return the probabilities (N, C) of ``classes_``."""
        return np.asarray(self.classifier.predict_proba(x))


class Boosting(Estimators):
    """Base class of the learners that a library of gradient boosting trains."""

    extra = EXTRA
    classes = ""
    """The beginning of the names of its classes, as in ``XGBClassifier``."""
    seed, threads = "random_state", "n_jobs"
    """What the library calls its seed and its number of threads."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The hyperparameters as the library names them."""
        raise NotImplementedError

    def trained(self, data: TrainingSet) -> Any:
        data = data.weighted()
        kind = "Classifier" if data.task == "classification" else "Regressor"
        estimator = getattr(import_module(self.name), self.classes + kind)
        model = estimator(**{self.seed: data.random_state, self.threads: 1}, **self.settings, **SETTINGS[self.name])
        if self.name == "xgboost" and data.task == "classification":
            return Encoded.trained(model, data)
        return model.fit(data.x, data.y, sample_weight=data.weight)
