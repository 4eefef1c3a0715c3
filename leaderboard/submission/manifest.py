"""``manifest.json``, made from the predictions and the protocols that they were trained by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from benchmark import __version__
from benchmark.errors import UserError


def write(folder: Path, protocols: Sequence[Path]) -> Path:
    """Write the manifest of the submission in ``folder``, whose author trained by the exported ``protocols``.

    Raises UserError for predictions without a protocol, and for a protocol that cannot be read.
    """
    known = {}
    for path in protocols:
        try:
            about = json.loads((path / "protocol.json").read_text(encoding="utf-8"))
            known[about["dataset"]] = about["splits"]
        except (OSError, ValueError, KeyError) as error:
            raise UserError(f"{path}: no exported protocol ({error}): python -m benchmark export-protocol") from error
    files = {}
    for path in sorted((folder / "predictions").glob("*.parquet")):
        if path.stem not in known:
            raise UserError(
                f"{path}: no protocol for it: add --protocol with the folder of export-protocol {path.stem}"
            )
        files[f"predictions/{path.name}"] = {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "rows": pq.ParquetFile(path).metadata.num_rows,
            "problems": {seed: split["problem"] for seed, split in known[path.stem].items()},
            "bootstraps": {seed: split["bootstraps"] for seed, split in known[path.stem].items()},
        }
    if not files:
        raise UserError(f"{folder / 'predictions'}: expected DATASET.parquet, found none")
    target = folder / "manifest.json"
    target.write_text(json.dumps({"suite": __version__, "files": files}, indent=1) + "\n", encoding="utf-8")
    return target
