"""Decoder of untrusted Parquet files of predictions, in batches from a process with bounded memory and time."""

import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from benchmark.data import parquet
from benchmark.errors import UserError

MAX_ROWS = 5_000_000
MAX_TEXT = 500
MAX_TEXTS = 100_000
TEXTS = ("evalset", "example_id")
SEEDS = ("canonical_seed", "train_seed")


def decode(content: bytes, n_outputs: int, name: str) -> pd.DataFrame:
    """Return the rows of a Parquet file of predictions; its texts are categories.

    Expected are ``n_outputs`` columns p0, p1, … of a classification, or only y_pred if it is 1.
    Raises UserError, with the ``name`` of the file, for anything else.
    """
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        file.write(content)
        file.flush()
        try:
            return _rows(Path(file.name), n_outputs)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise UserError(f"{name}: {error}") from error


def _rows(path: Path, n_outputs: int) -> pd.DataFrame:
    parts: dict[str, list[np.ndarray]] = {}
    texts: dict[str, dict[str, int]] = {name: {} for name in TEXTS}
    seen = 0
    with closing(parquet.batches(path)) as batches:
        for batch in batches:
            if not parts:
                _check(batch.schema, n_outputs)
                parts = {name: [] for name in batch.schema.names}
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                if column.null_count:
                    row = seen + column.is_null().to_numpy(zero_copy_only=False).argmax()
                    raise ValueError(f"row {row}: column {name!r}: expected a value, found none")
                values = _codes(column, texts[name], name) if name in TEXTS else column.to_numpy()
                parts[name].append(values.copy())  # the columns of a batch share its memory
            if (seen := seen + len(batch)) > MAX_ROWS:
                break
    if not 0 < seen <= MAX_ROWS:
        raise ValueError(f"it has {'more' if seen else 'no'} rows; expected 1 to {MAX_ROWS:,}")
    columns: dict[str, Any] = {name: np.concatenate(parts.pop(name)) for name in [*parts]}  # of one at a time
    columns |= {name: pd.Categorical.from_codes(columns[name], pd.Index([*codes])) for name, codes in texts.items()}
    return pd.DataFrame(columns, copy=False)


def _check(schema: pa.Schema, n_outputs: int) -> None:
    """Raise ValueError unless the columns are those of predictions, each once and of its kind."""
    values = ["y_pred"] if n_outputs == 1 else [f"p{c}" for c in range(n_outputs)]
    expected = dict.fromkeys(SEEDS, ("integers", kinds.is_integer))
    expected |= dict.fromkeys(TEXTS, ("text", lambda kind: kind in (pa.string(), pa.large_string())))
    expected |= dict.fromkeys(values, ("float32 or float64", lambda kind: kind in (pa.float32(), pa.float64())))
    missing = [name for name in expected if name not in schema.names]
    odd = [name for name in schema.names if name not in expected or schema.names.count(name) > 1]
    if missing or odd:
        found = [f"without {', '.join(missing)}"] * bool(missing) + [repr(name[:80]) for name in odd[:5]]
        raise ValueError(f"expected the columns {', '.join(expected)}, each once, found {', '.join(found)}")
    for field in schema:
        what, fits = expected[field.name]
        if not fits(field.type):
            raise ValueError(f"column {field.name!r}: expected {what}, found {str(field.type)[:80]}")


def _codes(column: Any, codes: dict[str, int], name: str) -> np.ndarray:
    """Return the texts of a column as ``codes``, which grow; no text is repeated in memory."""
    encoded = column.dictionary_encode()
    texts = encoded.dictionary
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    if longest > MAX_TEXT:
        raise ValueError(f"column {name!r}: a text of {longest} bytes; at most {MAX_TEXT} are allowed")
    of_dictionary = [codes.setdefault(text, len(codes)) for text in texts.to_pylist()]
    if len(codes) > MAX_TEXTS:
        raise ValueError(f"column {name!r}: more than {MAX_TEXTS:,} different texts")
    return np.array(of_dictionary, dtype=np.int64)[encoded.indices.to_numpy()]
