"""Finished cells on disk until the tracking store has recorded them, so that no training is ever lost.

Each cell is a folder that appears and disappears atomically. Drivers can share an outbox: the one that holds ``lock``
records the cell.
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path

from filelock import FileLock
from pydantic_core import from_json

from benchmark.errors import UserError
from benchmark.files import home
from benchmark.store.cell import Cell, decode, encode
from benchmark.store.staging import staging, sweep
from benchmark.store.tables import from_table, read_table, to_frame, to_table

SUMS = "SHA256SUMS"
"""File with the sha256 of each other file of a cell, as ``sha256sum`` writes it."""


def outbox() -> Path:
    """Return ``CHURN_OUTBOX``, or by default a folder in the suite's home."""
    return Path(os.environ.get("CHURN_OUTBOX") or home() / "outbox")


def prepare() -> None:
    """Check, before anything is trained, that finished cells can be kept. Raises UserError if they cannot."""
    folder = outbox()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(65536))  # a full disk may accept an empty file
        sweep(folder)
    except OSError as error:
        remedy = "free some space there, or set CHURN_OUTBOX to another folder"
        raise UserError(
            f"finished predictions are kept in {folder}, which cannot be written to: {error}\n  {remedy}"
        ) from error


def lock() -> FileLock:
    """Return the lock to hold while a cell of the outbox is recorded, so that no other driver records it too."""
    return FileLock(outbox() / ".lock")


def save(cell: Cell) -> Path:
    """Write ``cell`` as one folder, whole or not at all. Raises UserError if it cannot be written."""
    folder = outbox()
    final = folder / cell.key.digest
    head = encode(cell) | {"reports": dict(cell.reports)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with staging(final) as hidden:
            new = hidden / "new"
            new.mkdir()
            for evalset, predictions in cell.predictions.items():
                to_table(predictions).to_parquet(new / f"{evalset}.parquet", index=False)
            (new / "cell.json").write_text(json.dumps(head, default=dict, indent=1), encoding="utf-8")
            sums = [f"{_sha256(file.read_bytes())}  {file.name}\n" for file in sorted(new.iterdir())]
            (new / SUMS).write_text("".join(sums), encoding="utf-8")
            for file in new.iterdir():
                with file.open("rb+") as written:
                    os.fsync(written.fileno())  # otherwise a power failure after the rename leaves empty files
            try:
                new.rename(final)
            except OSError:
                if not final.exists():  # otherwise another driver has just finished the same cell
                    raise
    except OSError as error:
        remedy = "free some space there and run the same command again: recorded cells are not trained again"
        raise UserError(f"finished predictions cannot be saved in {folder}: {error}\n  {remedy}") from error
    return final


def load(path: Path) -> Cell:
    """Return the cell in a folder written by ``save``. Raises UserError if it was altered or damaged.

    A folder of an earlier version has no checksums, and is read without them.
    """
    try:
        files = {file.name: file.read_bytes() for file in [path / "cell.json", *sorted(path.glob("*.parquet"))]}
        if (path / SUMS).exists():
            lines = (line.partition("  ") for line in (path / SUMS).read_text(encoding="utf-8").splitlines())
            expected = {name: digest for digest, _, name in lines}
            for name in sorted(expected | files):
                found = f"sha256 {_sha256(files[name])}" if name in files else "no such file"
                wanted = f"sha256 {expected[name]}" if name in expected else "no such file"
                if found != wanted:
                    raise ValueError(f"{name}: {found}, expected {wanted}")
        head = from_json(files["cell.json"])
        tables = {name.removesuffix(".parquet"): table for name, table in files.items() if name.endswith(".parquet")}
        predictions = {name: from_table(to_frame(read_table(table))) for name, table in tables.items()}
        return decode(head, predictions, reports=head["reports"], expected=path.name)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is not a finished cell ({error}): delete this folder to train it again") from error


def pending() -> list[Path]:
    """Return the folders of cells that the tracking store has not recorded yet, oldest first."""
    heads = outbox().glob("[!.]*/cell.json")
    return [head.parent for head in sorted(heads, key=lambda head: (head.stat().st_mtime, head))]


def drop(path: Path) -> None:
    """Remove a recorded cell atomically, so that a kill leaves no part of it to be read."""
    with staging(path) as hidden:
        path.rename(hidden / "recorded")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
