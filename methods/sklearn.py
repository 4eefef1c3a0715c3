"""Any scikit-learn estimator as a method, by its import path: ``sklearn:sklearn.svm.SVC:C=10``."""

from __future__ import annotations

import math
import re
import warnings
from contextlib import suppress
from dataclasses import asdict, field, make_dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from benchmark.errors import UserError, did_you_mean
from benchmark.registry import describe, family
from benchmark.types import Task
from methods._estimator import Estimators, Sample

SET_HERE = {"random_state", "n_jobs"}
"""Parameters that are not the user's: the train seed decides, and a worker has one thread."""
TAKEN = {
    *("name", "title", "regression", "tasks", "builds_on", "trains_networks"),
    *("kind", "path", "doubt", "fit", "trained"),
}
"""What a method has itself, so that no parameter of an estimator can be called so."""


class Wrapped(Estimators):
    """An estimator of class ``kind``, as it is: features are scaled by the dataset, the target is not."""

    kind: ClassVar[Any]
    path: ClassVar[str]
    tasks: ClassVar[tuple[Task, ...]]

    def __post_init__(self) -> None:
        """Raises ValueError for a parameter that scikit-learn's own check refuses."""
        estimator = self._estimator(0)
        if hasattr(estimator, "_parameter_constraints"):
            estimator._validate_params()

    @property
    def doubt(self) -> str:
        """What to know before its results are read; empty if nothing."""
        if "classification" not in self.tasks or hasattr(self._estimator(0), "predict_proba"):
            return ""
        return (
            f"{self.path} gives no probabilities (no predict_proba): its classes count as probabilities of 0 and 1, so "
            "that log-loss and sym-KL say little; accuracy and churn are right"
        )

    def _estimator(self, random_state: int) -> Any:
        own = {"random_state": random_state}
        if not self.kind.__module__.startswith("sklearn."):  # whose estimators have one thread unless told otherwise
            own["n_jobs"] = 1
        estimator = self.kind(**asdict(self))  # type: ignore[call-overload]
        return estimator.set_params(**{k: v for k, v in own.items() if k in estimator.get_params(deep=False)})

    def trained(self, sample: Sample) -> Any:
        with warnings.catch_warnings():
            # Of SVC(probability=True) in scikit-learn 1.9 and 1.10, for every fit: it advises an estimator that the
            # command line cannot spell (the method svm is made so), and constraints.txt holds a version that has it.
            warnings.filterwarnings("ignore", "The `probability` parameter was deprecated", FutureWarning)
            return self._estimator(sample.random_state).fit(sample.x, sample.y)

    def __reduce__(self) -> tuple[Any, ...]:
        """The class is made by this process, and has to be made again by another."""
        return _blank, (self.path,), vars(self)


def _blank(path: str) -> Wrapped:
    made: Wrapped = object.__new__(wrap(path))
    return made


@family("sklearn", title="Any scikit-learn estimator, as in sklearn:sklearn.svm.SVC:C=10")
@cache
def wrap(path: str) -> type:
    """The method that trains the estimator at ``path``, with its parameters as hyperparameters.

    Those whose default is a number, a text, true, false or none can be set. Raises UserError for a path at which no
    classifier and no regressor is, and for one that needs more than such parameters.
    """
    kind = _class(path)
    try:
        example = kind()
    except TypeError as error:
        raise UserError(
            f"sklearn:{path}: {error}: it needs what the command line cannot give; "
            "write a method of your own (python -m benchmark new-method NAME)"
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
        namespace={"__module__": __name__, "kind": kind, "path": path, "builds_on": (kind,)},
    )
    tasks: tuple[Task, ...] = ("classification",) if is_classifier(example) else ("regression",)
    return describe(cls, f"sklearn:{path}", title=kind.__name__, tasks=tasks)


def _class(path: str) -> Any:
    def fits(found: object) -> bool:
        return isinstance(found, type) and issubclass(found, BaseEstimator) and not found.__name__.startswith("_")

    module, _, name = path.rpartition(".")
    if not module or not all(part.isidentifier() for part in path.split(".")):
        raise UserError(f"method 'sklearn:{path}': expected an estimator's import path, as in sklearn:sklearn.svm.SVC")
    try:
        found = import_module(module)
    except (Exception, SystemExit) as error:  # of whatever is at that path
        raise UserError(
            f"sklearn:{path}: {module} cannot be imported: {type(error).__name__}: {error}; correct the path, or "
            "install the package that has it"
        ) from error
    if not fits(getattr(found, name, None)):
        raise did_you_mean(f"estimator of {module}:", name, sorted(k for k, v in vars(found).items() if fits(v)))
    return getattr(found, name)


def _plain(value: object) -> bool:
    """Whether a value can be written on the command line and read back."""
    return value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))


def _value(text: str) -> object:
    """``10``, ``1e-3``, ``true`` and ``none`` as what they are, and other words as they stand."""
    value: object = {"true": True, "false": False, "none": None}.get(text.lower(), text)
    for number in (float, int):  # as whole a number as it can be
        with suppress(ValueError):
            value = number(text)
    if not _plain(value) or (isinstance(value, str) and not re.fullmatch(r"[\w.+-]+", value)):
        raise ValueError("expected a number, true, false, none, or a word")
    return value


VALUE = Annotated[Any, BeforeValidator(_value)]
"""The type of every hyperparameter: what a parameter may be is the estimator's own to say."""
