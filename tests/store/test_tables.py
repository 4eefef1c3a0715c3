"""Tables of predictions: what is not one, or is too large, is refused before it fills the memory."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.store.tables import MAX_ROWS, MAX_TEXT, from_table, read_table, to_frame, to_table
from benchmark.types import Predictions

VALUES = np.random.default_rng(0).dirichlet([1, 1, 1], size=(2, 4)).astype(np.float32)
TABLE = to_table(Predictions((3, 5), np.array(list("abcd")), np.array([0, 1, 2, 0]), VALUES, "classification"))


def stored(table: pd.DataFrame | pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table if isinstance(table, pa.Table) else pa.Table.from_pandas(table, preserve_index=False), out)
    return out.getvalue()


def test_what_is_written_is_read() -> None:
    back = from_table(to_frame(read_table(stored(TABLE))))
    assert (back.seeds, back.ids.tolist(), back.y.tolist()) == ((3, 5), list("abcd"), [0, 1, 2, 0])
    assert (back.values == VALUES).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.drop(columns="y_true"),
        lambda table: table.rename(columns={"p0": "p1", "p1": "p0"}),
        lambda table: table.rename(columns={"p2": "q"}),
        lambda table: table.assign(note=1.0),
        lambda table: table.iloc[:0],
    ],
)
def test_other_columns_and_no_rows_are_refused(change) -> None:
    with pytest.raises(ValueError, match="expected rows of train_seed, example_id, y_true and predictions, found"):
        from_table(change(TABLE))


def test_a_small_file_that_would_fill_the_memory_is_refused() -> None:
    rows = MAX_ROWS + 1
    many = pa.table({"example_id": pa.array(["a"] * rows), "p0": np.zeros(rows, dtype=np.float32)})
    content = stored(many)
    assert len(content) < 2**17
    with pytest.raises(ValueError, match=f"claims {rows:,} rows"):
        read_table(content)
    with pytest.raises(ValueError, match="a text of 1,000,000 characters"):
        read_table(stored(pa.table({"example_id": ["a" * 10**6] * 1000})))
    read_table(stored(pa.table({"example_id": ["a" * MAX_TEXT]})))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"rubbish", "cannot be read as Parquet"),
        (stored(TABLE)[:-40], "cannot be read as Parquet"),
        (stored(TABLE.drop(columns="example_id")), "it has no column"),
        (stored(TABLE.assign(y_true="yes")), "'y_true': expected numbers, found"),
    ],
)
def test_what_is_no_table_of_predictions_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_table(content)
