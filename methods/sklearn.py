"""Any scikit-learn estimator: a classifier or regressor, named by its import path, as in
``sklearn:sklearn.svm.SVC:C=10``.

The estimator may also be your own, or one from a package that follows scikit-learn's interface. Its parameters are set
like any hyperparameter, as a number, true, false, none or a word. Its ``random_state`` is drawn from the train seed,
and it runs on one thread. If a classifier has no ``predict_proba``, the class that it predicts has probability 1.

Source: the documentation of the estimator.

Difference: none; it is fitted to the rows of ERM.

Cost: that of the estimator; trains no network.
"""

import math
import re
import warnings
from contextlib import suppress
from dataclasses import asdict, field, make_dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from benchmark.errors import UserError, did_you_mean
from benchmark.registry import describe, family
from benchmark.types import Task
from methods._estimator import Estimators, TrainingSet

SET_HERE = {"random_state", "n_jobs"}
"""Parameters that users cannot set: they follow from the train seed and the single thread of a worker."""
TAKEN = {
    *("name", "title", "regression", "tasks", "revision", "builds_on", "trains_networks"),
    *("kind", "path", "doubt", "fit", "trained"),
}
"""Attributes of a method, which cannot also be names of parameters."""


class Wrapped(Estimators):
    """An estimator of class ``kind``. Features are scaled by the dataset; targets are not scaled."""

    kind: ClassVar[Any]
    path: ClassVar[str]
    tasks: ClassVar[tuple[Task, ...]]

    def __post_init__(self) -> None:
        """Raise ValueError for a parameter rejected by scikit-learn's validation."""
        estimator = self._estimator(0)
        if hasattr(estimator, "_parameter_constraints"):
            estimator._validate_params()

    @property
    def doubt(self) -> str:
        """A caveat about the results; empty if there is none."""
        if "classification" not in self.tasks or hasattr(self._estimator(0), "predict_proba"):
            return ""
        return (
            f"{self.path} gives no probabilities (no predict_proba): its classes count as probabilities of 0 and 1, so "
            "log-loss and sym-KL mean little; accuracy and churn are valid"
        )

    def _estimator(self, random_state: int) -> Any:
        fixed = {"random_state": random_state}
        if not self.kind.__module__.startswith("sklearn."):  # scikit-learn's estimators default to one thread
            fixed["n_jobs"] = 1
        estimator = self.kind(**asdict(self))  # type: ignore[call-overload]
        return estimator.set_params(**{k: v for k, v in fixed.items() if k in estimator.get_params(deep=False)})

    def trained(self, data: TrainingSet) -> Any:
        with warnings.catch_warnings():
            # scikit-learn 1.9 and 1.10 warn at every fit of SVC(probability=True) and recommend an estimator that the
            # command line cannot express (the method svm uses it). constraints.txt pins one of these versions.
            warnings.filterwarnings("ignore", "The `probability` parameter was deprecated", FutureWarning)
            return self._estimator(data.random_state).fit(data.x, data.y)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path: another process must create the class itself."""
        return _blank, (self.path,), vars(self)


def _blank(path: str) -> Wrapped:
    blank: Wrapped = object.__new__(wrap(path))
    return blank


@family("sklearn", title="Any scikit-learn estimator, as in sklearn:sklearn.svm.SVC:C=10")
@cache
def wrap(path: str) -> type:
    """Return the method that trains the estimator at ``path``, with its parameters as hyperparameters.

    Parameters whose default is a number, text, true, false or none can be set. Raises UserError unless ``path`` names
    a classifier or regressor that needs no other parameters.
    """
    from sklearn.base import is_classifier, is_regressor

    kind = _class(path)
    try:
        example = kind()
    except TypeError as error:
        raise UserError(
            f"sklearn:{path}: {error}: it needs parameters that the command line cannot give; "
            "write your own method (python -m benchmark new-method NAME)"
        ) from error
    if not (is_classifier(example) or is_regressor(example)):
        raise UserError(f"sklearn:{path}: neither a classifier nor a regressor: name one, as in sklearn.svm.SVC")
    defaults = {
        name: default
        for name, default in example.get_params(deep=False).items()
        if name not in SET_HERE | TAKEN and _plain(default)
    }
    cls = make_dataclass(
        kind.__name__,
        [(name, VALUE, field(default=default)) for name, default in defaults.items()],
        bases=(Wrapped,),
        frozen=True,
        namespace={"__module__": __name__, "kind": kind, "path": path},
    )
    tasks: tuple[Task, ...] = ("classification",) if is_classifier(example) else ("regression",)
    return describe(cls, f"sklearn:{path}", title=kind.__name__, tasks=tasks)


def _class(path: str) -> Any:
    from sklearn.base import BaseEstimator

    def fits(value: object) -> bool:
        return isinstance(value, type) and issubclass(value, BaseEstimator) and not value.__name__.startswith("_")

    module_name, _, name = path.rpartition(".")
    if not module_name or not all(part.isidentifier() for part in path.split(".")):
        raise UserError(f"method 'sklearn:{path}': expected an estimator's import path, as in sklearn:sklearn.svm.SVC")
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:  # any code may be at that path
        raise UserError(
            f"sklearn:{path}: {module_name} cannot be imported: {type(error).__name__}: {error}; correct the path or "
            "install its package"
        ) from error
    if not fits(getattr(module, name, None)):
        raise did_you_mean(f"estimator of {module_name}:", name, sorted(k for k, v in vars(module).items() if fits(v)))
    return getattr(module, name)


def _plain(value: object) -> bool:
    """Return whether a value can be written on the command line and read back."""
    return value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))


def _value(text: str) -> object:
    """Parse ``10``, ``1e-3``, ``true`` and ``none``; return other words unchanged."""
    value: object = {"true": True, "false": False, "none": None}.get(text.lower(), text)
    for number in (float, int):  # an integer if possible
        with suppress(ValueError):
            value = number(text)
    if not _plain(value) or (isinstance(value, str) and not re.fullmatch(r"[\w.+-]+", value)):
        raise ValueError("expected a number, true, false, none, or a word")
    return value


VALUE = Annotated[Any, BeforeValidator(_value)]
"""The type of every hyperparameter: valid values are up to the estimator."""
