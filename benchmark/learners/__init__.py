"""Learners: one file each, with one class derived from ``Learner``, named after the file."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import cast

from benchmark.errors import did_you_mean
from benchmark.pipeline import Learner, registered
from benchmark.types import Sampling, Task

SELECTED: Mapping[tuple[str, Sampling], Mapping[Task, float]] = {
    ("mlp", "halves"): {"classification": 100.0},
    ("mlp", "nested"): {"classification": 300.0},
    ("gin", "paper"): {"classification": 10.0},
    ("chemberta", "paper"): {"classification": 10.0},
    ("resnet50", "paper"): {"classification": 10.0},
}
"""The λ selected for twin-bootstrap by learner, sampling and task, where the method's default was not: on Waterbirds
for ResNet-50, otherwise on BACE (paper, scope appendices). ``study lambda-rule`` selects one."""


def names() -> tuple[str, ...]:
    """Return the names of the suite's learners: the files of this folder without a leading underscore."""
    return _listed(*__path__)


@cache
def _listed(*folders: str) -> tuple[str, ...]:
    return tuple(sorted(module.name for module in pkgutil.iter_modules(folders) if not module.name.startswith("_")))


def find(name: str) -> type[Learner]:
    """Return the class of the suite's learner ``name``. Raises UserError if there is none."""
    known = [one for one in names() if one != "sklearn"]  # a family, of which none is named
    if name not in known:
        raise did_you_mean("learner", name, known)
    importlib.import_module(f"benchmark.learners.{name}")
    return cast("type[Learner]", registered[name])
