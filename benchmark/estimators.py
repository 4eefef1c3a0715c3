"""Methods as scikit-learn estimators, and retrainings of any estimator.

>>> from sklearn.datasets import load_breast_cancer
>>> X, y = load_breast_cancer(return_X_y=True)
>>> model = MethodClassifier("twin", learner="mlp:hidden=32", random_state=1).fit(X[:400], y[:400])
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
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from benchmark.errors import UserError
from benchmark.learners._estimator import probabilities
from benchmark.registry import make_method, refuse_sampling
from benchmark.train import generator, sample_for
from benchmark.types import PAPER, Examples, Inputs, Problem, Task


class _Method(BaseEstimator):  # type: ignore[misc]
    """A method of the suite, trained as in the benchmark, with its defaults.

    ``method`` and ``learner`` are as on the command line, such as ``twin:lam=30`` and ``mlp:hidden=32``; the learner is
    the paper's perceptron if there is none. An integer as ``random_state`` is the benchmark's train seed, which fixes
    bootstraps, initialisation and batch order; a generator of NumPy, or None, draws one. Columns other than bits, and
    the target of a regression, are standardised over the training rows. The method draws its bootstraps itself.
    """

    def __init__(self, method: str = "twin", *, learner: str | None = None, random_state: Any = None) -> None:
        self.method, self.learner, self.random_state = method, learner, random_state

    def _train(self, X: np.ndarray, y: np.ndarray, task: Task, n_outputs: int) -> None:
        """Train ``model_`` and set the scaling of its inputs. Raises ValueError for what the registry refuses."""
        bits = ((X == 0) | (X == 1)).all(axis=0)
        scaler = StandardScaler().fit(X)
        self.offset_, self.scale_ = np.where(bits, 0.0, scaler.mean_), np.where(bits, 1.0, scaler.scale_)
        inputs, names = self._inputs(X), np.arange(len(X)).astype(str)
        problem = Problem("X", task, n_outputs, Examples(inputs.x, y, names, inputs.smiles))
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(2**31)
        try:
            method = make_method(self.method, task, learner=self.learner or "")
            refuse_sampling(method, PAPER)
            if method.base.reads != "numbers":
                raise UserError(f"{method.base.name} reads {method.base.reads}, and X has numbers: use another learner")
            self.model_ = method.fit(sample_for(problem, PAPER, int(seed))[0])
        except UserError as error:  # scikit-learn's convention
            raise ValueError(str(error)) from error

    def _inputs(self, X: np.ndarray) -> Inputs:
        return Inputs(((X - self.offset_) / self.scale_).astype(np.float32), np.full(len(X), ""))

    def _outputs(self, X: Any) -> np.ndarray:
        """Return what the model predicts for ``X``, (T, C) or (T, 1)."""
        check_is_fitted(self)
        return np.asarray(self.model_.predict(self._inputs(validate_data(self, X, reset=False))), dtype=np.float64)


class MethodClassifier(ClassifierMixin, _Method):  # type: ignore[misc]
    __doc__ = _Method.__doc__

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
        """Return probabilities (T, C) in the order of ``classes_``."""
        return self._outputs(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class (T,); the first of ``classes_`` wins a tie."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


class MethodRegressor(RegressorMixin, _Method):  # type: ignore[misc]
    __doc__ = _Method.__doc__

    def fit(self, X: Any, y: Any) -> Self:
        """Train on finite numbers ``X`` (N, D) and ``y`` (N,)."""
        X, y = validate_data(self, X, y, y_numeric=True, ensure_min_samples=2)
        self.y_mean_, self.y_scale_ = float(np.mean(y)), float(np.std(y)) or 1.0
        self._train(X, ((y - self.y_mean_) / self.y_scale_).astype(np.float32), "regression", 1)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return targets (T,)."""
        return self._outputs(X)[:, 0] * self.y_scale_ + self.y_mean_


def retrain(estimator: Any, X: Any, y: Any, X_new: Any, seeds: Sequence[int]) -> np.ndarray:
    """Retrain ``estimator`` on one bootstrap per train seed and return its predictions for ``X_new`` (T, D).

    Returns probabilities (R, T, C) in the order of the sorted classes, or targets (R, T, 1), as accepted by
    ``leaderboard.score``. ``estimator`` is any scikit-learn estimator or pipeline on arrays or data frames. Its
    ``random_state``, if any, is set to the seed, and it is trained on the same rows as the benchmark's ERM at that
    seed; the estimators of this module draw their bootstraps themselves. If a classifier has no ``predict_proba``, the
    class that it predicts has probability 1.
    """
    params = estimator.get_params()
    draws_itself = any(isinstance(part, _Method) for part in (estimator, *params.values()))
    states = [name for name in params if name.rpartition("__")[2] == "random_state"]
    n, y = len(y), np.asarray(y)
    runs = []
    for seed in seeds:
        rows = np.arange(n) if draws_itself else generator("bootstrap", seed).integers(0, n, size=n)
        fitted = clone(estimator).set_params(**dict.fromkeys(states, seed))
        fitted.fit(X.iloc[rows] if hasattr(X, "iloc") else X[rows], y[rows])
        classify = is_classifier(fitted)
        runs.append(probabilities(fitted, X_new, np.unique(y)) if classify else fitted.predict(X_new)[:, None])
    return np.stack(runs)
