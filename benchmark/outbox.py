"""Finished cells on disk, until the tracking store has them: nothing that was trained is ever lost."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from benchmark.data.spec import ROOT
from benchmark.errors import UserError
from benchmark.tables import from_table, to_table
from benchmark.types import Cell, CellKey

OUTBOX = ROOT / "outbox"


def prepare(folder: Path | None = None) -> None:
    """Make sure, before anything is trained, that finished cells can be kept. Raises UserError."""
    folder = folder or OUTBOX
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(f"finished predictions are kept in {folder}, which cannot be written to: {error}") from error


def save(cell: Cell, folder: Path | None = None) -> Path:
    """Write ``cell`` as one folder, whole or not at all. Raises UserError if the disk refuses."""
    folder = folder or OUTBOX
    final, temporary = folder / cell.key.digest, folder / f".{cell.key.digest}.{os.getpid()}"
    try:
        temporary.mkdir(parents=True, exist_ok=True)
        for evalset, predictions in cell.predictions.items():
            to_table(predictions).to_parquet(temporary / f"{evalset}.parquet", index=False)
        head = {
            "key": asdict(cell.key),
            "title": cell.title,
            "fit_seconds": cell.fit_seconds,
            "about": cell.about,
            "reports": cell.reports,
        }
        (temporary / "cell.json").write_text(json.dumps(head, default=dict, indent=1), encoding="utf-8")
        shutil.rmtree(final, ignore_errors=True)
        temporary.rename(final)
    except OSError as error:
        raise UserError(f"cannot keep the finished predictions in {folder}: {error}") from error
    return final


def load(path: Path) -> Cell:
    """The cell in a folder written by ``save``. Raises UserError if it was altered or damaged."""
    try:
        head = json.loads((path / "cell.json").read_text(encoding="utf-8"))
        key = CellKey(**{**head["key"], "seeds": tuple(head["key"]["seeds"])})
        predictions = {file.stem: from_table(pd.read_parquet(file)) for file in sorted(path.glob("*.parquet"))}
        return Cell(key, head["title"], predictions, head["fit_seconds"], head["about"], reports=head["reports"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not a finished cell ({error}); delete this folder to train it again") from error


def pending(folder: Path | None = None) -> list[Path]:
    """The folders of the cells that wait for the tracking store, oldest first."""
    heads = (folder or OUTBOX).glob("[!.]*/cell.json")
    return [head.parent for head in sorted(heads, key=lambda head: (head.stat().st_mtime, head))]


def drop(path: Path) -> None:
    """Forget a cell that the tracking store has."""
    shutil.rmtree(path, ignore_errors=True)
