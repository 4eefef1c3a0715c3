"""Folders that appear whole or not at all, and the removal of what killed processes leave behind.

A process prepares a folder inside a hidden one beside it and holds a lock there. The lock ends with the process,
however that ends, so no clock or process id has to tell whether a hidden folder is still in use.
"""

import errno
import glob
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

LOCK = ".in-use"
"""File in a hidden folder that its process holds locked."""


@contextmanager
def staging(target: Path) -> Iterator[Path]:
    """Yield a new hidden folder beside ``target``. It is removed at the end, or after a kill by ``sweep``."""
    folder, lock = _locked(target)
    try:
        yield folder
    finally:
        _remove(folder)
        lock.release()


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of ``target`` at the end of the block, unless the block raises.

    ``target`` is missing for an instant. If the process is killed in that instant, ``sweep`` restores the old folder.
    If several processes replace ``target`` at once, one of the new folders remains, whole. Raises OSError.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target.parent, target.name)
    with staging(target) as folder:
        new, old = folder / "new", folder / "old"
        new.mkdir()
        yield new
        try:
            while not _moved(new, target):
                shutil.rmtree(old, ignore_errors=True)  # from the last round, if another process was faster
                with suppress(FileNotFoundError):
                    target.rename(old)
        except BaseException:
            _restore(old, target)
            raise


def sweep(parent: Path, name: str = "*") -> None:
    """Remove the hidden folders beside ``parent/name`` whose processes have ended; by default, all in ``parent``.

    A folder that its process had put aside, but not yet replaced, returns to its place first.
    """
    pattern = name if name == "*" else glob.escape(name)
    for folder in parent.glob(f".{pattern}.*/"):
        if not (folder / LOCK).exists():
            with suppress(OSError):  # not ours, unless a kill came before the lock
                folder.rmdir()
            continue
        with suppress(Timeout, OSError), FileLock(folder / LOCK).acquire(blocking=False):
            _restore(folder / "old", parent / folder.name[1:].rpartition(".")[0])
            _remove(folder)


def _locked(target: Path) -> tuple[Path, FileLock]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        lock = FileLock(folder / LOCK)
        with suppress(FileNotFoundError, FileExistsError):  # swept before it was locked
            lock.acquire()
            if (folder / LOCK).exists():
                return folder, lock
            lock.release()


def _remove(folder: Path) -> None:
    """Remove a hidden folder, its lock last, so that after a kill ``sweep`` still knows it."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != LOCK:
            path.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _moved(new: Path, target: Path) -> bool:
    """Rename ``new`` to ``target`` and return True, or return False if ``target`` exists and is not empty."""
    try:
        new.rename(target)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        return False
    return True


def _restore(old: Path, target: Path) -> None:
    if old.exists() and not target.exists():
        _moved(old, target)
