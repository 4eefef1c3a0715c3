"""Folders that appear whole or not at all, and the removal of what killed processes leave behind."""

import glob
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unicodedata import normalize

from benchmark.errors import UserError

OURS = "churn-"
"""Part of the name of a hidden folder, by which ``sweep`` tells it from a user's."""
MARKER = ".churn-leaderboard"
"""File that marks a folder as a leaderboard, which may be replaced: a version, and the files that were written."""
OF_SYSTEMS = {MARKER, ".DS_Store", "Thumbs.db", "desktop.ini"}
"""What may be in a leaderboard without having been written."""
DAY = 24 * 3600.0
"""Age in seconds from which a hidden folder is one that a killed process has left."""


def of_system(name: str) -> bool:
    """Return whether a file is called like one that a desktop puts into the folders that it shows."""
    return name.startswith("._") or name in OF_SYSTEMS


def claim(out: Path) -> Path:
    """Return the absolute path of ``out``, restored if a build was killed while replacing it.

    Raises UserError if it is a file, or a folder with other content, also beside that of a leaderboard.
    """
    out = out.resolve()
    sweep(out.parent, out.name)
    others = {path.name for path in out.iterdir()} - OF_SYSTEMS if out.is_dir() else out.exists()
    if others and not (out / MARKER).is_file():
        raise UserError(f"{out} exists and is not a leaderboard: choose another folder")
    if (out / MARKER).is_file():
        written = {*(out / MARKER).read_text(encoding="utf-8", errors="replace").splitlines()[1:]}
        files = (path for path in out.rglob("*") if not of_system(path.name))
        names = {normalize("NFC", path.relative_to(out).as_posix()) for path in files if not path.is_dir()}
        kept = names - written if written else set()  # a site of before 0.2.0 has no list
        if kept:
            raise UserError(f"{out} holds {min(kept)}, which no build has written: move it, or choose another folder")
    return out


@contextmanager
def staging(target: Path) -> Iterator[Path]:
    """Yield a new hidden folder beside ``target``. It is removed at the end, or a day after a kill by ``sweep``."""
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.{OURS}", dir=target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of ``target`` at the end of the block, unless the block raises.

    ``target`` is missing for an instant. If the process is killed in that instant, ``sweep`` restores the old folder.
    Raises OSError.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target.parent, target.name)
    with staging(target) as folder:
        new, old = folder / "new", folder / "old"
        new.mkdir()
        yield new
        with suppress(FileNotFoundError):
            target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            _restore(old, target)
            raise


def sweep(parent: Path, name: str = "*") -> None:
    """Return what killed processes had put aside of ``parent/name`` to its place, and remove what they left a day ago.

    By default, of everything in ``parent``.
    """
    for folder in parent.glob(f".{name if name == '*' else glob.escape(name)}.{OURS}*/"):
        with suppress(OSError):
            _restore(folder / "old", parent / folder.name[1:].rpartition(f".{OURS}")[0])
            if folder.stat().st_mtime < time.time() - DAY:
                shutil.rmtree(folder)


def _restore(old: Path, target: Path) -> None:
    if old.exists() and not target.exists():
        old.rename(target)
