"""Parquet from strangers, decoded in a process of its own with bounded memory and time.

Started by path (``python -I decode.py``), so that nothing but numpy and pyarrow is loaded. Standard input is the file;
standard output is an ``.npz`` of plain arrays, read without pickle. What Parquet's headers promise is never believed:
whatever a lie in them would allocate, the kernel refuses.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

MEMORY = 3 * 2**30
"""Bytes of address space, of which the libraries map about one GiB before they have read anything."""
SECONDS = 60
MAX_ROWS = 5_000_000
MAX_FOOTER = 2**20
MAX_TEXT = 500
TEXTS = ("evalset", "example_id")
SEEDS = ("canonical_seed", "train_seed")
REFUSED = 3
"""Exit code for a file that was read far enough to say what is wrong with it."""


class BadFile(Exception):
    """What is wrong with a file, as a sentence without its name."""


def decode(content: bytes, n_outputs: int) -> dict[str, Any]:
    """The columns of a Parquet file of predictions as arrays; texts as ``NAME`` (indices) and ``NAME_texts``.

    ``n_outputs`` columns p0, p1, … of a classification (and perhaps y_pred), or y_pred alone if it is 1.
    Raises BadFile, or whatever pyarrow raises on a damaged file.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    if len(content) < 12 or content[:4] != b"PAR1" or content[-4:] != b"PAR1":
        raise BadFile("not a Parquet file: expected it to begin and end with PAR1")
    footer = int.from_bytes(content[-8:-4], "little")
    if footer > min(MAX_FOOTER, len(content) - 12):
        raise BadFile(f"its footer says it has {footer} bytes; at most {MAX_FOOTER} and what the file holds is allowed")
    file = pq.ParquetFile(
        pa.BufferReader(content),
        read_dictionary=list(TEXTS),
        thrift_string_size_limit=MAX_FOOTER,
        thrift_container_size_limit=100_000,
    )
    _check_schema(file, n_outputs)
    rows = file.metadata.num_rows
    if not 0 < rows <= MAX_ROWS:
        raise BadFile(f"it says it has {rows} rows; expected 1 to {MAX_ROWS}")
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
        raise BadFile(f"its footer says it has {rows} rows, but {seen} can be read")
    arrays = {name: np.concatenate(some) for name, some in parts.items()}
    return arrays | {f"{name}_texts": np.array(list(known), dtype=str) for name, known in texts.items()}


def _check_schema(file: Any, n_outputs: int) -> None:
    wanted = dict.fromkeys(SEEDS, ("INT32", "INT64")) | dict.fromkeys(TEXTS, ("BYTE_ARRAY",))
    numbers = ("FLOAT", "DOUBLE")
    outputs = {"y_pred": numbers} if n_outputs == 1 else {f"p{c}": numbers for c in range(n_outputs)}
    optional = {} if n_outputs == 1 else {"y_pred": ("INT32", "INT64")}
    if file.metadata.num_columns > 1000:
        raise BadFile(f"it has {file.metadata.num_columns} columns")
    columns = [file.schema.column(i) for i in range(file.metadata.num_columns)]
    expected = ", ".join([*wanted, *outputs])
    for column in columns:
        kinds = (wanted | outputs | optional).get(column.path)
        if kinds is None:
            raise BadFile(f"column {column.path[:80]!r} is not allowed; expected {expected}")
        if column.max_repetition_level or column.max_definition_level > 1 or column.physical_type not in kinds:
            nested = "nested " if column.max_repetition_level else ""
            raise BadFile(
                f"column {column.path!r}: expected {' or '.join(kinds)}, found {nested}{column.physical_type}"
            )
    names = [column.path for column in columns]
    if missing := [name for name in (*wanted, *outputs) if names.count(name) != 1]:
        raise BadFile(f"column {missing[0]!r} is there {names.count(missing[0])} times; expected {expected}, each once")
    import pyarrow.types as kind

    for field in file.schema_arrow:
        inner = field.type.value_type if kind.is_dictionary(field.type) else field.type
        plain = kind.is_string(inner) or kind.is_large_string(inner)
        if not (plain if field.name in TEXTS else kind.is_integer(inner) or kind.is_floating(inner)):
            raise BadFile(f"column {field.name!r}: expected plain {'text' if field.name in TEXTS else 'numbers'}, "
                          f"found {str(field.type)[:80]}")  # fmt: skip


def _codes(column: Any, known: dict[str, int], name: str) -> Any:
    """The texts of a column as indices into ``known``, which grows; no text is repeated in memory."""
    import numpy as np
    import pyarrow as pa

    if not isinstance(column, pa.DictionaryArray):
        column = column.dictionary_encode()
    dictionary = column.dictionary
    lengths = pa.compute.binary_length(dictionary).to_numpy(zero_copy_only=False)
    if len(lengths) and lengths.max() > MAX_TEXT:
        raise BadFile(f"column {name!r}: a text of {lengths.max()} bytes; at most {MAX_TEXT} are allowed")
    here = [known.setdefault(text, len(known)) for text in dictionary.to_pylist()]
    if len(known) > 1_000_000:
        raise BadFile(f"column {name!r}: more than a million different texts")
    return np.array(here, dtype=np.int64)[column.indices.to_numpy(zero_copy_only=False)]


def main() -> int:
    n_outputs = int(sys.argv[1])
    try:
        import resource
    except ImportError:  # Windows has no such limits
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
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
