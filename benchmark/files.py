"""Where files lie, and the cache: checked when it is read, made again where it is missing or damaged."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote

import numpy as np
import pooch

DISTRIBUTION = "churn-benchmark"
PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent
"""The folder that holds the package: that of a checkout, or ``site-packages``."""


def install(extra: str = "") -> str:
    """The command that installs the suite, with an extra: from the checkout, or as it was installed."""
    named = f"[{extra}]" if extra else ""
    if (CHECKOUT / "constraints.txt").is_file():
        return f"pip install -c constraints.txt -e {quote('.' + named)}"
    return f"pip install {quote(DISTRIBUTION + named)}"


def home() -> Path:
    """Where a user's store, datasets and methods lie: ``CHURN_HOME``, else the working folder."""
    return Path(os.environ.get("CHURN_HOME") or Path.cwd()).expanduser().absolute()


def shipped_datasets() -> Path:
    """The folder of the suite's own TOMLs: in the package where that is installed, beside it in a checkout."""
    installed = PACKAGE / "datasets"
    return installed if installed.is_dir() else CHECKOUT / "datasets"


def own_datasets() -> Path:
    """The folder of the user's TOMLs, which may not exist."""
    return home() / "datasets"


def own_methods() -> Path:
    """The folder of the user's methods, which may not exist."""
    return home() / "methods"


def offline() -> bool:
    """Whether the network must not be touched: ``--offline``, or CHURN_OFFLINE set to anything but 0."""
    return os.environ.get("CHURN_OFFLINE", "0") not in ("", "0")


def cache_folder() -> Path:
    """``CHURN_CACHE_DIR``, else the user's cache folder: downloads in ``raw/``, features in ``made/``."""
    return Path(os.environ.get("CHURN_CACHE_DIR") or pooch.os_cache("churn-benchmark")).expanduser().absolute()


def named(start: str, recipe: object, suffix: str = "") -> str:
    """A name in the cache for what is made by ``recipe``, which JSON can hold: all that it depends on."""
    return f"{start}-{hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:32]}{suffix}"


def cached(name: str) -> bytes | None:
    """What ``keep`` put into the cache under ``name``; None if that is missing or any byte of it changed."""
    return read(cache_folder() / "made" / name)


def keep(name: str, content: bytes) -> None:
    """Put ``content`` into the cache, as ``write`` does."""
    write(cache_folder() / "made" / name, content)


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


def read_arrays(path: Path) -> dict[str, np.ndarray] | None:
    """What ``write_arrays`` put into ``path``; None as ``read`` says."""
    content = read(path)
    if content is None:
        return None
    with np.load(io.BytesIO(content)) as stored:
        return dict(stored)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Keep ``arrays`` by their names, as ``write`` does."""
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    write(path, content.getvalue())


def _digest(path: Path, content: bytes) -> bytes:
    """Of the name too: a sound file in the place of another is not believed."""
    return hashlib.sha256(path.name.encode() + content).digest()


def kept(names: tuple[str, ...], make: Callable[[], tuple[bytes, ...]]) -> tuple[bytes, ...]:
    """The contents called ``names``, from the cache if all of them are there and sound, else made and kept."""
    stored = [content for name in names if (content := cached(name)) is not None]
    if len(stored) == len(names):
        return tuple(stored)
    made = make()
    for name, content in zip(names, made, strict=True):
        keep(name, content)
    return made
