"""Methods by name: ``@method`` registers one, ``methods/`` is walked to find them."""

from __future__ import annotations

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
from types import ModuleType
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from benchmark.backbones import SELECTED
from benchmark.errors import UserError, did_you_mean
from benchmark.settings import assignments
from benchmark.types import MLP, TASKS, Method, Task

LAM = "lam"
"""What methods with a consistency loss call its weight."""
T = TypeVar("T", bound=type)
Family = Callable[[str], type]
_methods: dict[str, type] = {}
_families: dict[str, tuple[str, Family]] = {}


def method(name: str, *, title: str, regression: Mapping[str, Any] | None = None) -> Callable[[T], T]:
    """Register a frozen dataclass as the method ``name``.

    ``title`` is shown in tables and may use the fields, as in ``"Bagging K={k}"``; ``regression`` holds the defaults
    that differ for regression. Raises ValueError for a name that is not its file's, or that another file registered.
    """

    def register(cls: T) -> T:
        known = _methods.get(name)
        if known is not None and known.__module__ != cls.__module__:
            raise ValueError(f"method {name!r} is registered by {known.__module__} and by {cls.__module__}")
        if cls.__module__.startswith("methods.") and cls.__module__ != f"methods.{name}":
            raise ValueError(f"method {name!r} is in {cls.__module__}: a method has the name of its file")
        _methods[name] = describe(cls, name, title=title, regression=regression)
        return cls

    return register


def describe(
    cls: T, name: str, *, title: str, regression: Mapping[str, Any] | None = None, tasks: Sequence[Task] = TASKS
) -> T:
    """Say of a frozen dataclass what makes it a method: see ``method``; ``tasks`` are those that it can learn."""
    if not is_dataclass(cls):
        raise TypeError(f"method {name!r}: {cls.__name__} is no dataclass: put @dataclass(frozen=True) below @method")
    cls.name, cls.title, cls.regression = name, title, dict(regression or {})  # type: ignore[attr-defined]
    cls.tasks = tuple(tasks)  # type: ignore[attr-defined]
    return cls


def family(name: str, *, title: str) -> Callable[[Family], Family]:
    """Register a function from the text after ``name:`` to a method's class, for methods that no file can list.

    Its classes are called ``name:text`` (``describe``). ``title`` says in the list of methods what they are.
    """

    def register(of: Family) -> Family:
        _families[name] = title, of
        return of

    return register


@cache
def discover() -> tuple[dict[str, type], dict[str, str]]:
    """All methods of ``methods/``: the classes by name, and the reason for each file that cannot be imported."""
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
    """The files of ``methods/``: the suite's, and those of the user's folder that are methods of this suite."""
    suite, *own = importlib.import_module("methods").__path__
    names = [module.name for module in pkgutil.iter_modules([suite])]
    names += [path.stem for folder in own for path in Path(folder).glob("*.py") if _is_method(path)]
    return sorted(name for name in dict.fromkeys(names) if not name.startswith("_"))


def _is_method(path: Path) -> bool:
    """Whether a file registers a method: a folder called ``methods`` may hold anything."""
    return b"benchmark.registry" in path.read_bytes()


def families() -> dict[str, str]:
    """The titles of the families, by name."""
    discover()
    return {name: title for name, (title, _) in _families.items()}


def find(text: str) -> tuple[type, list[str]]:
    """The class of the method that ``text`` names, and the settings after the name. Raises UserError."""
    name, *settings = text.split(":")
    if name not in {**_methods, **_families} and name in _modules():
        with suppress(Exception, SystemExit):  # ``discover`` says what is wrong with it
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
    """The one method that the Python file at ``path`` registers, wherever it lies. Raises UserError."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    folders = [Path(folder).resolve() for folder in importlib.import_module("methods").__path__]
    inside = path.resolve().parent in folders
    before = dict(_methods)
    spec = importlib.util.spec_from_file_location(f"methods.{path.stem}" if inside else f"file:{path}", path)
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look up annotations
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(spec.name)
        raise UserError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
    new = [cls for name, cls in _methods.items() if before.get(name) is not cls]
    if len(new) != 1:
        raise UserError(f"{path}: expected one class with @method(...), found {len(new)}")
    return new[0]


def make_method(text: str, task: Task, overrides: Mapping[str, str] | None = None, backbone: str = MLP) -> Method:
    """The method that ``text`` names, ``twin`` or ``twin:lam=30:members=3``, with the defaults for ``task``.

    On another ``backbone`` the default λ is that which the rule selects there, if that is known.

    ``overrides`` are further hyperparameters, which what ``text`` says outdoes; those the method does not have
    are left out (the caller knows whether any method took them). Raises UserError for an unknown method,
    hyperparameter or value, and for a method that cannot learn ``task``.
    """
    cls, settings = find(text)
    if task not in cls.tasks:  # type: ignore[attr-defined]
        learns = " and ".join(cls.tasks)  # type: ignore[attr-defined]
        raise UserError(f"{cls.name} learns {learns}, not {task}: choose another method or dataset")  # type: ignore[attr-defined]
    known = [f.name for f in fields(cls)]
    given = assignments(settings, text)
    shared = {key: value for key, value in (overrides or {}).items() if key in known}
    return build(cls, task, _selected(cls, task, backbone) | shared | given)


def _selected(cls: type, task: Task, backbone: str) -> dict[str, str]:
    """The λ that the rule selects on ``backbone``, for a method that has one, if that is known."""
    lam = SELECTED.get(backbone, {}).get(task)
    return {} if lam is None or LAM not in [f.name for f in fields(cls)] else {LAM: str(lam)}


def trains_networks(cls: type) -> bool:
    """Whether ``fit`` only describes networks, which the harness then trains: so it is unless the class denies it."""
    return bool(getattr(cls, "trains_networks", True))


def refuse_backbone(made: Method, backbone: str) -> None:
    """Raises UserError for a method that cannot have ``backbone``, because it does not train with ``fit_stack``."""
    if backbone != MLP and not trains_networks(type(made)):
        raise UserError(
            f"{made.name} does not train with fit_stack, so it cannot have the backbone {backbone}: leave the backbone "
            "or the method out"
        )


def doubtful_lambda(made: Method, task: Task, backbone: str) -> str:
    """Says so if a method has the default λ on a backbone for which the rule has selected none; else empty."""
    if (
        backbone == MLP
        or task in SELECTED.get(backbone, {})
        or params(made).get(LAM) != _defaults(made, task).get(LAM, 0)
    ):
        return ""
    return (
        f"{made.name}: λ={params(made)[LAM]:g} was selected for another backbone and may be wrong on {backbone}: "
        f"select one with python -m benchmark study lambda-rule --backbone {backbone}, and give {made.name}:{LAM}=VALUE"
    )


def build(cls: type, task: Task, given: Mapping[str, str], kind: str = "hyperparameter") -> Method:
    """An instance of a registered class from hyperparameters written as text. Raises UserError."""
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
        made: Method = cls(**values)
    except (TypeError, ValueError) as error:
        raise UserError(f"{cls.name}: {error}") from error  # type: ignore[attr-defined]
    return made


def params(made: Method) -> dict[str, Any]:
    """The hyperparameters of a method, by name."""
    return asdict(made)  # type: ignore[call-overload]


def spelled(made: Method, task: Task, backbone: str = MLP) -> str:
    """How to name the method on the command line: its name and what differs from the defaults there."""
    return ":".join([made.name, *_changed(made, task, backbone)])


def _defaults(made: Method, task: Task, backbone: str = MLP) -> dict[str, Any]:
    defaults = {f.name: f.default for f in fields(made) if f.default is not MISSING}  # type: ignore[arg-type]
    selected = {name: float(text) for name, text in _selected(type(made), task, backbone).items()}
    return defaults | (type(made).regression if task == "regression" else {}) | selected  # type: ignore[attr-defined]


def _changed(made: Method, task: Task, backbone: str = MLP) -> list[str]:
    defaults = _defaults(made, task, backbone)
    differs = {key: value for key, value in params(made).items() if repr(defaults.get(key)) != repr(value)}  # 1 and 1.0
    return [f"{key}={value}" for key, value in differs.items()]


def title(made: Method, task: Task) -> str:
    """How tables name the method: its title, with the hyperparameters that the title leaves out and that differ."""
    shown = set(re.findall(r"{(\w+)", made.title))
    extra = [part for part in _changed(made, task) if part.partition("=")[0] not in shown]
    return ", ".join([made.title.format(**params(made)), *extra])
