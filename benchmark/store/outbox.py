"""Finished cells on disk, until the tracking store has them: nothing that was trained is ever lost.

One folder per cell, which appears and disappears at once. Drivers may share an outbox: each cell is recorded by the one
that holds ``lock``.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pandas as pd
from filelock import FileLock

from benchmark.errors import UserError
from benchmark.files import home
from benchmark.store.cell import Cell, decode, encode
from benchmark.store.tables import from_table, to_table

STALE_SECONDS = 3600
"""How old a hidden folder is when a killed process, not one at work, must have left it."""


def outbox() -> Path:
    """``CHURN_OUTBOX``, else a folder in the user's home."""
    return Path(os.environ.get("CHURN_OUTBOX") or home() / "outbox")


def prepare(folder: Path | None = None) -> None:
    """Make sure, before anything is trained, that finished cells can be kept. Raises UserError."""
    folder = folder or outbox()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(65536))  # a full disk takes a new name, and then no byte
        for left in folder.glob(".*/"):
            with suppress(FileNotFoundError):  # its driver is at work, and removed it
                if time.time() - left.stat().st_mtime > STALE_SECONDS:
                    shutil.rmtree(left, ignore_errors=True)
    except OSError as error:
        remedy = "make room there, or set CHURN_OUTBOX to another folder"
        raise UserError(
            f"finished predictions are kept in {folder}, which cannot be written to: {error}\n  {remedy}"
        ) from error


def lock(folder: Path | None = None) -> FileLock:
    """To be held while a cell of the outbox is recorded, so that no other driver records it too."""
    return FileLock((folder or outbox()) / ".lock")


def save(cell: Cell, folder: Path | None = None) -> Path:
    """Write ``cell`` as one folder, whole or not at all. Raises UserError if the disk refuses."""
    folder = folder or outbox()
    final, temporary = folder / cell.key.digest, folder / f".{cell.key.digest}.{os.getpid()}"
    head = encode(cell) | {"reports": dict(cell.reports)}
    try:
        temporary.mkdir(parents=True, exist_ok=True)
        for evalset, predictions in cell.predictions.items():
            to_table(predictions).to_parquet(temporary / f"{evalset}.parquet", index=False)
        (temporary / "cell.json").write_text(json.dumps(head, default=dict, indent=1), encoding="utf-8")
        for file in temporary.iterdir():
            with file.open("rb+") as written:
                os.fsync(written.fileno())  # else a power failure after the renaming leaves empty files
        try:
            temporary.rename(final)
        except OSError:
            if not final.exists():
                raise
            shutil.rmtree(temporary)  # another driver has just finished the same cell
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        remedy = "make room there and run the same command again: what is recorded is not trained again"
        raise UserError(f"cannot keep the finished predictions in {folder}: {error}\n  {remedy}") from error
    return final


def load(path: Path) -> Cell:
    """The cell in a folder written by ``save``. Raises UserError if it was altered or damaged."""
    try:
        head = json.loads((path / "cell.json").read_text(encoding="utf-8"))
        predictions = {file.stem: from_table(pd.read_parquet(file)) for file in sorted(path.glob("*.parquet"))}
        return decode(head, predictions, reports=head["reports"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not a finished cell ({error}); delete this folder to train it again") from error


def pending(folder: Path | None = None) -> list[Path]:
    """The folders of the cells that wait for the tracking store, oldest first."""
    heads = (folder or outbox()).glob("[!.]*/cell.json")
    return [head.parent for head in sorted(heads, key=lambda head: (head.stat().st_mtime, head))]


def drop(path: Path) -> None:
    """Forget a cell that the tracking store has, at once: a kill leaves no half of it to be read."""
    hidden = path.with_name(f".{path.name}.{os.getpid()}.done")
    shutil.rmtree(hidden, ignore_errors=True)  # left by a kill
    path.rename(hidden)
    shutil.rmtree(hidden, ignore_errors=True)
