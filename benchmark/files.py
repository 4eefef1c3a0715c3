"""File locations, and a cache that is verified on reading and rebuilt where it is missing or damaged."""

import hashlib
import io
import json
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from shlex import quote
from tempfile import gettempdir
from threading import get_ident
from typing import Any

import numpy as np
from platformdirs import user_cache_dir

from benchmark.errors import UserError

DISTRIBUTION = "churn-benchmark"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Variables in the environment of a process that is to compute on one thread."""
PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent
"""The folder that holds the package: the checkout, or ``site-packages``."""


def install(extra: str = "") -> str:
    """Return the command that installs the suite with ``extra`` from here: of the checkout, or the package index."""
    suffix = f"[{extra}]" if extra else ""
    if (CHECKOUT / "constraints.txt").is_file():
        root = "." if Path.cwd() == CHECKOUT else str(CHECKOUT)
        return f"pip install -c {quote(str(Path(root, 'constraints.txt')))} -e {quote(root + suffix)}"
    return f"pip install {quote(DISTRIBUTION + suffix)}"


def folder_of(variable: str) -> Path | None:
    """Return the folder that an environment variable names, if it is set. Raises UserError for a ``~user`` of none."""
    text = os.environ.get(variable, "")
    try:
        return Path(text).expanduser().absolute() if text else None
    except RuntimeError as error:
        raise UserError(f"{variable}={text}: {error} Write the path in full") from error


def home() -> Path:
    """Return the folder of the user's store, datasets and methods: ``CHURN_HOME``, or the working folder.

    Raises UserError if it is a file.
    """
    folder = folder_of("CHURN_HOME") or Path.cwd()
    if folder.is_file():
        raise UserError(f"CHURN_HOME={folder} is a file: name a folder")
    return folder


def files_in(folder: Path, pattern: str) -> list[Path]:
    """Return the files in a folder that match a pattern, sorted, without those that editors and systems hide there."""
    found = (path for path in folder.glob(pattern) if path.is_file())
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def leave_clone() -> None:
    """Go to the folder of the user where ``mlflow run git://…`` works in a temporary clone, which is soon removed."""
    if os.environ.get("MLFLOW_RUN_ID") and Path.cwd().is_relative_to(Path(gettempdir()).resolve()):
        with suppress(OSError):  # a system without /proc
            os.chdir(f"/proc/{os.getppid()}/cwd")
            found = (str(CHECKOUT), os.environ.get("PYTHONPATH"))  # by the processes that this one starts
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, found))


def shipped_datasets() -> Path:
    """Return the folder of the suite's TOMLs: inside an installed package, beside it in a checkout."""
    installed = PACKAGE / "datasets"
    return installed if installed.is_dir() else CHECKOUT / "datasets"


def published_results() -> Path:
    """Return the folder of the newest results that come with the suite, which the leaderboard reads."""
    return CHECKOUT / "leaderboard" / "published" / "0.2.0"


def own_datasets() -> Path:
    """Return the folder of the user's TOMLs, which may not exist."""
    return home() / "datasets"


def own_methods() -> Path:
    """Return the folder of the user's methods, which may not exist."""
    return home() / "methods"


def hash_of(files: Sequence[Path]) -> str:
    """Return 16 hex digits of the content of files, in this order."""
    digests = (hashlib.sha256(file.read_bytes()).digest() for file in files)
    return hashlib.sha256(b"".join(digests)).hexdigest()[:16]


@cache
def program(*packages: str) -> str:
    """Return 16 hex digits of all Python files of some of the suite's packages: names content that they compute."""
    folders = [Path(import_module(package).__path__[0]) for package in packages]
    return hash_of([file for folder in folders for file in files_in(folder, "**/*.py")])


def package_root(path: Path) -> Path:
    """Return the folder of a Python file, or that of the outermost package to which it belongs."""
    above = path.parent
    while (above / "__init__.py").is_file():
        above = above.parent
    return above


def offline() -> bool:
    """Return whether network access is forbidden, by ``--offline`` or a non-empty CHURN_OFFLINE other than 0."""
    return os.environ.get("CHURN_OFFLINE", "0") not in ("", "0")


def inside(folder: Path, name: str) -> Path:
    """Return the path ``name`` below ``folder``. Raises UserError if it leads elsewhere."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{name!r} leads out of {folder}: nothing is read or written there; correct the name")
    return path


_watchers: dict[int, Callable[[Path], None]] = {}
"""What is called with each file that is opened, by thread."""


@contextmanager
def watched(seen: Callable[[Path], None]) -> Iterator[None]:
    """Call ``seen`` with each file that this thread, or one that is not watched itself, opens to read.

    Python's own files, compiled code and the cache are left out. What a library opens in C goes unseen.
    """
    _listen()
    here = get_ident()
    before = _watchers.get(here)
    _watchers[here] = seen
    try:
        yield
    finally:
        if before is None:
            del _watchers[here]
        else:
            _watchers[here] = before


@cache
def _listen() -> None:
    sys.addaudithook(_opened)


def _opened(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not _watchers:
        return
    path, _, flags = arguments
    if not isinstance(path, str | bytes | os.PathLike) or flags & (os.O_WRONLY | os.O_TRUNC):
        return
    file = Path(os.path.abspath(os.fsdecode(path)))
    if file.suffix in (".py", ".pyc") or file.is_relative_to(sys.prefix) or file.is_relative_to(cache_folder()):
        return
    if os.path.isfile(file):
        own = _watchers.get(get_ident())
        for seen in [own] if own else [*_watchers.values()]:
            seen(file)


def data_in(folder: Path, file: Path, declared: Collection[str] = ()) -> str:
    """Return the name in ``folder`` of a file of data that is not ``declared``, a link's own; empty if it has none.

    Hidden folders are no part of it.
    """
    names = [str(path.relative_to(folder)) for path in (file, file.resolve()) if path.is_relative_to(folder)]
    visible = [name for name in names if not any(part.startswith(".") for part in Path(name).parts)]
    return "" if {*names} & {*declared} else next(iter(visible), "")


def save(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, where a link leads; a device gets the bytes as they come. Raises UserError."""
    device = path.exists() and not (path.is_file() or path.is_dir())
    path = path if device else path.resolve()
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if device:
            path.write_bytes(content)
            return
        hidden.write_bytes(content)
        hidden.replace(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):  # there is none where the path leads through a file
            hidden.unlink()


@contextmanager
def reserved(path: Path) -> Iterator[None]:
    """Keep a free name for a file that takes long to make. Raises UserError if it is taken or cannot be written.

    Where an error stops the work, the name is free again.
    """
    try:
        path.open("xb").close()
    except FileExistsError:
        raise UserError(f"{path} exists: choose another file, or rename it") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def cache_folder() -> Path:
    """Return ``CHURN_CACHE_DIR`` or the user's cache folder; downloads are in ``raw/``, derived data in ``made/``."""
    return folder_of("CHURN_CACHE_DIR") or Path(user_cache_dir("churn-benchmark")).absolute()


def named(start: str, recipe: object, suffix: str = "") -> str:
    """Return a cache name for content that depends on nothing but ``recipe``, a JSON-serialisable value."""
    return f"{start}-{hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:32]}{suffix}"


def read(path: Path) -> bytes | None:
    """Return the content that ``write`` stored at ``path``; None if the file is missing or any byte has changed."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    digest, content = stored[:32], stored[32:]
    return content if _digest(path, content) == digest else None


def write(path: Path, content: bytes) -> None:
    """Store ``content`` atomically behind its sha256. A cache that cannot be written to is ignored."""
    with suppress(OSError, UserError):
        path.parent.mkdir(parents=True, exist_ok=True)
        save(path, _digest(path, content) + content)


def read_arrays(path: Path) -> dict[str, np.ndarray] | None:
    """Return the arrays that ``write_arrays`` stored at ``path``; None under the conditions of ``read``."""
    content = read(path)
    return None if content is None else unpacked(content)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Store ``arrays`` under their names, as ``write`` does."""
    write(path, packed(arrays))


def packed(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays with their names as the bytes of an npz file."""
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def unpacked(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of ``packed`` by name. Raises ValueError for an array of objects, which would be a pickle."""
    with np.load(io.BytesIO(content)) as stored:
        return dict(stored)


def _digest(path: Path, content: bytes) -> bytes:
    # The name is included so that an intact file in the place of another is rejected.
    return hashlib.sha256(path.name.encode() + content).digest()


def kept(name: str, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the arrays called ``name`` from the cache, or make and store them if the file is missing or damaged."""
    path = cache_folder() / "made" / name
    stored = read_arrays(path)
    if stored is None:
        stored = make()
        write_arrays(path, stored)
    return stored
