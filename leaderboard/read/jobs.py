"""Pure functions that worker processes run, with their results in the cache."""

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count
from joblib.externals.loky import get_reusable_executor
from pydantic_core import to_json

from benchmark.files import ONE_THREAD, cache_folder, read, write
from benchmark.store.cell import Cell, encode
from leaderboard.read.results import Dataset, once

DAYS = 30
"""Days without use after which a result is removed from the cache."""
POOL: Mapping[str, Any] = {"timeout": 300, "env": ONE_THREAD}


@dataclass(frozen=True)
class Job:
    """The call ``make(*given)``, whose result depends on nothing but what ``name``, a cache name, is made of.

    ``make`` is a module-level function, and ``given`` can be pickled.
    """

    name: str
    make: Callable[..., bytes]
    given: tuple[Any, ...]


def new(job: Job) -> bool:
    """Tell whether a job is still to be made: its result is not in the cache."""
    return not (_folder() / job.name).exists()


def start(jobs: Sequence[Job]) -> None:
    """Let ``made`` use no more processes than there are ``jobs`` to make, until the next call.

    A process takes seconds to start and import, in which it would only compete with this one and with its siblings.
    """
    get_reusable_executor(min(sum(map(new, jobs)) or cpu_count(), cpu_count()), **POOL)


def made(jobs: Iterable[Job]) -> Iterator[bytes]:
    """Return the results of ``jobs`` in order, taken from the cache or made and cached.

    Other processes start while jobs are still to come, before the caller consumes the results, which it gets while
    others are still made. A result in the cache is checked, and made again if it is damaged.
    """
    order: list[str] = []
    results: dict[str, bytes] = {}
    running: dict[str, Future[bytes]] = {}
    for job in jobs:
        order.append(job.name)
        if job.name in results or job.name in running:
            continue
        path = _folder() / job.name
        content = read(path)
        if content is None:
            running[job.name] = get_reusable_executor(reuse=True, **POOL).submit(_make, job, path)
            continue
        results[job.name] = content
        try:
            os.utime(path)
        except OSError:  # it is another user's
            write(path, content)

    def take() -> Iterator[bytes]:
        try:
            for name in order:
                if name in running:
                    results[name] = running.pop(name).result()
                yield results[name]
        finally:
            for unwanted in running.values():
                unwanted.cancel()

    return take()


def sweep() -> None:
    """Remove results that no build has used for ``DAYS`` from the cache: each new cell leaves some behind."""
    for path in _folder().glob("*"):
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - DAYS * 24 * 3600:
                path.unlink()


def forget() -> None:
    """Remove all results from the cache, so that they are made again."""
    shutil.rmtree(_folder(), ignore_errors=True)


def digest(cell: Cell) -> str:
    """Return hex digits that change with any field of a cell, or any number of its predictions."""
    hashed = hashlib.sha256(to_json(encode(cell), inf_nan_mode="constants"))  # pages show parts in their order
    for name, p in cell.predictions.items():
        hashed.update(repr((name, p.task, p.sampling, p.seeds, p.class_shares)).encode())
        for array in (p.ids, p.y, p.values):
            hashed.update(repr((array.shape, array.dtype.str)).encode())
            hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()


@once
def digests(dataset: Dataset) -> list[Any]:
    """Return what changes with any cell of a dataset: title and method of each entry, with a digest for each split."""
    return [[e.title, e.method, [[s, digest(cell)] for s, cell in e.cells.items()]] for e in dataset.entries]


def _folder() -> Path:
    return cache_folder() / "site"


def _make(job: Job, path: Path) -> bytes:
    """Run a job and store its result at once, so that a build that is killed has not run it in vain."""
    content = job.make(*job.given)
    write(path, content)
    return content
