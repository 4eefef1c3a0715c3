"""One process that decodes many Parquet files, each as ``benchmark.data.parquet`` does: its start takes 0.3 s."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from benchmark.data import parquet

DONE = b"."
"""Follows the stream of a file that was read to its end."""
LOOP = f"""
import io, runpy, sys

main, given = runpy.run_path(sys.argv[1])["main"], sys.stdin
for line in given.buffer:
    sys.stdin = io.TextIOWrapper(io.BytesIO(line))
    if code := main():
        sys.exit(code)
    sys.stdout.buffer.write({DONE!r})
    sys.stdout.buffer.flush()
"""
"""The process: ``main`` of the reader, once for each line."""

_waiting: list[subprocess.Popen[bytes]] | None = None
"""Inside ``one_process``, the process for the next file."""


@contextmanager
def one_process() -> Iterator[None]:
    """Let the files that are read meanwhile share a process, until one is refused."""
    global _waiting
    waiting: list[subprocess.Popen[bytes]] = []
    _waiting = waiting
    try:
        yield
    finally:
        _waiting = None
        for child in waiting:
            child.communicate()


def batches(path: Path, columns: Sequence[str]) -> Generator[pa.RecordBatch, None, None]:
    """Yield batches as ``parquet.batches`` does, from the process of ``one_process`` inside it. Raises ValueError."""
    if _waiting is None:
        yield from parquet.batches(path, columns)
        return
    child = _waiting.pop() if _waiting else _started()
    assert child.stdin is not None
    assert child.stdout is not None
    message = ""
    try:
        child.stdin.write(json.dumps([str(path), columns]).encode() + b"\n")
        child.stdin.flush()
        with pa.ipc.open_stream(child.stdout) as stream:
            yield pa.RecordBatch.from_pylist([], schema=stream.schema)
            yield from stream
        if child.stdout.read(len(DONE)) == DONE:
            _waiting.append(child)
            return
    except (OSError, pa.ArrowException) as error:  # if the process refused the file, its own message says why
        message = str(error)
    except BaseException:  # the caller wants no more
        with child:
            child.kill()
        raise
    refusal = child.communicate()[1].decode("utf-8", "replace").strip()
    raise ValueError(refusal or message or f"the reader exited with {child.returncode}: a damaged or hostile file")


def _started() -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-I", "-c", LOOP, parquet.__file__]
    environment = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}  # as parquet.batches
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
