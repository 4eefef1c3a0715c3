"""Parquet of any origin is decoded with bounded memory, in the order of the file."""

import resource
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.data import parquet, readers
from benchmark.data.readers import LINE, read
from benchmark.errors import UserError

from .conftest import csv, dataset


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table.parquet"


def repeated(text, rows):
    """Return a column of one text, which takes a few bytes in a file however often it is repeated."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


def test_batches_hold_the_rows_and_the_first_is_empty(path):
    columns = {"b": [1, 2, None], "a": ["x", None, "y"], "c": ["u", "u", "v"]}
    pq.write_table(pa.table(columns | {"c": pa.array(columns["c"]).dictionary_encode()}), path)
    first, *rest = parquet.batches(path)
    assert (len(first), first.schema.names) == (0, [*columns])
    assert pa.Table.from_batches(rest).to_pydict() == columns


def test_a_large_table_comes_in_small_batches(path):
    n = 3 * parquet.ROWS + 1
    pq.write_table(pa.table({"a": pa.array(np.arange(n))}), path)
    sizes = [len(batch) for batch in parquet.batches(path)]
    assert sum(sizes) == n
    assert max(sizes) == parquet.ROWS


def test_files_that_share_a_process_are_read_as_by_processes_of_their_own(tmp_path, monkeypatch):
    paths = [tmp_path / f"{i}.parquet" for i in range(2)]
    for i, table in enumerate(paths):
        pq.write_table(pa.table({"a": pa.array(np.arange(i, i + 3)), f"b{i}": pa.array(["x"] * 3)}), table)
    refused = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"a": repeated("C" * 2_000_000, 100_000)}), refused, compression="zstd")
    started, start = [], parquet._started
    monkeypatch.setattr(parquet, "_started", lambda: started.append(1) or start())
    with parquet.one_process():
        for i, table in enumerate([*paths, *paths]):
            batches = pa.Table.from_batches(parquet.batches(table))
            assert batches.to_pydict() == {"a": [i % 2, i % 2 + 1, i % 2 + 2], f"b{i % 2}": ["x"] * 3}
        monkeypatch.chdir(tmp_path)  # after the process has started
        assert pa.Table.from_batches(parquet.batches(Path("0.parquet"))).num_rows == 3
        assert len(started) == 1
        with pytest.raises(ValueError, match="take more than 256 MiB"):
            list(parquet.batches(refused))
        with closing(parquet.batches(paths[0])) as batches:
            next(batches)
        assert pa.Table.from_batches(parquet.batches(paths[1])).num_rows == 3
    assert len(started) == 3  # the refusal, and the caller that stopped early, ended one each
    for table in paths:
        assert pa.Table.from_batches(parquet.batches(table)).num_rows == 3
    assert len(started) == 5  # outside, every file has a process of its own


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1 nothing PAR1", b"PAR1" + b"\x15" * 100 + b"\x50\0\0\0PAR1"])
def test_what_is_no_parquet_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"."):
        list(parquet.batches(path))


@pytest.mark.parametrize(
    ("text", "rows", "message"),
    [
        ("CCO", 20_000_000, r"262,144 rows or more, 2 columns; at most 200,000"),
        ("C" * 2_000_000, 100_000, r"65,536 of its rows take more than 256 MiB"),
    ],
    ids=["rows", "text"],
)
def test_a_few_kilobytes_that_expand_to_gigabytes_are_refused_in_little_memory(path, text, rows, message):
    pq.write_table(pa.table({"SMILES": repeated(text, rows), "y": repeated("1", rows)}), path, compression="zstd")
    content = path.read_bytes()
    assert len(content) < 2**20
    before = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    with pytest.raises(UserError, match=rf"table\.parquet: .*{message}"):
        read(content, "table.parquet")
    for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF):
        assert resource.getrusage(who).ru_maxrss < before + 2**20


def test_the_bytes_of_all_batches_are_limited(path, monkeypatch):
    pq.write_table(pa.table({"SMILES": repeated("C" * 100, 70_000)}), path)
    assert len(read(path.read_bytes(), "table.parquet")) == 70_000
    monkeypatch.setattr(readers, "MOST_BYTES", 2**22)
    with pytest.raises(UserError, match="at most 4,194,304 bytes are allowed"):
        read(path.read_bytes(), "table.parquet")


def test_a_table_is_text_as_pandas_reads_it(path):
    columns = {"n": [1, 2], "series": pd.array([10**17 + 1, None], "Int64"), "x": [0.5, None]}
    columns |= {"flag": [True, False], "kind": pd.Categorical(["u", None])}
    pd.DataFrame(columns, index=[7, 9]).to_parquet(path)
    table = read(path.read_bytes(), "table.parquet")
    assert table.drop(columns=LINE).to_numpy().tolist() == [
        ["1", "100000000000000001", "0.5", "True", "u"],
        ["2", "", "", "False", ""],
    ]
    assert table[LINE].tolist() == [1, 2]


def test_names_that_repeat_are_numbered_and_what_is_no_text_is_refused(path):
    pq.write_table(pa.Table.from_arrays([pa.array(["u"]), pa.array(["v"])], ["a", "a"]), path)
    assert read(path.read_bytes(), "table.parquet").columns.tolist() == ["a", "a.1", LINE]
    wrong = pa.Array.from_buffers(pa.string(), 1, [None, *pa.array([b"\xff"]).buffers()[1:]])
    pq.write_table(pa.table({"a": wrong}), path)
    with pytest.raises(UserError, match=r"table\.parquet: cannot be read"):
        read(path.read_bytes(), "table.parquet")
    pq.write_table(pa.table({"a": pa.array(["u", "v\0"])}), path)
    with pytest.raises(UserError, match="row 2, column 'a': expected text, found a NUL byte"):
        read(path.read_bytes(), "table.parquet")


NO_THREADS = """
import os, sys
from pathlib import Path
from benchmark.data.rows import load_rows
from benchmark.data.readers import read
from benchmark.data.spec import load_spec
from benchmark.store.tables import read_table

threads = len(os.listdir("/proc/self/task"))
load_rows(load_spec(sys.argv[2]))
content = Path(sys.argv[1]).read_bytes()
assert len(read(content, "table.parquet")) == read_table(content).num_rows == 3
sys.exit(len(os.listdir("/proc/self/task")) - threads)
"""


def test_no_thread_is_left_that_would_abort_a_program_as_it_ends(path, tmp_path):
    pq.write_table(pa.table({"example_id": ["a", "b", "c"], "y": [1.5, 2.5, 3.5]}), path)
    own = dataset(csv(tmp_path, ["1.5", "2.5"])).path
    assert subprocess.run([sys.executable, "-c", NO_THREADS, str(path), str(own)]).returncode == 0
