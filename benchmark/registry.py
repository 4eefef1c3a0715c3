"""Methods by name: ``@method`` registers one, ``methods/`` is walked to find them."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, fields
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from benchmark.data.spec import ROOT
from benchmark.errors import UserError, did_you_mean
from benchmark.settings import assignments
from benchmark.types import Method, Task

REFERENCE = "erm"
"""The method that all others are compared with."""

T = TypeVar("T", bound=type)
_methods: dict[str, type] = {}


def method(name: str, *, title: str, regression: Mapping[str, Any] | None = None) -> Callable[[T], T]:
    """Register a frozen dataclass as the method ``name``.

    ``title`` is shown in tables and may use the fields, as in ``"Bagging K={k}"``; ``regression`` holds the
    defaults that differ for regression. Raises ValueError if another file registered the name.
    """

    def register(cls: T) -> T:
        known = _methods.get(name)
        if known is not None and known.__module__ != cls.__module__:
            raise ValueError(f"method {name!r} is registered by {known.__module__} and by {cls.__module__}")
        cls.name, cls.title, cls.regression = name, title, dict(regression or {})  # type: ignore[attr-defined]
        _methods[name] = cls
        return cls

    return register


@cache
def discover() -> tuple[dict[str, type], dict[str, str]]:
    """All methods of ``methods/``: the classes by name, and the reason for each file that cannot be imported."""
    package = importlib.import_module("methods")
    unavailable = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("_"):
            continue
        try:
            importlib.import_module(f"methods.{module.name}")
        except ImportError as error:
            unavailable[module.name] = str(error)
        except (Exception, SystemExit) as error:  # a mistake in one file must not stop the others
            unavailable[module.name] = f"{type(error).__name__}: {error}"
    return dict(sorted(_methods.items())), unavailable


def load_file(path: Path) -> type:
    """The one method that the Python file at ``path`` registers, wherever it lies. Raises UserError."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    inside = path.resolve().parent == ROOT / "methods"
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


def make_method(text: str, task: Task, overrides: Mapping[str, str] | None = None) -> Method:
    """The method that ``text`` names, ``twin`` or ``twin:lam=30:members=3``, with the defaults for ``task``.

    ``overrides`` are further hyperparameters, which what ``text`` says outdoes; those the method does not have
    are left out (the caller knows whether any method took them). Raises UserError for an unknown method,
    hyperparameter or value.
    """
    name, *settings = text.split(":")
    methods, unavailable = discover()
    if name in unavailable:
        raise UserError(f"method {name!r} is not available: {unavailable[name]}")
    if name not in methods:
        raise did_you_mean("method", name, sorted(methods))
    known = [f.name for f in fields(methods[name])]
    given = assignments(settings, text)
    shared = {key: value for key, value in (overrides or {}).items() if key in known}
    return build(methods[name], task, shared | given)


def build(cls: type, task: Task, given: Mapping[str, str], kind: str = "hyperparameter") -> Method:
    """An instance of a registered class from hyperparameters written as text. Raises UserError."""
    kinds = {f.name: get_type_hints(cls)[f.name] for f in fields(cls)}
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


def parse_settings(texts: list[str]) -> dict[str, str]:
    """``--set`` values: each ``NAME=VALUE``, several separated by commas; ``tuned=1,3`` is a list."""
    parts = (part for text in texts for part in re.split(r",(?=\w+=|$)", text) if part)
    return assignments(parts, "--set")


def params(made: Method) -> dict[str, Any]:
    """The hyperparameters of a method, by name."""
    return asdict(made)  # type: ignore[call-overload]


def spelled(made: Method, task: Task) -> str:
    """How to name the method on the command line: its name and what differs from the defaults for ``task``."""
    defaults = {f.name: f.default for f in fields(made) if f.default is not MISSING}  # type: ignore[arg-type]
    defaults |= type(made).regression if task == "regression" else {}  # type: ignore[attr-defined]
    changed = [f"{key}={value}" for key, value in params(made).items() if defaults.get(key) != value]
    return ":".join([made.name, *changed])


def title(made: Method, task: Task) -> str:
    """How tables name the method: its title, with the hyperparameters that the title leaves out and that differ."""
    shown = set(re.findall(r"{(\w+)", made.title))
    extra = [part for part in spelled(made, task).split(":")[1:] if part.partition("=")[0] not in shown]
    return ", ".join([made.title.format(**params(made)), *extra])
