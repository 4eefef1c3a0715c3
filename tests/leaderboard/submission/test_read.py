"""The files allowed in a folder, and hostile files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tracemalloc
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.errors import UserError
from leaderboard.submission.decode import MAX_TEXTS, decode
from leaderboard.submission.read import open_folder, read_table

FILE = "predictions/halves/b3db_measured.parquet"
COLUMNS = {
    "canonical_seed": pa.array([99, 99]),
    "train_seed": pa.array([1, 2]),
    "evalset": pa.array(["id", "id"]),
    "example_id": pa.array(["a", "b"]),
    "p0": pa.array([0.5, 0.1]),
    "p1": pa.array([0.5, 0.9]),
}


def read_all(folder):
    opened = open_folder(folder)
    return [read_table(opened.path, *file) for file in opened.files]


def refused(folder, message):
    with pytest.raises(UserError, match=message):
        read_all(folder)


def put(folder, columns, **options):
    pq.write_table(pa.table(columns), folder / FILE, **options)


def test_a_small_table_is_read_as_written(copied):
    put(copied, COLUMNS)
    table = read_table(copied, "halves", "b3db_measured")
    assert table.values.tolist() == [[0.5, 0.5], [0.1, 0.9]]
    assert table.example_id_texts[table.example_id].tolist() == ["a", "b"]
    assert "row 1 (canonical seed 99, train seed 2, 'id', example 'b')" in table.where(1)


@pytest.mark.parametrize(
    "name", ["notes.txt", ".git", "setup.py", "predictions/halves/x.pkl", "predictions/halves/..parquet"]
)
def test_a_file_that_does_not_belong_is_refused(copied, name):
    (copied / name).write_text("x")
    refused(copied, re.escape(name.rpartition("/")[2]) + "|unknown dataset")


def test_predictions_outside_the_folder_of_a_sampling_are_refused(copied):
    (copied / FILE).rename(copied / "predictions" / "b3db_measured.parquet")
    refused(
        copied, r"predictions/b3db_measured\.parquet'.* halves, nested, paper, update, as in predictions/halves/DATASET"
    )


def test_variants_of_datasets_are_not_accepted(copied):
    (copied / FILE).rename(copied / "predictions" / "halves" / "b3db_measured@train=200.parquet")
    refused(copied, "variants of datasets are not accepted")


@pytest.mark.parametrize("name", ["submission.yml", "manifest.json", FILE])
def test_links_and_pipes_are_never_opened(copied, tmp_path, name):
    (copied / name).rename(tmp_path / "elsewhere")
    (copied / name).symlink_to(tmp_path / "elsewhere")
    refused(copied, "expected a regular file, found a link")
    (copied / name).unlink()
    os.mkfifo(copied / name)
    refused(copied, "expected a regular file, found something else")


def test_a_linked_folder_is_refused(copied, tmp_path):
    for name in ("predictions/halves", "predictions"):
        (copied / name).rename(tmp_path / "elsewhere")
        (copied / name).symlink_to(tmp_path / "elsewhere")
        refused(copied, f"{name}: expected a folder, found a link")
        (copied / name).unlink()
        (tmp_path / "elsewhere").rename(copied / name)
    (tmp_path / "linked").symlink_to(copied)
    refused(tmp_path / "linked", "expected a folder, found a link")


def test_a_folder_with_an_odd_name_is_refused(copied):
    odd = copied.with_name("1.0 && rm")
    copied.rename(odd)
    refused(odd, "expected lower-case letters")


@pytest.mark.parametrize("name", ["submission.yml", "manifest.json", FILE])
def test_ten_gigabytes_of_zeros_are_refused_unread(copied, name):
    with open(copied / name, "r+b") as file:
        file.truncate(10 * 2**30)
    refused(copied, "10,737,418,240 bytes; at most")


@pytest.mark.parametrize("file", ["manifest.json", FILE])
def test_a_manifest_that_lists_other_files_is_refused(copied, file):
    manifest = copied / "manifest.json"
    manifest.write_text(manifest.read_text().replace(FILE, "../../../etc/passwd"))
    refused(copied, "is in manifest.json but not in the folder")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_true": pa.array([0, 1])}, "column 'y_true' is not allowed; expected canonical_seed, train_seed"),
        ({"p1": None}, "column 'p1' appears 0 times"),
        ({"p1": pa.array(["a", "b"])}, "column 'p1': expected float32 or float64, found string"),
        ({"p1": pa.array([[0.5], [0.9]])}, "column 'p1': expected float32 or float64, found list"),
        ({"p1": pa.array([{"a": 0.5}, {"a": 0.9}])}, "column 'p1': expected float32 or float64, found struct"),
        ({"p1": pa.array([0.5, None])}, "row 1: column 'p1': expected a value, found none"),
        ({"train_seed": pa.array([1.0, 2.0])}, "column 'train_seed': expected integers, found double"),
        (
            {"train_seed": pa.array([0, 1], pa.timestamp("us"))},
            "column 'train_seed': expected integers, found timestamp",
        ),
        ({"example_id": pa.array([b"a", b"\xff"])}, "column 'example_id': expected text, found binary"),
        ({"example_id": pa.array(["a", "b" * 501])}, "a text of 501 bytes; at most 500"),
        ({"p1": pa.array([0.5, 0.9], pa.float16())}, "column 'p1': expected float32 or float64, found halffloat"),
    ],
)
def test_a_column_that_is_not_as_agreed_is_refused(copied, change, message):
    put(copied, {name: column for name, column in (COLUMNS | change).items() if column is not None})
    refused(copied, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Parquet file size is 0 bytes"),
        (b"\0" * 1000, "Parquet magic bytes not found in footer"),
        (b"PAR1" + b"\0" * 100 + b"\xff\xff\xff\x7fPAR1", "smaller than the size reported by footer"),
        (b"PAR1" + b"\x15" * 100 + b"\x50\0\0\0PAR1", "deserialize thrift"),
    ],
)
def test_what_is_no_parquet_is_refused(copied, content, message):
    (copied / FILE).write_bytes(content)
    refused(copied, message)


def bomb(rows: int) -> dict[str, pa.Array]:
    """Return a few kilobytes that expand to gigabytes: one value per column, repeated millions of times."""
    return {name: pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), column[:1]).dictionary_decode()
            for name, column in COLUMNS.items()}  # fmt: skip


def test_more_rows_than_any_submission_has_are_refused(copied):
    put(copied, bomb(5_000_001), compression="zstd")
    assert (copied / FILE).stat().st_size < 2**20
    refused(copied, "more rows; expected 1 to 5,000,000")


def test_a_dictionary_bomb_and_a_huge_text_stay_small(copied):
    rows = 400_000
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * 2_000_000]))
    put(copied, bomb(rows) | {"example_id": long}, compression="zstd")
    # A child starts out with the memory of its parent, which counts: a new process is small, this one may not be.
    code = """
import resource, sys
from pathlib import Path
from benchmark.errors import UserError
from leaderboard.submission.read import read_table
try:
    read_table(Path(sys.argv[1]), "halves", "b3db_measured")
except UserError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", code, copied], capture_output=True, text=True, check=True)
    message, kibibytes = done.stdout.rsplit(maxsplit=1)
    assert re.search("65,536 of its rows take more than 256 MiB", message)
    assert int(kibibytes) <= 2**20


def test_too_many_different_texts_are_refused_before_they_are_copied(copied):
    texts = pa.array([f"{i:06}" + "x" * 200 for i in range(MAX_TEXTS + 1)])
    put(copied, bomb(len(texts)) | {"example_id": texts.dictionary_encode()}, compression="zstd")
    refused(copied, "column 'example_id': more than 100,000 different texts")


def test_the_arrays_of_a_large_table_are_in_memory_once(copied):
    rows = 3_000_000
    put(copied, bomb(rows), compression="zstd")
    content = (copied / FILE).read_bytes()
    tracemalloc.start()
    try:
        arrays = decode(content, 2, FILE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    size = sum(array.nbytes for array in arrays.values())
    assert size >= rows * 48
    assert peak < 1.3 * size


def test_headers_that_lie_are_refused_or_harmless(copied):
    """Random bytes mostly hit the descriptions of pages and columns in so small a file."""
    put(copied, COLUMNS)
    whole = (copied / FILE).read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(6):
        content = bytearray(whole)
        for at in rng.integers(4, len(content) - 8, size=8):
            content[at] = rng.integers(256)
        (copied / FILE).write_bytes(content)
        with suppress(UserError):
            read_table(copied, "halves", "b3db_measured")


def test_types_as_pandas_and_polars_write_them_are_read(copied):
    frame = pd.DataFrame({name: column.to_pandas() for name, column in COLUMNS.items()})
    frame["evalset"] = frame["evalset"].astype("category")
    frame.astype({"train_seed": "int32", "p0": "float32"}).to_parquet(copied / FILE, index=False)
    assert len(read_table(copied, "halves", "b3db_measured")) == 2
    put(copied, COLUMNS | {"example_id": COLUMNS["example_id"].cast(pa.large_string())})
    assert len(read_table(copied, "halves", "b3db_measured")) == 2
