"""Predictions as tables: one row per retraining and example, one column per output."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.types import Predictions, Task

MAX_ROWS = 5_000_000
MAX_TEXT = 500


def to_table(predictions: Predictions) -> pd.DataFrame:
    """Return columns ``train_seed, example_id, y_true`` and probabilities ``p0, p1, …`` or values ``y_pred``."""
    n_seeds, n_examples, n_outputs = predictions.values.shape
    names = ["y_pred"] if predictions.task == "regression" else [f"p{c}" for c in range(n_outputs)]
    table = pd.DataFrame(predictions.values.reshape(-1, n_outputs).astype(np.float32), columns=names)
    table.insert(0, "train_seed", np.repeat(np.array(predictions.seeds, dtype=np.int64), n_examples))
    table.insert(1, "example_id", np.tile(predictions.ids.astype(object), n_seeds))
    table.insert(2, "y_true", np.tile(predictions.y, n_seeds))
    return table


def read_table(content: bytes, texts: Sequence[str] = ("example_id",), vectors: bool = False) -> pa.Table:
    """Return a stored table, its columns of ``texts`` as dictionaries and all others numbers, or ``vectors`` of them.

    Raises ValueError if it is damaged or too large, and for other columns.
    """
    try:
        # A text that many rows repeat is in memory once.
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=list(texts))
        if file.metadata.num_rows > MAX_ROWS:
            raise ValueError(f"it claims {file.metadata.num_rows:,} rows; at most {MAX_ROWS:,} are allowed")
        table = file.read(use_threads=False)  # most tables are small
    except KeyError as error:
        raise ValueError(f"it has no column {error}") from error
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"it cannot be read as Parquet: {' '.join(str(error).split())[:200]}") from error
    for field in table.schema:
        if pa.types.is_dictionary(field.type):
            longest = max(
                (len(text or "") for part in table[field.name].chunks for text in part.dictionary.to_pylist()),
                default=0,
            )
            if longest > MAX_TEXT:
                raise ValueError(
                    f"column {field.name}: a text of {longest:,} characters; at most {MAX_TEXT} are allowed"
                )
        elif not _numeric(field.type.value_type if vectors and pa.types.is_fixed_size_list(field.type) else field.type):
            raise ValueError(f"column {field.name[:80]!r}: expected numbers, found {str(field.type)[:80]}")
    return table


def _numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return a table of ``read_table`` with its texts as objects."""
    frame = table.to_pandas(ignore_metadata=True)
    for name in [name for name, kind in frame.dtypes.items() if kind == "category"]:
        frame[name] = frame[name].astype(object)
    return frame


def from_table(table: pd.DataFrame) -> Predictions:
    """Return the predictions of a table written by ``to_table``, in its order of seeds and examples.

    Raises ValueError for other columns, and if a retraining lacks examples, has them in another order, or has other
    labels.
    """
    task: Task = "regression" if "y_pred" in table.columns else "classification"
    first, names = list(table.columns[:3]), list(table.columns[3:])
    outputs = ["y_pred"] if task == "regression" else [f"p{c}" for c in range(len(names))]
    if first != ["train_seed", "example_id", "y_true"] or names != outputs or table.empty:
        raise ValueError(
            f"expected rows of train_seed, example_id, y_true and predictions, found {len(table)} rows of "
            f"{', '.join(map(str, table.columns))[:200]}"
        )
    seeds = tuple(int(seed) for seed in table["train_seed"].unique())
    shape = (len(seeds), len(table) // len(seeds))
    if shape[0] * shape[1] != len(table):
        raise ValueError(f"{len(table)} rows are not the same number of examples for each of {len(seeds)} seeds")
    ids = table["example_id"].to_numpy(dtype=str).reshape(shape)
    y = table["y_true"].to_numpy().reshape(shape)
    if not ((ids == ids[0]).all() and (y == y[0]).all()):
        raise ValueError("the examples or labels differ between the retrainings")
    values = table[names].to_numpy(dtype=np.float32).reshape(*shape, len(names))
    return Predictions(seeds, ids[0], y[0], values, task)
