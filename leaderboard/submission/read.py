"""Reader of untrusted submission folders: only the expected files, up to a size limit."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.data.spec import dataset_names, load_spec
from benchmark.errors import UserError, did_you_mean
from benchmark.types import SAMPLINGS, Sampling
from leaderboard.submission.decode import decode
from leaderboard.submission.spec import NAME, Description, Manifest, parse_description, parse_manifest

LIMITS = {"submission.yml": 2**16, "manifest.json": 2**20, "predictions": 64 * 2**20}
"""Bytes of each file."""


@dataclass(frozen=True)
class PredictionFile:
    """Predictions for one dataset by row: ``values`` (rows, C), and texts as indices into ``*_texts``."""

    name: str
    canonical_seed: np.ndarray
    train_seed: np.ndarray
    evalset: np.ndarray
    evalset_texts: np.ndarray
    example_id: np.ndarray
    example_id_texts: np.ndarray
    values: np.ndarray
    label: np.ndarray | None
    sha256: str

    def __len__(self) -> int:
        return len(self.canonical_seed)

    def where(self, row: int) -> str:
        """Name a row, counted from 0, for error messages."""
        evalset, example = self.evalset_texts[self.evalset[row]], self.example_id_texts[self.example_id[row]]
        return (
            f"{self.name}, row {row} (canonical seed {self.canonical_seed[row]}, train seed {self.train_seed[row]}, "
            f"{str(evalset)[:20]!r}, example {str(example)[:80]!r})"
        )


@dataclass(frozen=True)
class Folder:
    """The metadata of a submission; ``files`` are the samplings and datasets of its predictions."""

    path: Path
    method: str
    description: Description
    manifest: Manifest
    files: tuple[tuple[Sampling, str], ...]


def open_folder(path: Path) -> Folder:
    """Open the submission at ``path``, METHOD/VERSION. Raises UserError for anything that does not belong there."""
    path = Path(os.path.abspath(path))  # does not follow links, which are refused
    files = _files(path)
    method, version = path.parent.name, path.name
    for name in (method, version):
        if not re.fullmatch(NAME, name):
            raise UserError(f"{path}: folder {name!r}: expected lower-case letters, digits, '.', '_' and '-'")
    description = parse_description(_bytes(path, "submission.yml"), "submission.yml")
    if description.version != version:
        raise UserError(
            f"submission.yml: field 'version': expected {version!r}, the folder's name, found {description.version!r}"
        )
    manifest = parse_manifest(_bytes(path, "manifest.json"), "manifest.json")
    if odd := sorted(set(manifest.files) ^ {file_of(*file) for file in files}):
        places = ("manifest.json", "the folder") if odd[0] in manifest.files else ("the folder", "manifest.json")
        raise UserError(f"{odd[0][:80]!r} is in {places[0]} but not in {places[1]}: write the manifest again")
    return Folder(path, method, description, manifest, tuple(files))


def read_table(folder: Path, sampling: Sampling, dataset: str) -> PredictionFile:
    """Read a submission's predictions for ``dataset``. Raises UserError if they are not a table of predictions."""
    name = file_of(sampling, dataset)
    content = _bytes(folder, name)
    n_outputs = 2 if load_spec(dataset).task == "classification" else 1
    arrays = decode(content, n_outputs, name)
    columns = [f"p{c}" for c in range(n_outputs)] if n_outputs > 1 else ["y_pred"]
    values = np.stack([arrays.pop(column) for column in columns], axis=1)
    digest = hashlib.sha256(content).hexdigest()
    return PredictionFile(name, values=values, label=arrays.pop("y_pred", None), sha256=digest, **arrays)


def file_of(sampling: Sampling, dataset: str) -> str:
    """Return the path of a file of predictions in a submission."""
    return f"predictions/{sampling}/{dataset}.parquet"


def _files(path: Path) -> list[tuple[Sampling, str]]:
    """Return the samplings and datasets in a folder. Raises UserError if it holds anything but a submission."""
    _refuse_unless(path, stat.S_ISDIR, str(path), "a folder")
    for entry in _entries(path):
        if entry not in LIMITS:
            raise UserError(f"{entry[:80]!r} does not belong in a submission; expected only {', '.join(LIMITS)}")
    _refuse_unless(path / "predictions", stat.S_ISDIR, "predictions", "a folder")
    given = set(_entries(path / "predictions"))
    if other := sorted(given - set(SAMPLINGS)):
        raise UserError(
            f"{'predictions/' + other[0][:80]!r}: expected only folders named by sampling, {', '.join(SAMPLINGS)}, as "
            "in predictions/halves/DATASET.parquet"
        )
    files = [(sampling, name) for sampling in SAMPLINGS if sampling in given for name in _datasets(path, sampling)]
    if not files:
        raise UserError("predictions: expected a file halves/DATASET.parquet, found none")
    return files


def _datasets(path: Path, sampling: Sampling) -> list[str]:
    folder = f"predictions/{sampling}"
    _refuse_unless(path / folder, stat.S_ISDIR, folder, "a folder")
    names, datasets = dataset_names(), []
    for entry in _entries(path / folder):
        name, dot, suffix = entry.rpartition(".")
        if not dot or suffix != "parquet":
            raise UserError(f"{folder + '/' + entry[:80]!r}: expected DATASET.parquet")
        if "@" in name:
            raise UserError(f"{folder + '/' + entry[:80]!r}: variants of datasets are not accepted")
        if name not in names:
            raise did_you_mean("dataset", name[:80], names)
        datasets.append(name)
    return sorted(datasets)


def _entries(path: Path) -> Iterator[str]:
    with os.scandir(path) as entries:
        for count, entry in enumerate(entries):
            if count > 1000:
                raise UserError(
                    f"{path.name}: more than 1000 files; a submission has one for each dataset and sampling"
                )
            yield entry.name


def _refuse_unless(path: Path, kind: object, name: str, expected: str) -> None:
    try:
        mode = os.lstat(path).st_mode
    except OSError as error:
        raise UserError(f"{name}: {error.strerror}; expected {expected}") from error
    if not kind(mode):  # type: ignore[operator]
        found = "a link" if stat.S_ISLNK(mode) else "something else"
        raise UserError(f"{name}: expected {expected}, found {found}")


def _bytes(folder: Path, name: str) -> bytes:
    """Read a regular file up to its size limit; links, pipes and devices are never opened."""
    limit = LIMITS[name.partition("/")[0]]
    _refuse_unless(folder / name, stat.S_ISREG, name, "a regular file")
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
