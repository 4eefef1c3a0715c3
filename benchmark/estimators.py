"""Methods as scikit-learn estimators, and retrainings of any estimator.

>>> from sklearn.datasets import load_breast_cancer
>>> X, y = load_breast_cancer(return_X_y=True)
>>> model = TwinBootstrapClassifier(hidden=32, random_state=1).fit(X[:400], y[:400])
>>> model.score(X[400:], y[400:]) > 0.95
True
>>> runs = retrain(model, X[:400], y[:400], X[400:], seeds=[1, 2])
>>> runs.shape
(2, 169, 2)
>>> flipped = runs[0].argmax(axis=1) != runs[1].argmax(axis=1)
>>> bool(flipped.mean() < 0.02)
True
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.train import Mean, generator, sample_for
from benchmark.train.ensemble import TargetScaler
from benchmark.types import PAPER, Examples, Problem, Recipe, Task

DEFAULTS = Recipe()


@dataclass(eq=False, repr=False, kw_only=True)
class _Networks(BaseEstimator):  # type: ignore[misc]
    """Networks of one train seed, trained as in the benchmark, with its defaults.

    Columns other than bits, and the target of a regression, are standardised over the training rows. The estimator
    draws a bootstrap for each network itself.
    """

    hidden: int = DEFAULTS.hidden
    """Width of both hidden layers, a multiple of 16."""
    lr: float = DEFAULTS.lr
    weight_decay: float = DEFAULTS.weight_decay
    batch_size: int = DEFAULTS.batch_size
    epochs: int = DEFAULTS.epochs
    standardise: bool | None = DEFAULTS.standardise
    """Whether the networks learn a regression's targets standardised, whatever unit these have."""
    random_state: int | np.random.RandomState | None = None
    """The benchmark's train seed if an integer: it fixes bootstraps, initialisation and batch order."""

    _text: ClassVar[str] = "erm"
    """The method that defines the networks and their training rows."""

    def _train(self, X: np.ndarray, y: np.ndarray, task: Task, n_outputs: int) -> None:
        """Train ``networks_`` and set the scaling of their inputs. Raises ValueError if a parameter is out of range."""
        recipe = Recipe(**{name: getattr(self, name) for name in Recipe.model_fields})
        bits = ((X == 0) | (X == 1)).all(axis=0)
        scaler = StandardScaler().fit(X)
        self.offset_, self.scale_ = np.where(bits, 0.0, scaler.mean_), np.where(bits, 1.0, scaler.scale_)
        x, names = ((X - self.offset_) / self.scale_).astype(np.float32), np.arange(len(X)).astype(str)
        problem = Problem("X", task, n_outputs, Examples(x, y, names, np.full(len(X), "")), recipe=recipe)
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(2**31)
        try:
            method = make_method(self._text.format(**self.get_params()), task)
        except UserError as error:  # scikit-learn's convention
            raise ValueError(str(error)) from error
        model: Any = method.fit(sample_for(problem, PAPER, int(seed))[0])
        ensembles = model.parts if isinstance(model, Mean) else [model]
        self.networks_ = [network for ensemble in ensembles for network in ensemble.parts]
        self.units_ = [
            unit for ensemble in ensembles for unit in ensemble.units or [TargetScaler()] * len(ensemble.parts)
        ]

    @torch.no_grad()
    def _members(self, X: Any) -> np.ndarray:
        """Return the outputs of each network for ``X``, (K, T, C).

        They are computed in double precision: in single, a row's last bits depend on the rows beside it.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        x = torch.from_numpy(np.asarray((X - self.offset_) / self.scale_, dtype=np.float64))
        outputs = []
        for network, unit in zip(self.networks_, self.units_, strict=True):
            exact = network.with_state([weights.double() for weights in network.state])
            outputs.append(exact.after(x[None] @ exact.state[0])[0] * unit.deviation + unit.mean)
        return np.asarray(torch.stack(outputs).numpy())


class _Classifier(ClassifierMixin, _Networks):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> Self:
        """Train on finite numbers ``X`` (N, D) and two or more classes of any type ``y`` (N,)."""
        X, y = validate_data(self, X, y, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, classes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class, {str(self.classes_[0])!r}: a classifier needs two or more")
        self._train(X, classes.astype(np.int64), "classification", len(self.classes_))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities (T, C) in the order of ``classes_``, averaged over the networks."""
        return np.asarray(torch.from_numpy(self._members(X)).softmax(-1).mean(0).numpy())

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class (T,); the first of ``classes_`` wins a tie."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


class _Regressor(RegressorMixin, _Networks):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> Self:
        """Train on finite numbers ``X`` (N, D) and ``y`` (N,)."""
        X, y = validate_data(self, X, y, y_numeric=True, ensure_min_samples=2)
        self.y_mean_, self.y_scale_ = float(np.mean(y)), float(np.std(y)) or 1.0
        self._train(X, ((y - self.y_mean_) / self.y_scale_).astype(np.float32), "regression", 1)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return targets (T,), averaged over the networks."""
        return np.asarray(self._members(X)[..., 0].mean(axis=0) * self.y_scale_ + self.y_mean_)


@dataclass(eq=False, repr=False, kw_only=True)
class _Bagging(_Networks):
    members: int = 5
    """Number of averaged networks, each trained on its own bootstrap."""

    _text: ClassVar[str] = "bagging:k={members}"


@dataclass(eq=False, repr=False, kw_only=True)
class _Twin(_Networks):
    members: int = 2
    """Number of networks trained together, each on its own bootstrap."""
    lam: float = 300.0
    """Weight of the consistency loss."""

    _text: ClassVar[str] = "twin:lam={lam}:members={members}"


class ErmClassifier(_Classifier):
    """One network on one bootstrap: the reference of the benchmark."""


class ErmRegressor(_Regressor):
    """One network on one bootstrap: the reference of the benchmark."""


class BootstrapBaggingClassifier(_Classifier, _Bagging):
    """Networks on independent bootstraps, averaged. Breiman 1996, doi:10.1007/BF00058655."""


class BootstrapBaggingRegressor(_Regressor, _Bagging):
    """Networks on independent bootstraps, averaged. Breiman 1996, doi:10.1007/BF00058655."""


class TwinBootstrapClassifier(_Classifier, _Twin):
    """Networks on independent bootstraps, pulled together by a consistency loss (paper, Algorithm 1).

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> TwinBootstrapClassifier(hidden=32, lr=0.01, lam=10, random_state=1).fit(X, y).score(X, y) > 0.95
    True
    """


@dataclass(eq=False, repr=False, kw_only=True)
class TwinBootstrapRegressor(_Regressor, _Twin):
    """Networks on independent bootstraps, pulled together by a consistency loss (paper, regression appendix)."""

    lam: float = 3.0


def retrain(estimator: Any, X: Any, y: Any, X_new: Any, seeds: Sequence[int]) -> np.ndarray:
    """Retrain ``estimator`` on one bootstrap per train seed and return its predictions for ``X_new`` (T, D).

    Returns probabilities (R, T, C) in the order of the sorted classes, or targets (R, T, 1), as accepted by
    ``leaderboard.score``. ``estimator`` is any scikit-learn estimator or pipeline on arrays or data frames. Its
    ``random_state``, if any, is set to the seed, and it is trained on the same rows as the benchmark's ERM at that
    seed; the estimators of this module draw their bootstraps themselves. If a classifier has no ``predict_proba``, the
    class that it predicts has probability 1.
    """
    params = estimator.get_params()
    draws_itself = any(isinstance(part, _Networks) for part in (estimator, *params.values()))
    states = [name for name in params if name.rpartition("__")[2] == "random_state"]
    n, y = len(y), np.asarray(y)
    runs = []
    for seed in seeds:
        rows = np.arange(n) if draws_itself else generator("bootstrap", seed).integers(0, n, size=n)
        fitted = clone(estimator).set_params(**dict.fromkeys(states, seed))
        fitted.fit(X.iloc[rows] if hasattr(X, "iloc") else X[rows], y[rows])
        classify = is_classifier(fitted)
        runs.append(_probabilities(fitted, X_new, np.unique(y)) if classify else fitted.predict(X_new)[:, None])
    return np.stack(runs)


def _probabilities(fitted: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """Return probabilities (T, C) of all ``classes``, even if the bootstrap lacks one."""
    if not hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict(X)[:, None] == classes, dtype=float)
    values = np.zeros((len(X), len(classes)))
    values[:, np.searchsorted(classes, fitted.classes_)] = fitted.predict_proba(X)
    return values
