"""The studies, one file each."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from benchmark.errors import did_you_mean
from benchmark.registry import build
from benchmark.study.context import Study, registered


@cache
def discover() -> dict[str, type]:
    """Return all studies by name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"benchmark.studies.{module.name}")
    return dict(sorted(registered.items()))


def make_study(name: str, settings: Mapping[str, str]) -> Study:
    """Return the study ``name`` with textual ``settings``. Raises UserError for an unknown name, setting or value."""
    studies = discover()
    if name not in studies:
        raise did_you_mean("study", name, list(studies))
    study: Study = build(studies[name], "classification", settings, "setting")
    return study
