"""Raw tables: where the file of a spec lies, and whether it is the right one."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from benchmark.data.spec import DatasetSpec
from benchmark.errors import UserError, did_you_mean


def locate(spec: DatasetSpec) -> Path:
    """The raw file of ``spec``. Raises UserError that says what is missing and how to get it."""
    scheme, _, name = spec.source.partition(":")
    if scheme not in SOURCES:
        raise did_you_mean(f"source of dataset {spec.name}:", scheme, sorted(SOURCES))
    return SOURCES[scheme](spec, name)


def _b3db(spec: DatasetSpec, name: str) -> Path:
    package = find_spec("B3DB")  # found, not imported: importing it reads 80 MB
    if package is None or not package.submodule_search_locations:
        raise UserError(f"{spec.name} ships in a package that is not installed: pip install qc-B3DB")
    return Path(package.submodule_search_locations[0]) / name


def _moleculenet(spec: DatasetSpec, name: str) -> Path:
    folder = os.environ.get("CHURN_DATA_DIR")
    tried = [Path(folder) / "molnet" / file for file in (name, f"{name}.gz")] if folder else []
    for path in tried:
        if path.is_file():
            return path
    state = f"it is not at {' or '.join(map(str, tried))}" if tried else "CHURN_DATA_DIR is not set"
    raise UserError(
        f"{spec.name}: the data file {name} is missing ({state}).\n"
        f"  get it from: https://deepchemdata.s3-us-west-1.amazonaws.com/datasets/{name}\n"
        f"  sha256 (uncompressed): {spec.sha256}\n"
        f"  put it at FOLDER/molnet/{name} and set CHURN_DATA_DIR=FOLDER"
    )


SOURCES = {"b3db": _b3db, "moleculenet": _moleculenet}


@cache
def _verified(path: Path, sha256: str, name: str) -> bytes:
    """The uncompressed bytes of ``path``, whose checksum must be ``sha256``; the file is never written to."""
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{name}: cannot read {path}: {error}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise UserError(
            f"{name}: {path} is not the published file.\n"
            f"  sha256 expected: {sha256}\n"
            f"  sha256 found:    {found} ({len(content):,} bytes)\n"
            f"  The file was left as it is. Replace it by a fresh copy of the original."
        )
    return content


def read_table(spec: DatasetSpec) -> pd.DataFrame:
    """All rows of the verified raw file, text kept as written. Raises UserError (missing, wrong, no such column)."""
    path = locate(spec)
    content = _verified(path, spec.sha256, spec.name)
    separator = "\t" if ".tsv" in path.name or ".tab" in path.name else ","
    table = pd.read_csv(io.BytesIO(content), sep=separator, low_memory=False)
    for column in (spec.smiles, spec.target):
        if column not in table.columns:
            raise did_you_mean(f"column of {path.name}", column, list(map(str, table.columns)))
    return table
