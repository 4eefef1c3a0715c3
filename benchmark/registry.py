"""Registry of methods: ``@method`` registers one, ``discover`` imports those in ``methods/``."""

import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from benchmark.backbones import SELECTED
from benchmark.errors import UserError, did_you_mean
from benchmark.settings import assignments
from benchmark.types import MLP, PAPER, SAMPLINGS, TASKS, Method, Sampling, Task

LAM = "lam"
"""Name of the hyperparameter that weights a consistency loss."""
T = TypeVar("T", bound=type)
Family = Callable[[str], type]
_methods: dict[str, type] = {}
_families: dict[str, tuple[str, Family]] = {}


def method(
    name: str,
    *,
    title: str,
    regression: Mapping[str, Any] | None = None,
    tasks: Sequence[Task] = TASKS,
    revision: int = 1,
) -> Callable[[T], T]:
    """Register a frozen dataclass as the method ``name``.

    ``title`` is shown in tables and may use the fields, as in ``"Bagging K={k}"``; ``regression`` holds the defaults
    that differ for regression, and ``tasks`` are those that it can learn. Raise the ``revision`` of a method of the
    suite with each change of its predictions. Raises ValueError if the file has another
    name, or another file registered this one.
    """

    def register(cls: T) -> T:
        other = _methods.get(name, cls)
        if other.__module__ != cls.__module__:
            raise ValueError(f"method {name!r} is registered by {other.__module__} and by {cls.__module__}")
        if cls.__module__.startswith("methods.") and cls.__module__ != f"methods.{name}":
            raise ValueError(f"method {name!r} is in {cls.__module__}: a method and its file have the same name")
        _methods[name] = describe(cls, name, title=title, regression=regression, tasks=tasks)
        cls.revision = revision  # type: ignore[attr-defined]
        return cls

    return register


def describe(
    cls: T, name: str, *, title: str, regression: Mapping[str, Any] | None = None, tasks: Sequence[Task] = TASKS
) -> T:
    """Attach the attributes of a method to a frozen dataclass, as in ``method``; ``tasks`` are those it can learn."""
    if not is_dataclass(cls):
        raise TypeError(
            f"method {name!r}: {cls.__name__} is not a dataclass: put @dataclass(frozen=True) below @method"
        )
    cls.name, cls.title, cls.regression = name, title, dict(regression or {})  # type: ignore[attr-defined]
    cls.tasks, cls.revision = tuple(tasks), 1  # type: ignore[attr-defined]
    return cls


def family(name: str, *, title: str) -> Callable[[Family], Family]:
    """Register a function that makes a method class from the text after ``name:``, for an open-ended set of methods.

    Its classes are called ``name:text`` (``describe``). ``title`` describes them in the list of methods.
    """

    def register(function: Family) -> Family:
        _families[name] = title, function
        return function

    return register


@cache
def discover() -> tuple[dict[str, type], dict[str, str]]:
    """Return the classes of ``methods/`` by name, and the reason for each file that cannot be imported."""
    unavailable = {}
    for module in _modules():
        try:
            importlib.import_module(f"methods.{module}")
        except ImportError as error:
            unavailable[module] = str(error)
        except (Exception, SystemExit) as error:  # a mistake in one file must not stop the others
            unavailable[module] = f"{type(error).__name__}: {error}"
    return dict(sorted(_methods.items())), unavailable


def _modules() -> list[str]:
    """Return the modules of the suite, and those in the user's folder, which may hold anything, that register one."""
    suite, *others = importlib.import_module("methods").__path__
    names = {module.name for module in pkgutil.iter_modules([suite])}
    paths = (path for folder in others for path in Path(folder).glob("*.py"))
    names |= {path.stem for path in paths if b"benchmark.registry" in path.read_bytes()}
    return sorted(name for name in names if not name.startswith("_"))


def families() -> dict[str, str]:
    """Return the titles of the families by name."""
    discover()
    return {name: title for name, (title, _) in _families.items()}


def find(text: str) -> tuple[type, list[str]]:
    """Return the class of the method that ``text`` names, and the settings after the name. Raises UserError."""
    name, *settings = text.split(":")
    if name not in {**_methods, **_families} and name in _modules():
        with suppress(Exception, SystemExit):  # reported by ``discover``
            importlib.import_module(f"methods.{name}")
    if name in _families:
        return _families[name][1](settings[0] if settings else ""), settings[1:]
    if name in _methods:
        return _methods[name], settings
    methods, unavailable = discover()
    if name in unavailable:
        raise UserError(f"method {name!r} is not available: {unavailable[name]}")
    raise did_you_mean("method", name, sorted([*methods, *_families]))


def load_file(path: Path) -> type:
    """Return the one method that the Python file at ``path`` registers. Raises UserError."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    folders = [Path(folder).resolve() for folder in importlib.import_module("methods").__path__]
    inside = path.resolve().parent in folders
    before = dict(_methods)
    spec = importlib.util.spec_from_file_location(f"methods.{path.stem}" if inside else f"file:{path}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up annotations in it
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(spec.name)
        raise UserError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
    new = [cls for name, cls in _methods.items() if before.get(name) is not cls]
    if len(new) != 1:
        raise UserError(f"{path}: expected one class with @method(...), found {len(new)}")
    return new[0]


def make_method(
    text: str,
    task: Task,
    overrides: Mapping[str, str] | None = None,
    backbone: str = MLP,
    sampling: Sampling = PAPER,
) -> Method:
    """Return the method that ``text`` names (``twin`` or ``twin:lam=30:members=3``), with the defaults for ``task``.

    On another ``backbone`` or ``sampling``, the default λ is the one the rule selects there, if known. ``overrides``
    are further hyperparameters; ``text`` takes precedence, and those the method does not have are ignored (the caller
    checks whether any method took them). Raises UserError for an unknown method, hyperparameter or value, and for a
    method that cannot learn ``task``.
    """
    cls, settings = find(text)
    if task not in cls.tasks:  # type: ignore[attr-defined]
        learns = " and ".join(cls.tasks)  # type: ignore[attr-defined]
        raise UserError(f"{cls.name} learns {learns}, not {task}: choose another method or dataset")  # type: ignore[attr-defined]
    names = [f.name for f in fields(cls)]
    given = assignments(settings, text)
    shared = {key: value for key, value in (overrides or {}).items() if key in names}
    return build(cls, task, _selected(cls, task, backbone, sampling) | shared | given)


def _selected(cls: type, task: Task, backbone: str, sampling: Sampling) -> dict[str, str]:
    """Return the λ that the rule selects on ``backbone`` under ``sampling``, if it is known and the method has one."""
    lam = SELECTED.get((backbone, sampling), {}).get(task)
    return {} if lam is None or LAM not in [f.name for f in fields(cls)] else {LAM: str(lam)}


def trains_networks(cls: type) -> bool:
    """Return whether ``fit`` only describes networks for the harness to train, the default for a class."""
    return bool(getattr(cls, "trains_networks", True))


def own_features(cls: type) -> tuple[str, ...]:
    """Return the features of molecules that a method reads in place of a dataset's; none if it takes the dataset's."""
    return tuple(getattr(cls, "features", ()))


def is_control(cls: type) -> bool:
    """Return whether a method is only there to compare others with, by the ``control`` of its class."""
    return bool(getattr(cls, "control", False))


def refuse_backbone(method: Method, backbone: str) -> None:
    """Raise UserError if ``backbone`` does not apply to a method because it does not train with ``fit_stack``."""
    if backbone != MLP and not trains_networks(type(method)):
        raise UserError(
            f"{method.name} does not train with fit_stack, so it cannot have the backbone {backbone}: leave out "
            "the backbone or the method"
        )


def refuse_sampling(method: Method, sampling: Sampling) -> None:
    """Raise UserError if a method needs more than the sample that ``sampling`` grants a retraining."""
    granted = getattr(type(method), "samplings", SAMPLINGS)
    if sampling not in granted:
        raise UserError(
            f"{method.name} needs more of the training pool than a retraining sees under --sampling {sampling}: leave "
            f"out the method, or use --sampling {' or '.join(granted)}"
        )


def doubtful_lambda(method: Method, task: Task, backbone: str, sampling: Sampling = PAPER) -> str:
    """Return a warning if a method has its default λ where the rule has not selected one, else ``""``."""
    lam = params(method).get(LAM)
    known = (backbone, sampling) == (MLP, PAPER) or task in SELECTED.get((backbone, sampling), {})
    if known or lam != _defaults(method, task).get(LAM, 0):
        return ""
    options = {"--backbone": (backbone, MLP), "--sampling": (sampling, PAPER)}
    changed = {option: value for option, (value, usual) in options.items() if value != usual}
    return (
        f"{method.name}: λ={lam:g} was selected for another {' and '.join(option[2:] for option in changed)} and may "
        f"be wrong on {' and '.join(changed.values())}: select one with python -m benchmark study lambda-rule "
        f"{' '.join(f'{option} {value}' for option, value in changed.items())}, and pass {method.name}:{LAM}=VALUE"
    )


def build(cls: type, task: Task, given: Mapping[str, str], kind: str = "hyperparameter") -> Method:
    """Return an instance of a registered class, with hyperparameters given as text. Raises UserError."""
    hints = get_type_hints(cls, include_extras=True)
    kinds = {f.name: hints[f.name] for f in fields(cls)}
    values = dict(cls.regression) if task == "regression" else {}  # type: ignore[attr-defined]
    for key, text in given.items():
        if key not in kinds:
            raise did_you_mean(f"{kind} of {cls.name}:", key, list(kinds))  # type: ignore[attr-defined]
        try:
            values[key] = TypeAdapter(kinds[key]).validate_strings(text)
        except ValidationError as error:
            raise UserError(f"{cls.name}: {key}={text}: {error.errors()[0]['msg']}") from error  # type: ignore[attr-defined]
    try:
        return cls(**values)
    except (TypeError, ValueError) as error:
        raise UserError(f"{cls.name}: {error}") from error  # type: ignore[attr-defined]


def params(method: Method) -> dict[str, Any]:
    """Return the hyperparameters of a method by name."""
    return asdict(method)  # type: ignore[call-overload]


def spelled(method: Method, task: Task, backbone: str = MLP, sampling: Sampling = PAPER) -> str:
    """Return the method as the command line spells it: its name and the hyperparameters that are not the defaults."""
    return ":".join([method.name, *_changed(method, task, backbone, sampling)])


def _defaults(method: Method, task: Task, backbone: str = MLP, sampling: Sampling = PAPER) -> dict[str, Any]:
    defaults = {f.name: f.default for f in fields(method) if f.default is not MISSING}  # type: ignore[arg-type]
    selected = {name: float(text) for name, text in _selected(type(method), task, backbone, sampling).items()}
    return defaults | (type(method).regression if task == "regression" else {}) | selected  # type: ignore[attr-defined]


def _changed(method: Method, task: Task, backbone: str = MLP, sampling: Sampling = PAPER) -> list[str]:
    defaults = _defaults(method, task, backbone, sampling)
    values = params(method).items()  # compared by repr, which distinguishes 1 from 1.0
    return [f"{key}={value}" for key, value in values if repr(defaults.get(key)) != repr(value)]


def title(method: Method, task: Task) -> str:
    """Return the title for tables, with the hyperparameters that it omits and that are not the defaults."""
    included = set(re.findall(r"{(\w+)", method.title))
    extra = [part for part in _changed(method, task) if part.partition("=")[0] not in included]
    return ", ".join([method.title.format(**params(method)), *extra])
