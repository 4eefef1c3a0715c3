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
from contextlib import suppress
from dataclasses import field, make_dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from types import ModuleType
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from benchmark.errors import UserError, did_you_mean
from benchmark.files import install
from benchmark.learners import _library
from benchmark.learners._estimator import Estimators, TrainingSet
from benchmark.pipeline import describe
from benchmark.types import Task

TAKEN = {*dir(Estimators), "kind", "path", "trained"}
"""Attributes of a learner, which cannot also be names of parameters."""


class Wrapped(Estimators):
    """An estimator of class ``kind``. Features are scaled by the dataset; targets are not scaled."""

    kind: ClassVar[Any]
    path: ClassVar[str]

    def __post_init__(self) -> None:
        """Raise ValueError for a parameter rejected by scikit-learn's validation."""
        estimator = _library.seeded(self.kind(**self.params), 0)
        if hasattr(estimator, "_parameter_constraints"):
            estimator._validate_params()

    @property
    def doubt(self) -> str:
        if "classification" not in self.tasks or hasattr(self.kind(**self.params), "predict_proba"):
            return ""
        return (
            f"{self.path} gives no probabilities (no predict_proba): its classes count as probabilities of 0 and 1, so "
            "log-loss and sym-KL mean little; accuracy and churn are valid"
        )

    def trained(self, data: TrainingSet) -> Any:
        return _library.fitted(self.kind(**self.params), data)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path: another process must create the class itself."""
        return _blank, (self.path,), vars(self)


def _blank(path: str) -> Wrapped:
    blank: Wrapped = object.__new__(wrap(path))
    return blank


@cache
def wrap(path: str) -> type[Wrapped]:
    """Return the learner that trains the estimator at ``path``, with its parameters as hyperparameters.

    An estimator has ``fit``, ``predict`` and ``get_params``. It is a classifier if scikit-learn's tags say so or,
    without tags, if it has ``predict_proba``; one that takes a seed counts as random. Parameters whose default is a
    number, text, true, false or none can be set. Raises UserError unless ``path`` names a classifier or regressor that
    needs no other parameters.
    """
    kind = _class(path)
    try:
        example = kind()
    except TypeError as error:
        raise UserError(
            f"sklearn:{path}: {error}: it needs parameters that the command line cannot give; "
            "write your own method (churn new-method NAME)"
        ) from error
    if (task := _task(example)) is None:
        raise UserError(f"sklearn:{path}: neither a classifier nor a regressor: name one, as in sklearn.svm.SVC")
    library, given = _library.library_of(kind), _library.parameters(example)
    fixed = {*_library.SEEDS, *_library.THREADS}
    fixed |= {*_library.SETTINGS.get(library, ()), *_library.SYNONYMS.get(library, ())}
    defaults = {name: default for name, default in given.items() if name not in fixed | TAKEN and _plain(default)}
    offers = {"randomness"} if given.keys() & {*_library.SEEDS} else set()
    if task == "regression" or "sample_weight" in signature(kind.fit).parameters:
        offers.add("targets")
    cls = make_dataclass(
        kind.__name__,
        [(name, VALUE, field(default=default)) for name, default in defaults.items()],
        bases=(Wrapped,),
        frozen=True,
        namespace={"__module__": __name__, "kind": kind, "path": path, "offers": frozenset(offers)},
    )
    return describe(cls, f"sklearn:{path}", title=kind.__name__, tasks=(task,), revision=1)


def _task(estimator: Any) -> Task | None:
    """Return what an estimator learns; None if it is neither a classifier nor a regressor."""
    from sklearn.base import is_classifier, is_regressor

    with suppress(Exception):  # one that does not derive from scikit-learn's classes has no tags
        if is_classifier(estimator) or is_regressor(estimator):
            return "classification" if is_classifier(estimator) else "regression"
        return None
    return "classification" if hasattr(estimator, "predict_proba") else "regression"


def _class(path: str) -> Any:
    def fits(value: object) -> bool:
        can = all(hasattr(value, name) for name in ("fit", "predict", "get_params"))
        return isinstance(value, type) and can and not value.__name__.startswith("_")

    module_name, _, name = path.rpartition(".")
    if not module_name or not all(part.isidentifier() for part in path.split(".")):
        raise UserError(f"method 'sklearn:{path}': expected an estimator's import path, as in sklearn:sklearn.svm.SVC")
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:  # any code may be at that path
        missing = ((error.name or "") if isinstance(error, ModuleNotFoundError) else "").partition(".")[0]
        remedy = f"install the package of {missing or module_name}"
        if missing in _library.SETTINGS:
            remedy += f": {install(_library.BOOSTING)}"
        raise UserError(
            f"sklearn:{path}: {module_name} cannot be imported: {type(error).__name__}: {error}; correct the path or "
            f"{remedy}"
        ) from error
    found = getattr(module, name, None)
    if isinstance(found, ModuleType):
        inside = ", ".join(sorted(key for key, value in vars(found).items() if fits(value))) or "there is none"
        raise UserError(f"sklearn:{path}: it is a module: name an estimator in it: {inside}")
    if not fits(found):
        raise did_you_mean(f"estimator of {module_name}:", name, sorted(k for k, v in vars(module).items() if fits(v)))
    return found


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
