"""Lookup of pipelines by what people write, such as ``twin:lam=30`` with the learner ``gin``."""

import hashlib
import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, replace
from functools import cache
from os.path import isfile
from pathlib import Path
from types import ModuleType, NoneType
from typing import Any, get_args, get_type_hints

import cloudpickle
from pydantic import TypeAdapter, ValidationError

from benchmark import learners, tuning
from benchmark.errors import UserError, did_you_mean
from benchmark.files import CHECKOUT, data_in, files_in, own_methods, package_root, watched
from benchmark.learners import SELECTED
from benchmark.pipeline import Learner, Part, Pipeline, Remedied, Remedy, called, registered
from benchmark.settings import assignments, features_of
from benchmark.train.device import settings_kept
from benchmark.types import MLP, PAPER, REFERENCE, Sampling, Task, Tune

LAM = "lam"
"""Name of the hyperparameter that weights a consistency loss."""
SKLEARN = "sklearn"
"""The family of learners that are named by the import path of an estimator."""


@cache
def discover() -> tuple[dict[str, type[Part]], dict[str, str]]:
    """Return the suite's and the user's remedies and learners by name, and why a file cannot be imported."""
    unavailable, own = {}, own_files()
    for module in _modules():
        try:
            _imported(module)
        except (Exception, SystemExit) as error:  # a mistake in one file must not stop the others
            said = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
            unavailable[module] = f"{own[module]}: {said}" if module in own else said
    return dict(sorted(registered.items())), unavailable


def _modules() -> list[str]:
    """Return the names of the files of the suite, and of those in the user's folder that register something."""
    names = {module.name for module in pkgutil.iter_modules(importlib.import_module("methods").__path__)}
    names |= {*learners.names(), *own_files()} - {SKLEARN}
    return sorted(name for name in names if not name.startswith("_"))


def own_files() -> dict[str, Path]:
    """Return the files and packages in the user's folder that may register something, by name."""
    own = {path.stem: [path] for path in files_in(own_methods(), "*.py")}
    packages = files_in(own_methods(), "*/__init__.py")
    own |= {path.parent.name: [path, *files_in(path.parent, "**/*.py")] for path in packages}
    return {
        name: files[0] for name, files in own.items() if any(b"benchmark.pipeline" in f.read_bytes() for f in files)
    }


def _imported(name: str) -> None:
    """Import the file that registers ``name``: of the suite's remedies, its learners, or the user's folder."""
    if name in learners.names():
        learners.find(name)
    elif "." not in name and importlib.util.find_spec(f"methods.{name}"):
        importlib.import_module(f"methods.{name}")
    else:
        _load(own_files()[name])


def hides(path: Path) -> bool:
    """Return whether a file of the user's is called like one of the suite, which is taken in its place."""
    remedy = CHECKOUT / "methods" / path.name
    return path.stem in learners.names() or (isfile(remedy) and path.parent.resolve() != remedy.parent)


def find(text: str) -> tuple[type[Part], list[str]]:
    """Return the remedy or learner that ``text`` names, and the settings after the name. Raises UserError."""
    name, *settings = text.split(":")
    if name == SKLEARN:
        from benchmark.learners.sklearn import wrap

        return wrap(settings[0] if settings else ""), settings[1:]
    own = own_methods() / f"{name}.py"
    if hides(own) and isfile(own) and b"benchmark.pipeline" in own.read_bytes():
        raise UserError(f"{own}: the suite has a method {name!r}: rename your file")
    if name not in registered and name in _modules():
        with suppress(Exception, SystemExit):  # reported by ``discover``
            _imported(name)
    if name in registered:
        return registered[name], settings
    parts, unavailable = discover()
    if name in parts:  # in a file with another name
        return parts[name], settings
    if name in unavailable:
        raise UserError(f"method {name!r} is not available: {unavailable[name]}")
    if name in own_files() or isfile(own):  # of a name that is too long, Path.is_file raises
        expected = "expected this name, without _ before it, in its @method or @learner from benchmark.pipeline"
        raise UserError(f"{own_files().get(name, own)}: registers no {name!r}: {expected}")
    if Path(name).suffix == ".py":
        raise UserError(f"{name}: put the file into {own_methods()}, and name it as its @method or @learner does")
    raise did_you_mean("method", name, sorted([*parts, SKLEARN]))


def named(method: str) -> tuple[type[Part], list[str]]:
    """Return the method that a name or the path of a file ending in .py stands for, and its settings.

    Raises UserError.
    """
    return (load_file(Path(method)), []) if method.endswith(".py") else find(method)


def load_file(path: Path) -> type[Part]:
    """Return the one remedy or learner that the Python file at ``path`` registers. Raises UserError."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    before = dict(registered)
    try:
        made = _load(path).__name__
    except (Exception, SystemExit) as error:
        raise UserError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
    new = [cls for name, cls in registered.items() if before.get(name) is not cls]
    new = [cls for cls in new if f"{cls.__module__}.".startswith(f"{made}.")]  # it may import others, such as a learner
    if len(new) != 1:
        raise UserError(f"{path}: expected one class with @method(...) or @learner(...), found {len(new)}")
    return new[0]


def _load(path: Path) -> ModuleType:
    """Import a file of the user's: as part of its package if it belongs to one, so that it finds its neighbours.

    Worker processes and deployed models get a copy of its classes, as they may not find the file.
    """
    path = path.resolve()
    above = package_root(path)
    alone = above == path.parent or (path.parent == own_methods().resolve() and above != CHECKOUT)
    folder = path.parent if alone else above / path.relative_to(above).parts[0]
    opened: list[Path] = []
    try:
        with watched(opened.append), settings_kept():
            made = _alone(path) if alone else _in_package(path, above)
        if data := next(filter(None, (data_in(folder, file) for file in opened)), ""):
            raise ImportError(f"it reads {data} as it is imported: read it in fit, by path_of, and add it to files")
    except BaseException:  # what it had registered may lack what was to follow
        for name in [name for name, cls in registered.items() if cls.place == str(path)]:
            del registered[name]
        raise
    if alone or above != CHECKOUT:
        cloudpickle.register_pickle_by_value(made if alone else sys.modules[made.__name__.partition(".")[0]])
    return made


def _alone(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"file:{path}", path)
    assert spec is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # dataclasses look up annotations in it
    exec(compile(path.read_bytes(), path, "exec"), vars(made))  # a compiled copy may be of before an edit this second
    return made


def _in_package(path: Path, above: Path) -> ModuleType:
    if str(above) not in sys.path:
        sys.path.append(str(above))
    module = ".".join(path.relative_to(above).with_suffix("").parts).removesuffix(".__init__")
    for known in [name for name in sys.modules if name == module or name.startswith(f"{module}.")]:
        sys.modules.pop(known)  # it may have been edited
    package = module.partition(".")[0]
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None or Path(spec.origin).resolve().parent != above / package:
        raise ImportError(f"Python finds another package {package}, at {spec and spec.origin}: rename this one")
    return importlib.import_module(module)


def path_of(part: Part | type[Part], name: str) -> Path:
    """Return the path of a file that a part declares in ``files``. Raises UserError if it is missing or another."""
    path = Path(part.place).parent / name
    if name not in part.files:
        raise UserError(f"{part.name} reads {name} without declaring it: add it to its files, with its sha256")
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no such file"
    if digest != part.files[name]:
        raise UserError(f"{path}: {part.name} declares sha256 {part.files[name]}, found {digest}: restore the file")
    return path


def make_method(
    text: str,
    task: Task,
    overrides: Mapping[str, str] | None = None,
    backbone: str = MLP,
    sampling: Sampling = PAPER,
    learner: str = "",
    features: str = "",
    tune: Tune = "",
    family: str = "",
) -> Pipeline:
    """Return the pipeline of the method that ``text`` names (``twin`` or ``twin:lam=30:members=3``) for ``task``.

    ``backbone`` is the learner of the dataset, and ``learner`` another in its place, also a remedy; ``text`` can be a
    learner too, which ERM then trains. With another learner or ``sampling``, the default λ is the one the rule selects
    there, if known. ``overrides`` are further hyperparameters; ``text`` takes precedence, and those the method does not
    have are ignored (the caller checks whether any method took them). ``tune`` says how those of the grids are chosen
    (see ``benchmark.tuning``), for a dataset of a ``family``. Raises UserError for anything that is unknown or does not
    go together.
    """
    if text == REFERENCE and learner:
        text, learner = learner, ""
    cls, given = find(text)[0], {}
    if issubclass(cls, Learner):
        if learner:
            raise UserError(f"{cls.name} is a learner itself: name a remedy, as in --method bagging --learner {text}")
        text, learner, given = REFERENCE, text, dict(overrides or {})
    used = learner.partition(":")[0] or backbone
    chosen = bool(learner) and learner != backbone
    trained = _part(learner or backbone, task, given, backbone, sampling)
    if isinstance(trained, Remedy):
        own = _part(backbone, task, {}, backbone, sampling)
        assert isinstance(own, Learner)
        trained = Remedied(trained, own)
    remedy = _part(text, task, overrides or {}, used, sampling)
    assert isinstance(remedy, Remedy)
    assert isinstance(trained, Learner)
    read = features_of(features) or trained.features
    parts = remedy, trained, chosen, read, tune
    pipeline = tuning.Tuned(*parts, family) if tune else Pipeline(*parts)
    pipeline.refuse()
    if tune:
        names = [{*(overrides or {}), *re.findall(r":(\w+)=", part)} for part in (text, learner)]
        tuning.refuse(pipeline, task, sampling, names)
    return pipeline


def _part(text: str, task: Task, overrides: Mapping[str, str], backbone: str, sampling: Sampling) -> Part:
    """Return the remedy or learner that ``text`` names, with its hyperparameters. Raises UserError."""
    cls, settings = find(text)
    if task not in cls.tasks:
        raise UserError(f"{cls.name} learns {' and '.join(cls.tasks)}, not {task}: choose another method or dataset")
    names = [f.name for f in fields(cls)]
    shared = {key: value for key, value in overrides.items() if key in names}
    return build(cls, task, _selected(cls, task, backbone, sampling) | shared | assignments(settings, text))


def _selected(cls: type[Part], task: Task, backbone: str, sampling: Sampling) -> dict[str, str]:
    """Return the λ that the rule selects for a learner under ``sampling``, if it is known and the method has one."""
    lam = SELECTED.get((backbone, sampling), {}).get(task)
    return {} if lam is None or LAM not in [f.name for f in fields(cls)] else {LAM: str(lam)}


def refuse_sampling(method: Pipeline, sampling: Sampling) -> None:
    """Raise UserError if a method needs more than the sample that ``sampling`` grants a retraining."""
    for part in method.parts:
        if sampling not in part.samplings:
            raise UserError(
                f"{part.name} needs more of the training pool than a retraining sees under --sampling {sampling}: "
                f"leave out the method, or use --sampling {' or '.join(part.samplings)}"
            )


def doubtful_lambda(method: Pipeline, task: Task, sampling: Sampling = PAPER) -> str:
    """Return a warning if a method has its default λ where the rule has not selected one, else ``""``."""
    remedy, used = method.remedy, method.learner.name
    lam = remedy.params.get(LAM)
    known = (used, sampling) == (MLP, PAPER) or task in SELECTED.get((used, sampling), {})
    if known or method.tune or lam != _defaults(remedy, task).get(LAM, 0):
        return ""
    options = {"--learner": (used, MLP), "--sampling": (sampling, PAPER)}
    changed = " ".join(f"{option} {value}" for option, (value, usual) in options.items() if value != usual)
    select = f"select one with churn study lambda-rule {changed}, and pass {remedy.name}:{LAM}=VALUE"
    return f"{remedy.name}: λ={lam:g} was selected for another learner or sampling: {select}"


def build(cls: type[Any], task: Task, given: Mapping[str, str], kind: str = "hyperparameter") -> Any:
    """Return an instance of a registered class, with hyperparameters given as text. Raises UserError."""
    try:
        hints, plain = get_type_hints(cls, include_extras=True), get_type_hints(cls)
    except (NameError, TypeError, AttributeError) as error:
        raise UserError(f"{cls.place}: the type of a {kind} of {cls.name}: {error}: import it in the file") from error
    kinds = {f.name: hints[f.name] for f in fields(cls)}
    values = dict(cls.regression) if task == "regression" else {}
    for key, text in given.items():
        if key not in kinds:
            raise did_you_mean(f"{kind} of {cls.name}:", key, list(kinds))
        if not text.strip() and getattr(cls, key, None):
            raise UserError(f"{cls.name}: {key} is empty: give a value, or leave it out for {getattr(cls, key)}")
        try:
            none = text.strip().lower() == "none" and NoneType in get_args(plain[key])
            values[key] = None if none else TypeAdapter(kinds[key]).validate_strings(text)
        except ValidationError as error:
            raise UserError(f"{cls.name}: {key}={text}: {error.errors()[0]['msg']}") from error
    try:
        return cls(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise UserError(f"{cls.name}: {name}{f'={given[name]}' if name in given else ''}: {first['msg']}") from error
    except (TypeError, ValueError) as error:
        raise UserError(f"{cls.name}: {error}") from error


def spelled(method: Pipeline, task: Task, backbone: str = MLP, sampling: Sampling = PAPER) -> str:
    """Return the method as the command line spells it: its name and the hyperparameters that are not the defaults."""
    return spelled_part(method.head, task, method.learner.name if method.other else backbone, sampling)


def learner_of(method: Pipeline, task: Task) -> str:
    """Return the learner as the command line spells it; empty if it is the dataset's or the method's own name."""
    return spelled_part(method.other, task) if method.other else ""


def spelled_part(part: Part, task: Task, backbone: str = MLP, sampling: Sampling = PAPER) -> str:
    """Return a part as the command line spells it, with the hyperparameters that are not the defaults."""
    return ":".join([part.name, *_changed(part, task, backbone, sampling)])


def _defaults(part: Part, task: Task, backbone: str = MLP, sampling: Sampling = PAPER) -> dict[str, Any]:
    cls = type(part)
    defaults = {f.name: f.default for f in fields(cls) if f.default is not MISSING}
    selected = {name: float(text) for name, text in _selected(cls, task, backbone, sampling).items()}
    return defaults | (dict(cls.regression) if task == "regression" else {}) | selected


def _changed(part: Part, task: Task, backbone: str = MLP, sampling: Sampling = PAPER) -> list[str]:
    defaults = _defaults(part, task, backbone, sampling)
    # compared by repr, which distinguishes 1 from 1.0
    return [f"{k}={v}" for k, v in part.params.items() if k not in defaults or repr(defaults[k]) != repr(v)]


def settings_of(name: str, task: Task, sampling: Sampling = PAPER) -> list[str]:
    """Return the settings of the grid of a learner or a remedy as the command line spells them. Raises UserError."""
    made = make_method(name, task, sampling=sampling)
    part = made.remedy if made.name == made.remedy.name and name != made.learner.name else made.learner
    grid = tuning.grid_of(type(part), task)
    if not grid:
        raise UserError(f"{name}: it has no grid of settings: name another, such as svm or twin")
    return [spelled_part(replace(part, **setting), task) for setting in grid]


def title(method: Pipeline, task: Task) -> str:
    """Return the title for tables: of the method, and of learner and features where they are not the defaults."""
    parts = [method.head, *([method.other] if method.other else [])]
    named = [called(method.own_features), tuning.TITLES.get(method.tune, "")]
    return " · ".join([*(_title(part, task) for part in parts), *filter(None, named)])


def _title(part: Part, task: Task) -> str:
    """Return the title of a part, with the hyperparameters that it omits and that are not the defaults."""
    included = set(re.findall(r"{(\w+)", part.title))
    extra = [text for text in _changed(part, task) if text.partition("=")[0] not in included]
    return ", ".join([part.title.format(**part.params), *extra])
