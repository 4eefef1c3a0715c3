"""Can this machine do the work? One line per thing, with the remedy."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement

from benchmark.data import sources
from benchmark.data.catalogue import availability
from benchmark.data.spec import DatasetSpec, dataset_names, load_spec
from benchmark.errors import UserError
from benchmark.files import DISTRIBUTION, cache_folder, home, install, offline

ENOUGH = 2 * 2**30
"""Bytes of free disk that a few studies need."""
EXTRAS = {"tdc": "tdc", "vision": "datasets"}
"""Extras that datasets need, and the module that shows whether each is installed."""


@dataclass(frozen=True)
class Finding:
    """``ok``, ``note`` (something optional is missing) or ``bad``; ``vital``: the default job needs it."""

    state: str
    what: str
    remedy: str = ""
    vital: bool = False


def diagnose(default_dataset: str) -> Iterator[Finding]:
    """Everything that the default job needs, then what other jobs need."""
    yield from _packages()
    yield from _places()
    yield _store()
    yield _device()
    for name in dataset_names():
        yield _data(load_spec(name), vital=name == default_dataset)
    for extra, module in EXTRAS.items():
        found = find_spec(module)
        if found is not None and found.origin is not None:
            yield Finding("ok", f"extra [{extra}]: installed")
        else:
            further = " && pip install --no-deps PyTDC==1.1.15" if extra == "tdc" else ""
            yield Finding("note", f"extra [{extra}]: not installed", install(extra) + further)


def _packages() -> Iterator[Finding]:
    yield Finding("ok", f"Python {platform.python_version()}")
    for needed in map(Requirement, requires(DISTRIBUTION) or ()):
        if needed.marker and not needed.marker.evaluate({"extra": ""}):
            continue
        try:
            found = version(needed.name)
        except PackageNotFoundError:
            yield Finding("bad", f"{needed.name} is not installed", install(), vital=True)
            continue
        good = needed.specifier.contains(found, prereleases=True)
        what = f"{needed.name} {found}" + ("" if good else f", expected {needed.specifier}")
        yield Finding("ok" if good else "bad", what, "" if good else install(), vital=True)


def _places() -> Iterator[Finding]:
    mine = os.environ.get("CHURN_DATA_DIR")
    if mine and not Path(mine).is_dir():
        yield Finding("bad", f"CHURN_DATA_DIR={mine} is no folder", "create it, or unset CHURN_DATA_DIR")
    elif mine:
        yield Finding("ok", f"CHURN_DATA_DIR={mine}")
    for what, folder, vital in (("cache", cache_folder(), False), ("working folder", home(), True)):
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(existing).free
        if not os.access(existing, os.W_OK):
            variable = "CHURN_CACHE_DIR" if what == "cache" else "CHURN_HOME"
            remedy = f"set {variable} to a folder that can be written to"
            yield Finding("bad", f"{what} {folder}: cannot be written to", remedy, vital)
        elif free < ENOUGH:
            yield Finding("bad", f"{what} {folder}: {free / 2**30:.1f} GB of disk are free", "free 2 GB")
        else:
            yield Finding("ok", f"{what} {folder}: {free / 2**30:.0f} GB of disk are free")
    if offline():
        yield Finding("note", "CHURN_OFFLINE is set: nothing is downloaded", "unset CHURN_OFFLINE")


def _store() -> Finding:
    from benchmark.store import tracking

    try:
        tracking.Store()
    except UserError as error:
        message, _, remedy = str(error).partition("\n")
        return Finding("bad", message, remedy.strip(), vital=True)
    return Finding("ok", f"tracking store {tracking.uri()}")


def _device() -> Finding:
    import torch

    gpu = f", {torch.cuda.get_device_name()} (used unless --device cpu)" if torch.cuda.is_available() else ""
    return Finding("ok", f"device: CPU with {os.cpu_count()} cores{gpu}")


def _data(spec: DatasetSpec, vital: bool) -> Finding:
    found = availability(spec)
    if not found.here:
        return Finding("note" if not vital else "bad", f"data of {spec.name}: not here", found.remedy, vital)
    if spec.source.startswith("hf:"):
        return Finding("ok", f"data of {spec.name}: here (not checked)")
    path = sources.locate(spec)
    try:
        sources.verified(path, spec)
    except UserError as error:
        message = str(error).partition("\n")[0].rstrip(".")
        there = "" if sources.origin(spec).path else f" and put it at {path}"
        return Finding("bad", f"data of {message}", sources.replacement(spec) + there, vital)
    return Finding("ok", f"data of {spec.name}: {path}")
