"""Parquet files that share a decoding process."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.data import parquet
from leaderboard.scoring import decoder


def repeated(text: str, rows: int) -> pa.Array:
    """A column of one text, which takes a few bytes in a file however often it is repeated."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


def test_files_that_share_a_process_are_read_as_by_processes_of_their_own(tmp_path, monkeypatch):
    paths = [tmp_path / f"{i}.parquet" for i in range(3)]
    for i, one in enumerate(paths):
        pq.write_table(pa.table({"a": pa.array(np.arange(i, i + 3)), f"b{i}": pa.array(["x"] * 3)}), one)
    refused = [tmp_path / "no.parquet", tmp_path / "bomb.parquet"]
    refused[0].write_bytes(b"PAR1 nothing PAR1")
    pq.write_table(pa.table({"a": repeated("C" * 2_000_000, 100_000)}), refused[1], compression="zstd")
    started, start = [], decoder._started
    monkeypatch.setattr(decoder, "_started", lambda: started.append(1) or start())
    with decoder.one_process():
        for _ in range(2):
            for i, one in enumerate(paths):
                columns = [f"b{i}", "a"]
                found = pa.Table.from_batches(decoder.batches(one, columns))
                assert found == pa.Table.from_batches(parquet.batches(one, columns))
                assert found.to_pydict() == {f"b{i}": ["x"] * 3, "a": [i, i + 1, i + 2]}
        assert len(started) == 1
        for path in refused:
            said = []
            for read in (decoder.batches, parquet.batches):
                with pytest.raises(ValueError, match=r".") as raised:
                    list(read(path, ["a"]))
                said.append(str(raised.value))
            assert said[0] == said[1]
        with closing(decoder.batches(paths[0], ["a"])) as batches:
            next(batches)
        assert pa.Table.from_batches(decoder.batches(paths[1], ["a"])).num_rows == 3
    assert len(started) == 4  # each refusal, and the caller that stopped early, ended one
    assert pa.Table.from_batches(decoder.batches(paths[1], ["a"])).num_rows == 3
    assert len(started) == 4  # outside, every file has a process of its own
