"""Estimators that a library trains: silent, on one thread, and each time the same on the same rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib import import_module
from inspect import signature
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from benchmark.learners._estimator import Estimators, TrainingSet
from benchmark.types import Inputs, Sample

BOOSTING = "boosting"
"""The extra of this suite that installs the libraries of gradient boosting."""
SEEDS, THREADS = ("random_state", "random_seed"), ("n_jobs", "thread_count")
"""Names of the seed of an estimator, and of its number of threads, in libraries."""
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    # Without the last two, LightGBM times two ways to sum gradients and takes the faster: they round differently.
    "lightgbm": {"verbosity": -1, "deterministic": True, "force_col_wise": True},
    "xgboost": {"verbosity": 0},
    "catboost": {"verbose": False, "allow_writing_files": False},
}
"""Parameters of all estimators of a library that do not depend on the data, by the library's module."""
SYNONYMS: Mapping[str, Sequence[str]] = {"catboost": ("logging_level", "silent", "verbose_eval")}
"""Other names of these parameters, of which a library takes one alone."""
BY_LEAVES: Sequence[Mapping[str, Any]] = (
    *({"leaves": 8, "rate": 0.03, "trees": trees} for trees in (50, 100, 200)),
    *({"leaves": leaves, "trees": trees} for leaves in (8, 31) for trees in (25, 50, 100, 200)),
)
"""The grid of boosted trees that grow leaf by leaf: small trees first, then a lower rate, then fewer of them."""


def library_of(kind: type) -> str:
    """Return the library of gradient boosting that a class is of or derives from; empty if there is none."""
    packages = (base.__module__.partition(".")[0] for base in kind.__mro__)
    return next((package for package in packages if package in SETTINGS), "")


def parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator, and those of its constructor where it lists only those that are set."""
    named = signature(type(estimator).__init__).parameters.items()
    own = {name: about.default for name, about in named if about.default is not about.empty}
    return own | dict(estimator.get_params(deep=False))


def seeded(estimator: Any, random_state: int) -> Any:
    """Return the estimator with its seed and what else makes it repeatable and silent."""
    own, kind = parameters(estimator).keys(), type(estimator)
    fixed = [(name, random_state) for name in SEEDS if name in own][:1]  # CatBoost refuses both: they are synonyms
    if not kind.__module__.startswith("sklearn."):  # scikit-learn's estimators default to one thread
        fixed += [(name, 1) for name in THREADS if name in own]
    return estimator.set_params(**dict(fixed), **SETTINGS.get(library_of(kind), {}))


def fitted(estimator: Any, data: TrainingSet) -> Any:
    """Return an estimator fitted to ``data``, with weights if there are soft labels."""
    estimator, data = seeded(estimator, data.random_state), data.weighted()
    weights = {} if data.weight is None else {"sample_weight": data.weight}
    if data.task == "classification" and library_of(type(estimator)) == "xgboost":
        classes, y = np.unique(data.y, return_inverse=True)
        return Encoded(estimator.fit(data.x, y, **weights), classes)
    return estimator.fit(data.x, data.y, **weights)


@dataclass(frozen=True)
class Encoded:
    """A classifier that takes no labels with a gap, as where rows lack one of three: 0 to C − 1 stand for
    ``classes_`` (C,)."""

    classifier: Any
    classes_: np.ndarray

    def predict_proba(self, x: np.ndarray, **limit: Any) -> np.ndarray:
        """Return the probabilities (N, C) of ``classes_``."""
        return np.asarray(self.classifier.predict_proba(x, **limit))


class FirstTrees:
    """A boosted model whose first trees alone predict; ``limit`` is as in ``LibraryEstimator``."""

    def __init__(self, model: Any, limit: str, trees: int) -> None:
        self.model, self.limit, self.trees = model, limit, trees
        self.classes_ = getattr(model, "classes_", None)
        if hasattr(model, "predict_proba"):
            self.predict_proba = partial(self.predict, method="predict_proba")

    def predict(self, x: np.ndarray, method: str = "predict") -> np.ndarray:
        if not self.limit:
            stages = getattr(self.model, f"staged_{method}")(x)
            return np.asarray(next(islice(stages, self.trees - 1, None)))
        given = {self.limit: (0, self.trees) if self.limit == "iteration_range" else self.trees}
        return np.asarray(getattr(self.model, method)(x, **given))


class LibraryEstimator(Estimators):
    """Base class of learners that are a pair of a library's estimators, a classifier and a regressor."""

    estimator: ClassVar[str] = ""
    """Import path of the two, without the words Classifier and Regressor, as in ``sklearn.ensemble.RandomForest``."""
    named: ClassVar[tuple[str, ...]] = ()
    """Names of the hyperparameters in the library, in their order."""
    limit: ClassVar[str] = ""
    """The argument by which a boosted model predicts with the first of its ``trees`` alone, if the library has one."""

    def settings(self, data: TrainingSet) -> dict[str, Any]:
        """Return the arguments of the estimator."""
        values = (getattr(self, field.name) for field in fields(self))
        return {name: value for name, value in zip(self.named, values, strict=True) if value is not None}

    def along(self, sample: Sample, values: Sequence[int], inputs: Inputs) -> Sequence[np.ndarray]:
        longest = replace(self, trees=max(values)).fit(sample)  # type: ignore[call-arg]
        if len(getattr(longest.estimator, "classes_", (0, 1))) == 1:
            return [longest.predict(inputs)] * len(values)
        cut = [FirstTrees(longest.estimator, self.limit, trees) for trees in values]
        return [replace(longest, estimator=estimator).predict(inputs) for estimator in cut]

    def trained(self, data: TrainingSet) -> Any:
        module, _, name = self.estimator.rpartition(".")
        kind = getattr(import_module(module), name + ("Classifier" if data.task == "classification" else "Regressor"))
        return fitted(kind(**self.settings(data)), data)


class Forest(LibraryEstimator):
    """Base class of scikit-learn's forests, whose hyperparameters are ``trees``, ``leaf`` and ``share``."""

    offers = frozenset({"targets", "randomness"})
    named = ("n_estimators", "min_samples_leaf", "max_features")
    grid = tuple({"leaf": leaf, "share": share} for leaf in (8, 3, 1) for share in (None, 0.1))
    regression_grid = tuple({"leaf": leaf, "share": share} for leaf in (8, 3, 1) for share in (0.1, 0.33, None))
    """Larger leaves first, then fewer features at a split."""
    quick: ClassVar = {"trees": 100}
