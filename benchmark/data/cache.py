"""What is made from raw files, kept on disk: checked when it is read, made again where it is missing or damaged."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pooch


def cache_folder() -> Path:
    """``CHURN_CACHE_DIR``, else the user's cache folder: downloads in ``raw/``, features in ``made/``."""
    return Path(os.environ.get("CHURN_CACHE_DIR") or pooch.os_cache("churn-benchmark")).expanduser().absolute()


def read(path: Path) -> bytes | None:
    """What ``write`` put into ``path``; None if the file is missing or any byte of it changed."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    digest, content = stored[:32], stored[32:]
    return content if _digest(path, content) == digest else None


def write(path: Path, content: bytes) -> None:
    """Keep ``content`` behind its sha256, whole or not at all; a cache that cannot be written is done without."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(_digest(path, content) + content)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()


def _digest(path: Path, content: bytes) -> bytes:
    """Of the name too: a sound file in the place of another is not believed."""
    return hashlib.sha256(path.name.encode() + content).digest()


def kept(names: tuple[str, ...], make: Callable[[], tuple[bytes, ...]]) -> tuple[bytes, ...]:
    """The contents called ``names``, from the cache if all of them are there and sound, else made and kept."""
    paths = [cache_folder() / "made" / name for name in names]
    found = [read(path) for path in paths]
    whole = tuple(content for content in found if content is not None)
    if len(whole) == len(names):
        return whole
    made = make()
    for path, content in zip(paths, made, strict=True):
        write(path, content)
    return made
