"""Predictions as tables: one row per retraining and example, one column per output."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.data import parquet
from benchmark.types import Predictions, Task

EXAMPLES = ("train_seed", "example_id", "y_true")


def to_table(predictions: Predictions) -> pd.DataFrame:
    """Return columns ``train_seed, example_id, y_true`` and probabilities ``p0, p1, …`` or values ``y_pred``."""
    n_seeds, n_examples, n_outputs = predictions.values.shape
    names = ["y_pred"] if predictions.task == "regression" else [f"p{c}" for c in range(n_outputs)]
    table = pd.DataFrame(predictions.values.reshape(-1, n_outputs).astype(np.float32), columns=names)
    table.insert(0, "train_seed", np.repeat(np.array(predictions.seeds, dtype=np.int64), n_examples))
    table.insert(1, "example_id", np.tile(predictions.ids.astype(object), n_seeds))
    table.insert(2, "y_true", np.tile(predictions.y, n_seeds))
    return table


def write_table(predictions: Predictions, path: Path) -> None:
    """Write the table of ``predictions`` as Parquet. Raises OSError."""
    table = pa.Table.from_pandas(to_table(predictions), preserve_index=False).replace_schema_metadata(None)
    pq.write_table(table, path, compression="zstd", use_dictionary=list(EXAMPLES))


def read_table(content: bytes, texts: Sequence[str] = ("example_id",)) -> pa.Table:
    """Return a stored table, with its columns of ``texts`` as dictionaries. Raises ValueError if it is damaged."""
    try:
        return parquet.decoded(content, texts)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"it cannot be read as Parquet: {' '.join(str(error).split())[:200]}") from error


def from_table(table: pa.Table) -> Predictions:
    """Return the predictions of a table of ``read_table``, in its order of train seeds and examples.

    Raises ValueError for other columns, and if a retraining lacks examples, has them in another order, or has other
    labels.
    """
    names = table.column_names
    task: Task = "regression" if "y_pred" in names else "classification"
    outputs = ["y_pred"] if task == "regression" else [f"p{c}" for c in range(len(names) - len(EXAMPLES))]
    if names != [*EXAMPLES, *outputs] or not len(table):
        raise ValueError(
            f"expected rows of train_seed, example_id, y_true and predictions, found {len(table)} rows of "
            f"{', '.join(names)[:200]}"
        )
    seeds = table["train_seed"].to_numpy()
    examples = int(np.argmax(seeds != seeds[0])) or len(seeds)
    if len(seeds) % examples:
        raise ValueError(f"{len(seeds)} rows are not those of retrainings with {examples} examples each")
    ids = table["example_id"].unify_dictionaries().combine_chunks()
    seeds, places, y = (
        column.reshape(-1, examples) for column in (seeds, ids.indices.to_numpy(), table["y_true"].to_numpy())
    )
    if not ((seeds == seeds[:, :1]).all() and (places == places[0]).all() and (y == y[0]).all()):
        raise ValueError("the examples or labels differ between the retrainings")
    values = np.stack([table[name].to_numpy() for name in outputs], axis=-1).astype(np.float32)
    known = np.array(ids.dictionary.to_pylist(), dtype=str)
    return Predictions(
        tuple(seeds[:, 0].tolist()), known[places[0]], y[0], values.reshape(*places.shape, len(outputs)), task
    )
