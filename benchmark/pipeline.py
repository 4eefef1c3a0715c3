"""A pipeline, which is a row of the board: features × learner × remedy; and how its parts are registered."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import cache, wraps
from importlib.util import find_spec
from inspect import signature
from string import Formatter
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from pydantic import ConfigDict, Field, NonNegativeInt, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from benchmark.errors import UserError
from benchmark.files import install
from benchmark.settings import visible
from benchmark.types import (
    PAPER,
    REFERENCE,
    SAMPLINGS,
    TASKS,
    Inputs,
    Model,
    Reads,
    Recipe,
    Sample,
    Sampling,
    Task,
    Tune,
)

# What the file of a remedy or a learner needs.
__all__ = ["Field", "Inputs", "Learner", "Model", "Need", "NonNegativeInt", "Positive", "PositiveInt", "PositiveShare"]
__all__ += ["Reads", "Recipe", "Remedy", "Sample", "Sampling", "Share", "ShareBelowOne", "Task", "Weight", "learner"]
__all__ += ["method"]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PositiveInt = Annotated[int, Field(gt=0, le=10_000)]
"""A number of models, trees or neighbours: more would never end."""
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""The type of a hyperparameter that multiplies a loss term: finite and at least 0."""
Share = Annotated[float, Field(ge=0, le=1)]
ShareBelowOne = Annotated[float, Field(ge=0, lt=1)]
PositiveShare = Annotated[float, Field(gt=0, le=1)]

Need = Literal["networks", "modules", "relu", "targets", "randomness", "numbers"]
"""Abilities that a remedy needs of a learner: that it trains networks, or PyTorch modules, with ReLUs; that it learns
``Sample.targets``; that two trainings on the same rows differ; that it reads numbers, which can be mixed."""
SUITE = ("methods.", "benchmark.learners.")
"""The packages with a file for each method of the suite."""
T = TypeVar("T", bound=type)
registered: dict[str, type[Part]] = {}
"""Remedies and learners by name."""
FEATURES = {
    "morgan:2048:2": "Morgan bits",
    "morgan_counts:4096:2": "Morgan counts",
    "atom_pairs:4096": "atom pairs",
    "rdkit_descriptors": "RDKit descriptors",
    "minimol": "MiniMol",
    "smiles": "SMILES",
}
"""Short names of common features; others are called as a TOML spells them."""


def called(features: Sequence[str]) -> str:
    """Return features by their short names: ``atom pairs + MiniMol`` for ``("atom_pairs:4096", "minimol")``."""
    return " + ".join(FEATURES.get(name, name.replace(":", " ")) for name in features)


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Part:
    """Base class of remedies and learners: frozen dataclasses, whose fields are their hyperparameters."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    place: ClassVar[str] = ""
    """The file that it is in; worker processes, which get it from another, cannot look it up."""
    revision: ClassVar[int | None] = None
    """A number that is raised with each change of its predictions; None if the hash of its file stands for it."""
    regression: ClassVar[Mapping[str, Any]] = {}
    """The defaults that differ for regression."""
    tasks: ClassVar[Annotated[Sequence[Task], Field(min_length=1)]] = TASKS
    """The tasks that it can learn."""
    samplings: ClassVar[Annotated[tuple[Sampling, ...], Field(min_length=1)]] = SAMPLINGS
    """The samplings under which it may run."""
    requires: ClassVar[tuple[str, ...]] = ()
    """The modules that it imports when it trains, if the suite does not bring them."""
    extra: ClassVar[str] = ""
    """The extra of this suite that installs them."""
    files: ClassVar[Mapping[str, str]] = {}
    """Files beside its own that it reads, such as weights, with their sha256 (see ``benchmark.registry.path_of``)."""
    builds_on: ClassVar[tuple[str, ...]] = ()
    """Names of other parts that its predictions depend on."""
    control: ClassVar[bool] = False
    """True if it is only there to compare others with, and has no rank."""
    grid: ClassVar[Annotated[Sequence[Mapping[str, Any]], Field(max_length=12)]] = ()
    """Settings to choose from, at most 12, from the most regularised to the least; the default is among them."""
    regression_grid: ClassVar[Annotated[Sequence[Mapping[str, Any]], Field(max_length=12)]] = ()
    """The same for regressions, if they have others."""
    later: ClassVar[frozenset[str]] = frozenset()
    """Hyperparameters that it did not always have: results with their defaults keep their keys."""

    @property
    def params(self) -> dict[str, Any]:
        """Its hyperparameters by name, without those of ``later`` that have their defaults."""
        values = {field: getattr(self, field.name) for field in fields(self)}
        return {f.name: value for f, value in values.items() if f.name not in self.later or value != f.default}

    def __repr__(self) -> str:
        """Return its name with ``params``, by which studies find their records."""
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in self.params.items())})"

    @property
    def doubt(self) -> str:
        """A caveat about its results; empty if there is none."""
        return ""

    def require(self) -> None:
        """Raise UserError if a module that it needs is not installed."""
        for module in (name.partition(".")[0] for name in self.requires):  # find_spec imports what a name is in
            if find_spec(module) is None:
                command = install(self.extra) if self.extra else f"pip install {module}"
                raise UserError(f"{self.name} needs {module}, which is not installed: {command}")


class Learner(Part):
    """Base class of learners, which train one model: a kind of estimator or network."""

    reads: ClassVar[Reads] = "numbers"
    features: ClassVar[tuple[str, ...]] = ()
    """The features of molecules that it reads in place of the dataset's, as a TOML names them."""
    offers: ClassVar[frozenset[Need]] = frozenset()
    """Needs of remedies that it meets."""
    swept: ClassVar[str] = ""
    """The hyperparameter of which several values cost little more than one: see ``along``."""
    quick: ClassVar[Mapping[str, Any]] = {}
    """Hyperparameters with which settings of ``grid`` are compared, if that is cheaper."""

    def fit(self, sample: Sample) -> Model:
        """Train one model on ``sample.rows``, as a pure function of the sample."""
        raise NotImplementedError

    def along(self, sample: Sample, values: Sequence[Any], inputs: Inputs) -> Sequence[np.ndarray]:
        """Return what ``fit`` with each of the ``values`` of ``swept`` predicts, (T, C)."""
        raise NotImplementedError


class Remedy(Part):
    """Base class of remedies, which make a model of any learner that can do what they need."""

    needs: ClassVar[tuple[Need, ...]] = ()
    incumbent: ClassVar[str] = ""
    """The method of the earlier model that it uses at an update, if it uses one."""
    fits_first: ClassVar[bool] = False
    """Whether its networks, observed in training, end as those of others do, which can then take them over."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        """Train one predictor on ``sample``, as a pure function of it."""
        raise NotImplementedError


def method(
    name: str,
    *,
    title: str,
    regression: Mapping[str, Any] | None = None,
    tasks: Sequence[Task] | None = None,
    revision: int | None = None,
) -> Callable[[T], T]:
    """Register a class derived from ``Remedy`` or ``Learner`` as ``name``; its fields are checked as they are set.

    ``title`` is shown in tables and may use the fields, as in ``"Bagging K={k}"``; ``regression`` holds the defaults
    that differ for regression, and ``tasks`` are those that it can learn; the class may set both itself. Parts of the
    suite have a ``revision``, which is raised with each change of their predictions; leave it out elsewhere: results
    are then kept under the hash of the file. Raises ValueError if the file has another name, or another class, file or
    the suite this one, or names are wrong, and TypeError for another kind of class.
    """

    def described(cls: T) -> T:
        if not re.fullmatch(r"\w[\w.-]{0,63}", name):
            raise ValueError(f"method {name!r}: expected at most 64 letters, digits, '_', '.' and '-', as in my_method")
        stem = cls.__module__.rpartition(".")[2]
        if cls.__module__.startswith(SUITE):
            if stem != name:
                raise ValueError(f"method {name!r} is in {cls.__module__}: a method and its file have the same name")
        elif name.isidentifier() and any(find_spec(folder + name) for folder in SUITE):
            raise ValueError(f"method {name!r}: the suite has one of this name: choose another")
        other = registered.get(name, cls)
        if other.__module__ != cls.__module__:
            raise ValueError(f"method {name!r} is registered by {other.__module__} and by {cls.__module__}")
        known = getattr(sys.modules.get(cls.__module__), other.__name__, None)  # another if the file was edited since
        if known is other and other.__name__ != cls.__name__ and cls.__module__ != "__main__":
            del registered[name]  # neither is meant
            raise ValueError(f"method {name!r}: {other.__name__} and {cls.__name__} of a file register it: rename one")
        own = {"regression": {}, "tasks": TASKS} | vars(cls)  # what a class is derived from may differ
        about = {"regression": regression or own["regression"], "tasks": own["tasks"] if tasks is None else tasks}
        made = describe(cls, name, title=title, revision=revision, **about)
        registered[name] = made
        return made

    return described


learner = method


def describe(cls: T, name: str, **about: Any) -> T:
    """Name and describe a class as ``method`` does, without registering it. Raises TypeError and ValueError."""
    if not (isinstance(cls, type) and issubclass(cls, Remedy | Learner)):
        raise TypeError(f"method {name!r}: derive {cls.__name__} from benchmark.pipeline.Remedy or Learner")
    arguments = ["sample", "learner"] if issubclass(cls, Remedy) else ["sample"]
    expected = f"fit(self, {', '.join(arguments)})"
    if cls.fit in (Remedy.fit, Learner.fit):
        raise TypeError(f"method {name!r}: {cls.__name__} does not train: define {expected}")
    taken = signature(cls.fit)
    try:
        taken.bind(cls, *arguments)
    except TypeError:
        raise TypeError(f"method {name!r}: {cls.__name__} defines fit{taken}: expected {expected}") from None
    made: Any = cls if "__dataclass_fields__" in vars(cls) else checked(frozen=True, repr=False, config=CHECKED)(cls)
    place = getattr(sys.modules.get(cls.__module__), "__file__", None) or ""
    for key, value in {"name": name, "place": place, **about}.items():
        setattr(made, key, value)
    _refuse_names(made)
    _refuse_settings(made)
    if issubclass(made, Learner) and "targets" not in made.offers:
        made.fit = _on_labels(made.fit)
    if made.revision is None:
        made.fit = _on_a_copy(made.fit)
    return cast("T", made)


def _on_labels(fit: Callable[..., Model]) -> Callable[..., Model]:
    """Return the ``fit`` of a learner that does not offer to learn soft labels, which refuses them."""

    @wraps(fit)
    def fit_on_labels(self: Learner, sample: Sample) -> Model:
        if sample.targets is not None:
            raise UserError(
                f"{self.name} is given soft labels, which it does not offer to learn: choose another learner, such as "
                'mlp or random_forest; the remedy should say needs = ("targets",)'
            )
        return fit(self, sample)

    return fit_on_labels


def _on_a_copy(fit: Callable[..., Model]) -> Callable[..., Model]:
    """Return the ``fit`` of a user's part, which may change in place a sample that other models are trained on."""

    @wraps(fit)
    def fit_on_a_copy(self: Part, sample: Sample, *learner: Learner, **named: Learner) -> Model:
        return fit(self, deepcopy(sample), *learner, **named)

    return fit_on_a_copy


CHECKED = ConfigDict(validate_default=True, allow_inf_nan=False)
LONGEST = 200
"""Characters of a title."""


def _refuse_names(part: type[Any]) -> None:
    """Raise ValueError for unknown tasks, invisible characters, and hyperparameters unknown or hiding an attribute."""
    who = f"method {part.name!r}"
    base = Remedy if issubclass(part, Remedy) else Learner
    for attribute, kind in _declared(base).items():
        try:
            kind.validate_python(getattr(part, attribute))
        except ValidationError as error:
            found = f"{attribute} = {getattr(part, attribute)!r}"
            raise ValueError(f"{who}: {found}: {error.errors()[0]['msg']}") from None
    for text in (part.name, part.title):
        try:
            visible(text)
            if not 0 < len(text.strip()) <= LONGEST:
                raise ValueError(f"has {len(text.strip())} characters: expected 1 to {LONGEST}")
        except ValueError as error:
            raise ValueError(f"{who}: {text!a} {error}") from None
    known = [field.name for field in fields(part)]
    if hidden := [field for field in known if hasattr(base, field)]:
        raise ValueError(f"{who}: a hyperparameter cannot be called {hidden[0]!r}, which has another meaning")
    named = {"title": [text for _, text, *_ in Formatter().parse(part.title) if text is not None]}
    for grid in ("grid", "regression_grid"):
        named[grid] = [key for setting in getattr(part, grid) for key in setting]
    named |= {"regression": [*part.regression], "quick": [*getattr(part, "quick", ())]}
    named["swept"] = [*filter(None, [getattr(part, "swept", "")])]
    for where, keys in named.items():
        if wrong := [key for key in keys if key not in known]:  # a dataclass of pydantic would ignore it
            raise ValueError(f"{who}: its {where} names {wrong[0]!r}, which is none of its hyperparameters")


def _refuse_settings(part: type[Any]) -> None:
    """Raise ValueError for a grid, or defaults of regressions, that a part does not take, or without the default."""
    if not all(hasattr(part, field.name) for field in fields(part)):
        return  # a hyperparameter without a default
    for grid, default in (("grid", {}), ("regression_grid", part.regression)):
        if not (default or getattr(part, grid)):
            continue
        try:
            usual, *made = [part(**{**default, **setting}) for setting in ({}, *getattr(part, grid))]
        except ValidationError as error:
            first, where = error.errors()[0], f"{'regression or ' * bool(default)}{grid}"
            found = f"{first['loc'][0]} = {first['input']!r}: {first['msg']}"
            raise ValueError(f"method {part.name!r}: in its {where}, {found}") from None
        if made and usual not in made:
            raise ValueError(f"method {part.name!r}: its {grid} lacks the default: add {{}} at its place in the order")


@cache
def _declared(base: type[Part]) -> dict[str, TypeAdapter[Any]]:
    """Return the types of the attributes that a class of remedies or learners may set."""
    kinds = get_type_hints(base, include_extras=True)
    return {name: TypeAdapter(*get_args(kind)) for name, kind in kinds.items() if get_origin(kind) is ClassVar}


class Reading(NamedTuple):
    """The way in which a pipeline reads a dataset."""

    features: tuple[str, ...]
    """Features of molecules in place of the dataset's; none if these are read."""
    reads: Reads
    learner: str
    recipe: Recipe | None
    """The learner's recipe, if it trains networks."""


@dataclass(frozen=True)
class Pipeline:
    """A remedy for a learner on features."""

    remedy: Remedy
    learner: Learner
    chosen: bool = False
    """True if the learner is another than that of the dataset."""
    features: tuple[str, ...] = ()
    """Features of molecules in place of the dataset's; none if these are read."""
    tune: Tune = ""
    """Rule by which hyperparameters are chosen, by ``benchmark.tuning.Tuned``; empty if they are as they are."""

    def fit(self, sample: Sample) -> Model:
        """Train one predictor on ``sample``. Raises TypeError if the result cannot predict."""
        remedy, learner = self.for_sample(sample)
        model = remedy.fit(sample, learner)
        if not hasattr(model, "predict"):
            raise TypeError(f"fit of method {self.name!r} returned {model!r}: expected an object with predict(inputs)")
        return model

    def for_sample(self, sample: Sample) -> tuple[Remedy, Learner]:
        """Return remedy and learner with the settings that are chosen for ``sample``."""
        return self.remedy, self.learner

    def __str__(self) -> str:
        parts = [self.head, *([self.learner] if self.other else [])]
        return " · ".join([*map(repr, parts), *self.own_features, *filter(None, [self.tune])])

    @property
    def own_features(self) -> tuple[str, ...]:
        """Its features, if they are neither the dataset's nor those of the learner."""
        return self.features if self.features != self.learner.features else ()

    @property
    def head(self) -> Part:
        """The part after which it is named: ``svm`` is ERM with the learner of that name."""
        return self.learner if self.chosen and self.remedy.name == REFERENCE else self.remedy

    @property
    def other(self) -> Part | None:
        """The learner, or a remedy in its place, if it is not named by ``head`` and not that of the dataset."""
        named = self.learner.remedy if isinstance(self.learner, Remedied) else self.learner
        return named if self.chosen and self.head is self.remedy else None

    @property
    def base(self) -> Learner:
        """The learner, without a remedy."""
        return self.learner.learner if isinstance(self.learner, Remedied) else self.learner

    @property
    def reading(self) -> Reading:
        """Return how it reads a dataset."""
        base = self.base
        return Reading(self.features, base.reads, base.name, getattr(base, "recipe", None))

    @property
    def name(self) -> str:
        return self.head.name

    @property
    def parts(self) -> tuple[Remedy, Learner]:
        return self.remedy, self.learner

    @property
    def doubt(self) -> str:
        """Caveats about its results; empty if there is none."""
        of_features = [DOUBTS.get(name, "") for name in self.features]
        return "; ".join(filter(None, (*(part.doubt for part in self.parts), *of_features)))

    def refuse(self) -> None:
        """Raise UserError if the learner cannot do what the remedy needs, or read features, or lacks a module."""
        if self.own_features and self.base.reads != "numbers":
            named = ", ".join(self.own_features)
            raise UserError(f"{self.base.name} reads {self.base.reads}: leave out the features {named}")
        for need in self.remedy.needs:
            if need not in self.learner.offers and need != self.learner.reads:
                raise UserError(f"{self.remedy.name} {REFUSED[need].format(self.learner.name)}")
        for part in self.parts:
            part.require()


DOUBTS: Mapping[str, str] = {
    "minimol": "minimol: the pretraining saw, in all likelihood, the labels of cyp*_veith and tox21_*, and perhaps "
    "those of herg_karim, ames, ld50_zhu: results on these datasets do not count as results on unseen data"
}
"""Caveats about features (see ``benchmark.data.embeddings``)."""
REFUSED: Mapping[Need, str] = {
    "networks": "changes the training of networks, and {} trains none: choose a learner that does, such as mlp or gin",
    "modules": "takes its own steps through a PyTorch module, and {} is none: choose mlp, chemprop or tabm",
    "relu": "replaces modules of the kind torch.nn.ReLU, and {} has none: choose mlp, chemprop or resnet50",
    "targets": "trains on soft labels, which {} cannot learn: choose another learner, such as mlp or random_forest",
    "numbers": "mixes features, and {} does not read numbers: choose another learner, such as mlp",
    "randomness": "trains several models on the same rows, which would all be equal: {} is not random; use bagging",
}


@dataclass(frozen=True)
class Remedied(Learner):
    """A remedy with a learner, as the learner of another remedy: ``--method bagging --learner early_stopping``."""

    remedy: Remedy
    learner: Learner

    offers: ClassVar[frozenset[Need]] = frozenset({"randomness"})

    def __post_init__(self) -> None:
        granted = (s for s in SAMPLINGS if all(_alone(s) in part.samplings for part in self.parts))
        object.__setattr__(self, "name", self.remedy.name)
        object.__setattr__(self, "samplings", tuple(granted))

    @property
    def parts(self) -> tuple[Remedy, Learner]:
        return self.remedy, self.learner

    def fit(self, sample: Sample) -> Model:
        """Apply the remedy to ``sample.rows`` alone, with randomness of its own for each of several members."""
        member = MEMBERS * sample.member
        alone = replace(sample, sampling=_alone(sample.sampling), bootstrap_pool=sample.rows, member=member)
        return self.remedy.fit(alone, self.learner)

    def require(self) -> None:
        if not self.samplings:
            raise UserError(f"{self.name} needs more rows than one of several models sees: use it alone")
        Pipeline(self.remedy, self.learner).refuse()


def _alone(sampling: Sampling) -> Sampling:
    """Return the sampling under which a model has what it is trained on, and nothing else."""
    return "nested" if sampling == PAPER else sampling


MEMBERS = 1000
"""Members that a remedy may have when it is the learner of another."""
