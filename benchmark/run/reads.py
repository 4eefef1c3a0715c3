"""Refuse what a user's method reads beside its file without declaring it: results would not tell of a change."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import local
from typing import Any

from benchmark.errors import UserError
from benchmark.files import cache_folder
from benchmark.pipeline import Pipeline
from benchmark.run.code import own_parts

_here = local()


@contextmanager
def guarded(method: Pipeline) -> Iterator[None]:
    """Raise UserError where this thread opens a file below the folder of a user's part that its ``files`` lack.

    Its code is known without. Hidden folders, installed packages and the cache are not the part's. What a library
    opens in C, as pyarrow does, goes unseen.
    """
    parts = {(part.name, Path(part.place).resolve().parent, frozenset(part.files)) for part in own_parts(method)}
    if parts:
        _listen()
    _here.parts = parts
    try:
        yield
    finally:
        _here.parts = ()


@cache
def _listen() -> None:
    sys.addaudithook(_check)


def _check(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not getattr(_here, "parts", ()):
        return
    path, _, flags = arguments
    if not isinstance(path, str | bytes | os.PathLike) or flags & (os.O_WRONLY | os.O_RDWR):
        return
    file = Path(os.path.realpath(os.fsdecode(path)))
    if file.suffix in (".py", ".pyc") or file.is_relative_to(sys.prefix) or file.is_relative_to(cache_folder()):
        return
    for name, folder, declared in _here.parts:
        if file.is_relative_to(folder) and os.path.isfile(file):
            below = file.relative_to(folder)
            if str(below) not in declared and not any(part.startswith(".") for part in below.parts):
                raise UserError(f"{name} reads {file} without declaring it: add {str(below)!r} and its sha256 to files")
