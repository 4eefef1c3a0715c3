"""Decoder of untrusted Parquet files, run in a separate process with bounded memory and time.

It is started by path (``python -I decode.py``), so that only numpy and pyarrow are loaded. Standard input is the file;
standard output is an ``.npz`` of plain arrays, read without pickle. Parquet headers are never trusted: the kernel
refuses any excessive allocation they cause.
"""

import io
import os
import sys
from typing import Any

MEMORY = 3 * 2**30
"""Bytes of address space; the libraries alone map about one GiB."""
SECONDS = 60
MAX_ROWS = 5_000_000
MAX_FOOTER = 2**20
MAX_TEXT = 500
MAX_TEXTS = 100_000
OUTPUT = 2**29
"""Bytes of standard output, if that is a file; the largest table of a classification takes 480 million."""
TEXTS = ("evalset", "example_id")
SEEDS = ("canonical_seed", "train_seed")
REFUSED = 3
"""Exit code for a file refused with a message."""


class BadFile(Exception):
    """A fault in a file, described without its name."""


def decode(content: bytes, n_outputs: int) -> dict[str, Any]:
    """Return the columns of a Parquet file of predictions as arrays; texts as ``NAME`` (indices) and ``NAME_texts``.

    Expected are ``n_outputs`` columns p0, p1, … of a classification (and optionally y_pred), or only y_pred if it is 1.
    Raises BadFile, or any error of pyarrow on a damaged file.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    if len(content) < 12 or content[:4] != b"PAR1" or content[-4:] != b"PAR1":
        raise BadFile("not a Parquet file: expected PAR1 at both ends")
    footer = int.from_bytes(content[-8:-4], "little")
    if footer > min(MAX_FOOTER, len(content) - 12):
        raise BadFile(
            f"its footer claims {footer} bytes; at most {MAX_FOOTER} are allowed, and no more than the file has"
        )
    file = pq.ParquetFile(
        pa.BufferReader(content),
        read_dictionary=list(TEXTS),
        thrift_string_size_limit=MAX_FOOTER,
        thrift_container_size_limit=100_000,
    )
    _check_schema(file, n_outputs)
    rows = file.metadata.num_rows
    if not 0 < rows <= MAX_ROWS:
        raise BadFile(f"it claims {rows} rows; expected 1 to {MAX_ROWS}")
    values = [name for name in file.schema_arrow.names if name not in (*TEXTS, *SEEDS)]
    parts: dict[str, list[Any]] = {name: [] for name in (*SEEDS, *TEXTS, *values)}
    texts: dict[str, dict[str, int]] = {name: {} for name in TEXTS}
    seen = 0
    for batch in file.iter_batches(batch_size=65_536, use_threads=False):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if column.null_count:
                row = seen + column.is_null().to_numpy(zero_copy_only=False).argmax()
                raise BadFile(f"row {row}: column {name!r}: expected a value, found none")
            parts[name].append(_codes(column, texts[name], name) if name in TEXTS else column.to_numpy())
        seen += len(batch)
        if seen > rows:
            break
    if seen != rows:
        raise BadFile(f"its footer claims {rows} rows, but {seen} can be read")
    arrays = {name: np.concatenate(chunks) for name, chunks in parts.items()}
    return arrays | {f"{name}_texts": np.array(list(codes), dtype=str) for name, codes in texts.items()}


def _check_schema(file: Any, n_outputs: int) -> None:
    integers, floats = ("INT32", "INT64"), ("FLOAT", "DOUBLE")
    wanted = dict.fromkeys(SEEDS, integers) | dict.fromkeys(TEXTS, ("BYTE_ARRAY",))
    wanted |= {"y_pred": floats} if n_outputs == 1 else {f"p{c}": floats for c in range(n_outputs)}
    allowed = {"y_pred": integers} | wanted
    if file.metadata.num_columns > 1000:
        raise BadFile(f"it has {file.metadata.num_columns} columns; at most 1000 are allowed")
    columns = [file.schema.column(i) for i in range(file.metadata.num_columns)]
    expected = ", ".join(wanted)
    for column in columns:
        kinds = allowed.get(column.path)
        if kinds is None:
            raise BadFile(f"column {column.path[:80]!r} is not allowed; expected {expected}")
        if column.max_repetition_level or column.max_definition_level > 1 or column.physical_type not in kinds:
            nested = "nested " if column.max_repetition_level else ""
            raise BadFile(
                f"column {column.path!r}: expected {' or '.join(kinds)}, found {nested}{column.physical_type}"
            )
    names = [column.path for column in columns]
    if missing := [name for name in wanted if names.count(name) != 1]:
        raise BadFile(f"column {missing[0]!r} appears {names.count(missing[0])} times; expected {expected}, each once")
    import pyarrow.types as kind

    for field in file.schema_arrow:
        inner = field.type.value_type if kind.is_dictionary(field.type) else field.type
        plain = kind.is_string(inner) or kind.is_large_string(inner)
        if not (plain if field.name in TEXTS else kind.is_integer(inner) or kind.is_floating(inner)):
            raise BadFile(f"column {field.name!r}: expected plain {'text' if field.name in TEXTS else 'numbers'}, "
                          f"found {str(field.type)[:80]}")  # fmt: skip


def _codes(column: Any, codes: dict[str, int], name: str) -> Any:
    """Return the texts of a column as ``codes``, which grow; no text is repeated in memory."""
    import numpy as np
    import pyarrow as pa

    if not isinstance(column, pa.DictionaryArray):
        column = column.dictionary_encode()
    dictionary = column.dictionary
    if len(dictionary) > MAX_TEXTS:  # of each batch: examined before it is copied
        raise BadFile(f"column {name!r}: more than {MAX_TEXTS:,} different texts")
    lengths = pa.compute.binary_length(dictionary).to_numpy(zero_copy_only=False)
    if len(lengths) and lengths.max() > MAX_TEXT:
        raise BadFile(f"column {name!r}: a text of {lengths.max()} bytes; at most {MAX_TEXT} are allowed")
    of_dictionary = [codes.setdefault(text, len(codes)) for text in dictionary.to_pylist()]
    if len(codes) > MAX_TEXTS:
        raise BadFile(f"column {name!r}: more than {MAX_TEXTS:,} different texts")
    return np.array(of_dictionary, dtype=np.int64)[column.indices.to_numpy(zero_copy_only=False)]


def main() -> int:
    n_outputs = int(sys.argv[1])
    try:
        import resource
    except ImportError:  # not available on Windows
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    try:
        arrays = decode(sys.stdin.buffer.read(), n_outputs)
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
    except BadFile as error:
        print(error, file=sys.stderr)
        return REFUSED
    except (MemoryError, pa.ArrowMemoryError):
        print(f"it needs more than {MEMORY // 2**20} MiB of memory to be read", file=sys.stderr)
        return REFUSED
    except Exception as error:
        print(f"it cannot be read as Parquet: {' '.join(str(error).split())[:300]}", file=sys.stderr)
        return REFUSED
    sys.stdout.buffer.write(buffer.getbuffer())
    return 0


if __name__ == "__main__":
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    sys.exit(main())
