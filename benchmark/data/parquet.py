"""Reader of Parquet files of any origin: a separate process with bounded memory decodes them and passes on batches.

A few kilobytes of Parquet can expand to terabytes, and its headers may lie: the kernel refuses any excessive allocation
of the process, and each batch is small. The process is started by path (``python -I parquet.py``), so that only pyarrow
is loaded. Each line of standard input names a file as JSON; standard output has an Arrow stream each.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

MEMORY = 2 * 2**30
"""Bytes of address space; the libraries alone map about one GiB."""
SECONDS = 120
"""Processor time for a file."""
ROWS = 2**16
CELLS = 2**22
BYTES = 2**28
"""The most rows, cells and bytes of a batch."""
REFUSED = 3
"""Exit code for a file refused with a message."""
DONE = b"."
"""Follows the stream of a file that was read to its end."""

_waiting: list[subprocess.Popen[bytes]] | None = None
"""Inside ``one_process``, the process for the next file."""


@contextmanager
def one_process() -> Iterator[None]:
    """Let the files that are read meanwhile share a process, whose start takes 0.3 s, until one is refused."""
    global _waiting
    waiting: list[subprocess.Popen[bytes]] = []
    _waiting = waiting
    try:
        yield
    finally:
        _waiting = None
        for child in waiting:
            child.communicate()


def batches(path: Path) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of a Parquet file in batches of at most 256 MiB; the first is empty.

    Raises ValueError for a file that cannot be read with bounded memory.
    """
    child = _waiting.pop() if _waiting else _started()
    assert child.stdin is not None
    assert child.stdout is not None
    message = ""
    try:
        child.stdin.write(json.dumps(os.path.abspath(path)).encode() + b"\n")
        child.stdin.flush()
        with pa.ipc.open_stream(child.stdout) as stream:
            yield pa.RecordBatch.from_pylist([], schema=stream.schema)
            yield from stream
        if child.stdout.read(len(DONE)) == DONE:
            if _waiting is None:
                child.communicate()
            else:
                _waiting.append(child)
            return
    except (OSError, pa.ArrowException) as error:  # if the process refused the file, its own message says why
        message = str(error)
    except BaseException:  # the caller wants no more
        with child:
            child.kill()
        raise
    refusal = child.communicate()[1].decode("utf-8", "replace").strip()
    if child.returncode == REFUSED:
        raise ValueError(refusal)
    raise ValueError(message or f"the reader exited with {child.returncode}: a damaged or hostile file")


def decoded(content: bytes, texts: Sequence[str] = ()) -> pa.Table:
    """Return a table that the suite has written, with its columns of ``texts`` as dictionaries.

    No thread reads it, as one of ``pq.read_table`` does: where that lets go of the ``content`` while the program ends,
    the process is aborted.
    """
    import pyarrow.parquet as pq

    known = {*texts} & {*pq.read_schema(pa.BufferReader(content)).names}
    with pq.ParquetFile(pa.BufferReader(content), read_dictionary=known) as file:
        return file.read(use_threads=False)


def _started() -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    environment = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-I", str(Path(__file__))]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)


def _write(path: str) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False) as file:  # a buffer would hold the whole file
        rows = max(1, min(ROWS, CELLS // max(1, file.metadata.num_columns)))
        schema = pa.schema([_plain(field) for field in file.schema_arrow], file.schema_arrow.metadata)
        with pa.ipc.new_stream(sys.stdout.buffer, schema) as stream:
            for batch in file.iter_batches(rows, use_threads=False):
                decoded = batch.cast(schema)  # entries of a dictionary may be repeated millions of times
                if decoded.nbytes > BYTES:
                    raise MemoryError
                stream.write_batch(decoded)


def _plain(field: pa.Field) -> pa.Field:
    return field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field


def main() -> int:
    """Write the batches of the files that standard input names, a line each; return the exit code."""
    try:
        import resource
    except ImportError:  # not available on Windows
        resource = None  # type: ignore[assignment]
    else:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    try:
        for line in sys.stdin.buffer:
            if resource:
                limit = int(time.process_time()) + SECONDS
                resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
            _write(json.loads(line))
            sys.stdout.buffer.write(DONE)
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        return 0
    except (MemoryError, pa.ArrowMemoryError):
        print(
            f"at most {ROWS:,} of its rows take more than {BYTES // 2**20} MiB: it is damaged or hostile",
            file=sys.stderr,
        )
        return REFUSED
    except Exception as error:
        print(" ".join(str(error).split())[:300], file=sys.stderr)
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
