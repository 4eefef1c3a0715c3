"""Reader of untrusted submission folders: only the expected files, up to a size limit."""

import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchmark.data.spec import dataset_names, load_spec
from benchmark.errors import UserError
from benchmark.run.protocol import SUBMITTED, joined_fingerprint
from benchmark.types import Sampling
from leaderboard.submission.decode import decode
from leaderboard.submission.spec import NAME, Description, parse_description

MANIFEST = "manifest.json"
"""What version 0.1.0 wrote in place of the field ``protocols``."""
LIMITS = {"submission.yml": 2**16, MANIFEST: 2**20, "predictions": 64 * 2**20}
"""Bytes of each file."""
FOLDERS = ("predictions", *(f"predictions/{sampling}" for sampling in SUBMITTED))


@dataclass(frozen=True)
class Folder:
    """A submission with its description; ``files`` are the samplings and datasets of its predictions."""

    path: Path
    method: str
    description: Description
    files: tuple[tuple[Sampling, str], ...]


def folders(submissions: Path) -> list[Path]:
    """Return the folders METHOD/VERSION of all submissions. Raises UserError if there is no such folder."""
    if not submissions.is_dir():
        raise UserError(f"{submissions}: no such folder; name the folder of all submissions with --submissions")
    return sorted(path.parent for path in submissions.glob("*/*/submission.yml"))


def open_folder(path: Path) -> Folder:
    """Open the submission at ``path``, METHOD/VERSION. Raises UserError for anything that does not belong there."""
    path = Path(os.path.abspath(path))  # does not follow links, which are refused
    if path.is_symlink() or not path.is_dir():
        raise UserError(f"{path}: expected a folder METHOD/VERSION that exists and is no link")
    for name in (path.parent.name, path.name):
        if not re.fullmatch(NAME, name):
            raise UserError(f"{path}: folder {name!r}: expected lower-case letters, digits, '.', '_' and '-'")
    if not (path / "submission.yml").exists() and (versions := sorted(path.glob("*/submission.yml"))):
        raise UserError(f"{path}: expected the folder of a version, such as {versions[-1].parent}")
    files = _files(path)
    description = parse_description(_bytes(path, "submission.yml"), "submission.yml")
    if description.version != path.name:
        raise UserError(
            f"submission.yml: field 'version': expected {path.name!r}, the folder's name, found {description.version!r}"
        )
    if not description.protocols and (path / MANIFEST).exists():
        description = description.model_copy(update={"protocols": _protocols(_bytes(path, MANIFEST))})
    known = {"collapsed": {dataset for _, dataset in files}, "protocols": {"/".join(file) for file in files}}
    for field, names in known.items():
        if other := sorted({*getattr(description, field)} - names):
            raise UserError(
                f"submission.yml: {field}: it names {other[0]!r}, of which there are no predictions here; expected "
                f"some of {', '.join(sorted(names))}"
            )
    _check_later(path, description)
    return Folder(path, path.parent.name, description, files)


def _check_later(path: Path, description: Description) -> None:
    """Raise UserError unless ``superseded_by`` names a folder beside ``path``, and leads to a version without it."""
    versions = [path.name]
    while later := description.superseded_by:
        if later in versions:
            chain = " → ".join([*versions, later])
            raise UserError(f"submission.yml: superseded_by: {chain}: expected a later version, not this one again")
        if not (path.parent / later / "submission.yml").is_file():
            raise UserError(f"submission.yml: superseded_by: {later}: no folder {path.parent / later} yet")
        description = parse_description(_bytes(path.parent / later, "submission.yml"), f"{later}/submission.yml")
        versions.append(later)


def _protocols(manifest: bytes) -> dict[str, str]:
    """Return the fingerprints of protocols in a manifest of version 0.1.0. Raises UserError."""
    try:
        files = {name.removeprefix("predictions/"): about for name, about in json.loads(manifest)["files"].items()}
        return {
            name.removesuffix(".parquet"): joined_fingerprint(
                {int(seed): (problem, about["samples"][seed]) for seed, problem in about["problems"].items()}
            )
            for name, about in files.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UserError(f"{MANIFEST}: not one of version 0.1.0 ({error!r}): remove it, and add protocols") from error


def file_of(sampling: Sampling, dataset: str) -> str:
    """Return the path of a file of predictions in a submission."""
    return f"predictions/{sampling}/{dataset}.parquet"


def _files(path: Path) -> tuple[tuple[Sampling, str], ...]:
    """Return the samplings and datasets in a folder. Raises UserError if it holds anything but a submission."""
    known = {file_of(sampling, dataset): (sampling, dataset) for sampling in SUBMITTED for dataset in dataset_names()}
    found = {entry.relative_to(path).as_posix(): entry.lstat().st_mode for entry in path.rglob("*")}
    for name, mode in sorted(found.items()):
        if name not in (*FOLDERS, *known, "submission.yml", MANIFEST):
            raise UserError(
                f"{name[:80]!r} does not belong in a submission; expected only submission.yml and "
                f"predictions/SAMPLING/DATASET.parquet, with a sampling of {', '.join(SUBMITTED)} and a dataset of the "
                "suite, without variants"
            )
        if not (stat.S_ISDIR(mode) if name in FOLDERS else stat.S_ISREG(mode)):
            expected = "folder" if name in FOLDERS else "file"
            raise UserError(f"{name}: expected a regular {expected}, found a link, a device or something else")
    files = tuple(place for name, place in known.items() if name in found)
    if not files:
        raise UserError("predictions: expected a file halves/DATASET.parquet, found none")
    return files


def read_table(folder: Path, sampling: Sampling, dataset: str) -> tuple[pd.DataFrame, str]:
    """Return a submission's predictions for ``dataset`` by row, and their sha256.

    The columns are canonical_seed, train_seed, evalset, example_id (categories) and p0, p1, or y_pred. Raises UserError
    if the file is not such a table.
    """
    name = file_of(sampling, dataset)
    content = _bytes(folder, name)
    rows = decode(content, 2 if load_spec(dataset).task == "classification" else 1, name)
    return rows, hashlib.sha256(content).hexdigest()


def _bytes(folder: Path, name: str) -> bytes:
    """Read a regular file up to its size limit; links, pipes and devices are never opened."""
    limit = LIMITS[name.partition("/")[0]]
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(folder / name, flags), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(limit + 1) if size <= limit else b""
    except OSError as error:
        raise UserError(f"{name}: cannot be read: {error.strerror}") from error
    if max(size, len(content)) > limit:
        raise UserError(f"{name}: {max(size, len(content)):,} bytes; at most {limit:,} are allowed")
    return content
