"""``manifest.json``, made from the predictions and the protocols that they were trained by."""

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
"""Of problem and bootstraps, by dataset and canonical seed."""


def protocols(folders: Sequence[Path]) -> Fingerprints:
    """What exported protocols say. Raises UserError for one that cannot be read."""
    known = {}
    for path in folders:
        try:
            about = json.loads((path / "protocol.json").read_text(encoding="utf-8"))
            known[about["dataset"]] = {
                seed: {name: split[name] for name in ("problem", "bootstraps")}
                for seed, split in about["splits"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path}: no exported protocol ({error}): python -m benchmark export-protocol") from error
    return known


def write(folder: Path, known: Fingerprints) -> Path:
    """Write the manifest of the submission in ``folder``, trained on what is ``known``; else raises UserError."""
    files = {}
    for path in sorted((folder / "predictions").glob("*.parquet")):
        if path.stem not in known:
            raise UserError(
                f"{path}: no protocol for it: add --protocol with the folder of export-protocol {path.stem}"
            )
        files[f"predictions/{path.name}"] = {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "rows": _rows(path),
            "problems": {seed: split["problem"] for seed, split in known[path.stem].items()},
            "bootstraps": {seed: split["bootstraps"] for seed, split in known[path.stem].items()},
        }
    if not files:
        raise UserError(f"{folder / 'predictions'}: expected DATASET.parquet, found none")
    target = folder / "manifest.json"
    target.write_text(json.dumps({"suite": __version__, "files": files}, indent=1) + "\n", encoding="utf-8")
    return target


def _rows(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path}: cannot be read as Parquet: {error}") from error
