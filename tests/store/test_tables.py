"""Tables of predictions: what is written is read, and what is none is refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.store.tables import from_table, read_table, to_table, write_table
from benchmark.types import Predictions, Task

VALUES = np.random.default_rng(0).dirichlet([1, 1, 1], size=(2, 4)).astype(np.float32)
TABLE = to_table(Predictions((3, 5), np.array(list("abcd")), np.array([0, 1, 2, 0]), VALUES, "classification"))


def stored(table: pd.DataFrame) -> bytes:
    return table.to_parquet(index=False)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_what_is_written_is_read(tmp_path: Path, task: Task) -> None:
    values, y = (VALUES, np.array([0, 1, 2, 0])) if task == "classification" else (VALUES[..., :1], np.arange(4) / 3)
    predictions = Predictions((3, 5), np.array(list("abca")), y, values, task)
    write_table(predictions, tmp_path / "id.parquet")
    back = from_table(read_table((tmp_path / "id.parquet").read_bytes()))
    assert (back.seeds, back.ids.tolist(), back.y.tolist(), back.task) == ((3, 5), list("abca"), y.tolist(), task)
    assert (back.values == values).all()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda table: table.drop(columns="y_true"), "expected rows of train_seed, example_id, y_true and predictions"),
        (lambda table: table.rename(columns={"p0": "p1", "p1": "p0"}), "expected rows of"),
        (lambda table: table.assign(note=1.0), "expected rows of"),
        (lambda table: table.iloc[:0], "found 0 rows"),
        (lambda table: table.iloc[:-1], "7 rows are not those of retrainings with 4 examples each"),
        (lambda table: table.iloc[[0, 1, 2, 3, 4, 5, 7, 6]], "the examples or labels differ"),
        (lambda table: table.assign(y_true=range(8)), "the examples or labels differ"),
        (lambda table: table.assign(train_seed=[3, 3, 3, 3, 5, 5, 5, 6]), "the examples or labels differ"),
        (lambda table: table.assign(p0="a"), "could not convert"),
    ],
)
def test_other_tables_are_refused(change, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        from_table(read_table(stored(change(TABLE))))


@pytest.mark.parametrize("content", [b"rubbish", stored(TABLE)[:-40]])
def test_what_is_no_parquet_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        read_table(content)
