"""Writer of ``manifest.json``, from the predictions and the protocols used for training."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark import __version__
from benchmark.errors import UserError

Fingerprints = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Fingerprints of problem and bootstraps, by dataset and canonical seed."""


def protocols(folders: Sequence[Path]) -> Fingerprints:
    """Read the fingerprints of exported protocols. Raises UserError for one that cannot be read."""
    fingerprints = {}
    for path in folders:
        try:
            about = json.loads((path / "protocol.json").read_text(encoding="utf-8"))
            fingerprints[about["dataset"]] = {
                seed: {name: split[name] for name in ("problem", "bootstraps")}
                for seed, split in about["splits"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{path}: not an exported protocol ({error}): see python -m benchmark export-protocol"
            ) from error
    return fingerprints


def write(folder: Path, fingerprints: Fingerprints) -> Path:
    """Write the manifest of the submission in ``folder``. Raises UserError without protocol or predictions."""
    files = {}
    for path in sorted((folder / "predictions").glob("*.parquet")):
        if path.stem not in fingerprints:
            raise UserError(
                f"{path}: no protocol: add --protocol with the folder written by export-protocol {path.stem}"
            )
        try:
            rows = int(pq.read_metadata(path).num_rows)
        except (OSError, pa.ArrowException) as error:
            raise UserError(f"{path}: cannot be read as Parquet: {error}") from error
        files[f"predictions/{path.name}"] = {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "rows": rows,
            "problems": {seed: split["problem"] for seed, split in fingerprints[path.stem].items()},
            "bootstraps": {seed: split["bootstraps"] for seed, split in fingerprints[path.stem].items()},
        }
    if not files:
        raise UserError(f"{folder / 'predictions'}: expected DATASET.parquet, found none")
    target = folder / "manifest.json"
    target.write_text(json.dumps({"suite": __version__, "files": files}, indent=1) + "\n", encoding="utf-8")
    return target
