"""Diagnosis of this machine: one line per check, with a remedy if it fails."""

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement

from benchmark.data import downloads
from benchmark.data.listing import how_to_get
from benchmark.data.spec import DatasetSpec, as_written, dataset_names
from benchmark.errors import UserError, number_of
from benchmark.files import DISTRIBUTION, cache_folder, home, install, offline

ENOUGH = 2 * 2**30
"""Free disk space for a few studies, in bytes."""
EXTRAS = {"materials": "spglib", "vision": "datasets"}
"""Extras that datasets need, with a module that each installs."""


@dataclass(frozen=True)
class Finding:
    """Result of a check: ``ok``, ``note`` (an optional part is missing) or ``bad``; ``vital`` for the default job."""

    state: str
    what: str
    remedy: str = ""
    vital: bool = False


def diagnose(default_dataset: str) -> Iterator[Finding]:
    """Check the needs of the default job, then those of other jobs."""
    yield from _packages()
    yield from _places()
    import torch

    from benchmark.store import opening, tracking

    try:
        tracking.Store()
    except UserError as error:
        message, _, remedy = str(error).partition("\n")
        yield Finding("bad", message, remedy.strip(), vital=True)
    else:
        yield Finding("ok", f"tracking store {opening.without_password(opening.uri())}")
    gpu = f", {torch.cuda.get_device_name()} (used unless --device cpu)" if torch.cuda.is_available() else ""
    yield Finding("ok", f"device: CPU with {os.cpu_count()} cores{gpu}")
    yield from _all_data(default_dataset)
    for extra, module in EXTRAS.items():
        if getattr(find_spec(module), "origin", None):
            yield Finding("ok", f"extra [{extra}]: installed")
        else:
            yield Finding("note", f"extra [{extra}]: not installed", install(extra))


def _packages() -> Iterator[Finding]:
    yield Finding("ok", f"Python {platform.python_version()}")
    for needed in map(Requirement, requires(DISTRIBUTION) or ()):
        if needed.marker and not needed.marker.evaluate({"extra": ""}):
            continue
        try:
            installed = version(needed.name)
        except PackageNotFoundError:
            yield Finding("bad", f"{needed.name} is not installed", install(), vital=True)
            continue
        good = needed.specifier.contains(installed, prereleases=True)
        what = f"{needed.name} {installed}" + ("" if good else f", expected {needed.specifier}")
        yield Finding("ok" if good else "bad", what, "" if good else install(), vital=True)


def _places() -> Iterator[Finding]:
    mine = os.environ.get("CHURN_DATA_DIR")
    if mine and not Path(mine).is_dir():
        yield Finding("bad", f"CHURN_DATA_DIR={mine} is not a folder", "create it, or unset CHURN_DATA_DIR")
    elif mine:
        yield Finding("ok", f"CHURN_DATA_DIR={mine}")
    for what, variable, folder, vital in (
        ("cache", "CHURN_CACHE_DIR", cache_folder(), False),
        ("working folder", "CHURN_HOME", home(), True),
    ):
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(existing).free
        if not os.access(existing, os.W_OK):
            yield Finding("bad", f"{what} {folder}: not writable", f"set {variable} to a writable folder", vital)
        elif free < ENOUGH:
            yield Finding("bad", f"{what} {folder}: only {free / 2**30:.1f} GB of disk space free", "free 2 GB")
        else:
            yield Finding("ok", f"{what} {folder}: {free / 2**30:.0f} GB of disk space free")
    if offline():
        yield Finding("note", "CHURN_OFFLINE is set: nothing is downloaded", "unset CHURN_OFFLINE")


def _all_data(default_dataset: str) -> Iterator[Finding]:
    """Yield what is found of the default dataset and of faulty files; one line each for data here, and not here."""
    here, absent = 0, 0
    for name in dataset_names():
        finding = _data(as_written(name), vital=name == default_dataset)
        if finding.state == "bad" or name == default_dataset:
            yield finding
        else:
            here, absent = here + (finding.state == "ok"), absent + (finding.state == "note")
    if here:
        yield Finding("ok", f"data of {number_of(here, 'other dataset')}: on this machine")
    if absent:
        remedy = "churn list --all says which, and how to get them"
        yield Finding("note", f"data of {number_of(absent, 'dataset')}: not on this machine", remedy)


def _data(spec: DatasetSpec, vital: bool) -> Finding:
    if absent := how_to_get(spec):
        return Finding("bad" if vital else "note", f"data of {spec.name}: not on this machine", absent, vital)
    if spec.source.startswith("hf:"):
        return Finding("ok", f"data of {spec.name}: on this machine (not verified)")
    path = downloads.locate(spec)
    try:
        downloads.verified(path, spec)
    except UserError as error:
        message = str(error).partition("\n")[0].rstrip(".")
        place = "" if downloads.origin(spec).path else f" and put it at {path}"
        return Finding("bad", f"data of {message}", downloads.replacement(spec) + place, vital)
    return Finding("ok", f"data of {spec.name}: {path}")
