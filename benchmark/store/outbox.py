"""Finished cells on disk until the tracking store has recorded them, so that no training is ever lost.

Each cell is a folder (see ``benchmark.store.folder``) that appears and disappears atomically. Drivers can share an
outbox: the one that holds ``lock`` records the cell.
"""

import os
import tempfile
from pathlib import Path

from filelock import FileLock

from benchmark.errors import UserError
from benchmark.files import folder_of, home
from benchmark.store import folder
from benchmark.store.cell import Cell
from benchmark.store.staging import staging, sweep


def outbox() -> Path:
    """Return ``CHURN_OUTBOX``, or by default a folder in the suite's home."""
    return folder_of("CHURN_OUTBOX") or home() / "outbox"


def prepare() -> None:
    """Check, before anything is trained, that finished cells can be kept. Raises UserError if they cannot."""
    place = outbox()
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(bytes(65536))  # a full disk may accept an empty file
        sweep(place)
    except OSError as error:
        remedy = "make it writable, with some free space, or set CHURN_OUTBOX to another folder"
        raise UserError(f"predictions are kept in {place}, which cannot be written to: {error}\n  {remedy}") from error


def lock() -> FileLock:
    """Return the lock to hold while a cell of the outbox is recorded, so that no other driver records it too."""
    return FileLock(outbox() / ".lock")


def save(cell: Cell) -> Path:
    """Write ``cell`` as one folder, whole or not at all. Raises UserError if it cannot be written."""
    place = outbox()
    final = place / cell.key.digest
    try:
        place.mkdir(parents=True, exist_ok=True)
        with staging(final) as hidden:
            new = hidden / "new"
            new.mkdir()
            folder.save(cell, new)
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
        raise UserError(f"finished predictions cannot be saved in {place}: {error}\n  {remedy}") from error
    return final


def load(path: Path) -> Cell:
    """Return the cell in a folder written by ``save``.

    One that was altered or damaged is moved out of the way, so that its cell can be trained again, and UserError says
    where to.
    """
    try:
        return folder.load(path, digest=path.name)
    except (OSError, ValueError) as error:
        (path.parent / "damaged").mkdir(exist_ok=True)
        aside = path.rename(tempfile.mkdtemp(prefix=f"{path.name}-", dir=path.parent / "damaged"))
        raise UserError(f"{path} is not a finished cell ({error}); it was moved to {aside}") from error


def pending() -> list[Path]:
    """Return the folders of cells that the tracking store has not recorded yet, oldest first."""
    heads = outbox().glob(f"[!.]*/{folder.HEAD}")
    return [head.parent for head in sorted(heads, key=lambda head: (head.stat().st_mtime, head))]


def drop(path: Path) -> None:
    """Remove a recorded cell atomically, so that a kill leaves no part of it to be read."""
    with staging(path) as hidden:
        path.rename(hidden / "recorded")
