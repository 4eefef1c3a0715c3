"""Writer of ``manifest.json``, from the predictions and the protocols used for training."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark import __version__
from benchmark.errors import UserError
from benchmark.types import SAMPLINGS, Sampling
from leaderboard.submission.read import file_of

Fingerprints = Mapping[tuple[Sampling, str], Mapping[str, Mapping[str, str]]]
"""Fingerprints of problem and samples, by sampling and dataset, and by canonical seed."""


def protocols(folders: Sequence[Path]) -> Fingerprints:
    """Read the fingerprints of exported protocols. Raises UserError for one that cannot be read or was changed.

    Files of a protocol may be missing, as they are where only ``protocol.json`` came back from the training machine.
    """
    fingerprints: dict[tuple[Sampling, str], dict[str, dict[str, str]]] = {}
    for path in folders:
        try:
            about = json.loads((path / "protocol.json").read_text(encoding="utf-8"))
            fingerprints[about["sampling"], about["dataset"]] = {
                seed: {name: split[name] for name in ("problem", "samples")} for seed, split in about["splits"].items()
            }
            changed = [
                (file, found, sha256)
                for seed, split in about["splits"].items()
                for name, sha256 in split["files"].items()
                if (file := path / f"split-{seed}" / name).is_file() and (found := _sha256(file)) != sha256
            ]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path}: not an exported protocol ({error}): see churn export-protocol") from error
        if changed:
            raise UserError(
                "{}: sha256 {}, expected {} as in protocol.json: the file was changed after the export; export the "
                "protocol again and retrain".format(*changed[0])
            )
    return fingerprints


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(folder: Path, fingerprints: Fingerprints) -> Path:
    """Write the manifest of the submission in ``folder``. Raises UserError without protocol or predictions."""
    files = {}
    for sampling, path in [(s, p) for s in SAMPLINGS for p in sorted((folder / "predictions" / s).glob("*.parquet"))]:
        if (sampling, path.stem) not in fingerprints:
            raise UserError(
                f"{path}: no protocol: add --protocol with the folder written by export-protocol {path.stem} "
                f"--sampling {sampling}"
            )
        splits = fingerprints[sampling, path.stem]
        try:
            rows = int(pq.read_metadata(path).num_rows)
        except (OSError, pa.ArrowException) as error:
            raise UserError(f"{path}: cannot be read as Parquet: {error}") from error
        files[file_of(sampling, path.stem)] = {
            "sha256": _sha256(path),
            "rows": rows,
            "problems": {seed: split["problem"] for seed, split in splits.items()},
            "samples": {seed: split["samples"] for seed, split in splits.items()},
        }
    if not files:
        raise UserError(f"{folder / 'predictions'}: expected halves/DATASET.parquet, found none")
    target = folder / "manifest.json"
    target.write_text(json.dumps({"suite": __version__, "files": files}, indent=1) + "\n", encoding="utf-8")
    return target
