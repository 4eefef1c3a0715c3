"""The files allowed in a folder, and hostile files."""

import os
import re
import tracemalloc

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


def read(folder):
    opened = open_folder(folder)
    return [read_table(opened.path, *file)[0] for file in opened.files]


def refused(folder, message):
    with pytest.raises(UserError, match=message):
        read(folder)


def put(folder, columns, **options):
    pq.write_table(pa.table(columns), folder / FILE, **options)


def test_a_table_is_read_as_written_with_the_types_of_pandas_and_polars(copied):
    frame = pd.DataFrame({name: column.to_pandas() for name, column in COLUMNS.items()})
    put(copied, COLUMNS)
    plain = read(copied)
    frame["evalset"] = frame["evalset"].astype("category")
    frame.astype({"train_seed": "int32", "p0": "float32"}).to_parquet(copied / FILE, index=False)
    pandas = read(copied)
    put(copied, COLUMNS | {"example_id": COLUMNS["example_id"].cast(pa.large_string())})
    for (table,) in (plain, pandas, read(copied)):
        pd.testing.assert_frame_equal(table.astype(frame.dtypes.to_dict())[frame.columns], frame, check_exact=False)


@pytest.mark.parametrize(
    "name",
    [
        *("notes.txt", ".git", "setup.py", "predictions/x.parquet", "predictions/halves/x.pkl"),
        *("predictions/halves/..parquet", "predictions/halves/b3db_measured@train=200.parquet"),
        "predictions/update",
    ],
)
def test_a_file_that_does_not_belong_is_refused(copied, name):
    (copied / name).write_text("x")
    refused(copied, re.escape(name) + "' does not belong in a submission; expected only .*, without variants")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("superseded_by: 1.0", "superseded_by: 1.0 → 1.0: expected a later version"),
        ("collapsed: [bace_x]", "collapsed: it names 'bace_x', of which there are no predictions here"),
        ("protocols: {paper/bace: 0123456789abcdef}", "protocols: it names 'paper/bace', .* of halves/b3db_measured"),
    ],
)
def test_a_field_about_nothing_in_the_submission_is_refused(copied, line, message):
    card = copied / "submission.yml"
    kept = [other for other in card.read_text().splitlines() if not other.startswith(line.partition(":")[0])]
    card.write_text("\n".join([*kept, line]))
    refused(copied, rf"submission\.yml: {message}")


def test_a_later_version_is_there_and_does_not_lead_back(copied):
    card = copied / "submission.yml"
    text = card.read_text()
    card.write_text(f"{text}\nsuperseded_by: 2.0\n")
    refused(copied, "superseded_by: 2.0: no folder .*2.0 yet")
    later = copied.with_name("2.0") / "submission.yml"
    later.parent.mkdir()
    later.write_text(text)
    assert open_folder(copied).description.superseded_by == "2.0"
    later.write_text(f"{text}\nsuperseded_by: 1.0\n")
    refused(copied, "superseded_by: 1.0 → 2.0 → 1.0: expected a later version")


@pytest.mark.parametrize("name", ["submission.yml", FILE, "predictions", "predictions/halves"])
def test_links_and_pipes_are_never_opened(copied, tmp_path, name):
    (copied / name).rename(tmp_path / "elsewhere")
    (copied / name).symlink_to(tmp_path / "elsewhere")
    refused(copied, f"{name}: expected a regular (file|folder), found a link, a device or something else")
    (copied / name).unlink()
    os.mkfifo(copied / name)
    refused(copied, f"{name}: expected a regular (file|folder), found")


def test_a_folder_that_is_a_link_or_has_an_odd_name_is_refused(copied, tmp_path):
    (tmp_path / "linked").symlink_to(copied)
    refused(tmp_path / "linked", "expected a folder METHOD/VERSION that exists and is no link")
    refused(copied.parent, f"expected the folder of a version, such as {copied}$")
    odd = copied.rename(copied.with_name("1.0 && rm"))
    refused(odd, "expected lower-case letters")


@pytest.mark.parametrize("name", ["submission.yml", FILE])
def test_ten_gigabytes_of_zeros_are_refused_unread(copied, name):
    with open(copied / name, "r+b") as file:
        file.truncate(10 * 2**30)
    refused(copied, "10,737,418,240 bytes; at most")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_true": pa.array([0, 1])}, "expected the columns canonical_seed, .*, each once, found 'y_true'$"),
        ({"p1": None}, "expected the columns .*, p1, each once, found without p1$"),
        ({"a\nb": pa.array([0, 1])}, r"expected the columns .*, each once, found 'a\\nb'$"),
        ({"p1": pa.array(["a", "b"])}, "column 'p1': expected float32 or float64, found string"),
        ({"p1": pa.array([[0.5], [0.9]])}, "column 'p1': expected float32 or float64, found list"),
        ({"p1": pa.array([0.5, None])}, "row 1: column 'p1': expected a value, found none"),
        ({"train_seed": pa.array([0, 1], pa.timestamp("us"))}, "'train_seed': expected integers, found timestamp"),
        ({"example_id": pa.array([b"a", b"\xff"])}, "column 'example_id': expected text, found binary"),
        ({"example_id": pa.array(["a", "b" * 501])}, "a text of 501 bytes; at most 500"),
    ],
)
def test_a_column_that_is_not_as_agreed_is_refused(copied, change, message):
    put(copied, {name: column for name, column in (COLUMNS | change).items() if column is not None})
    refused(copied, message)


def bomb(rows: int) -> dict[str, pa.Array]:
    """Return a few kilobytes that expand to gigabytes: one value per column, repeated millions of times."""
    return {name: pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), column[:1]).dictionary_decode()
            for name, column in COLUMNS.items()}  # fmt: skip


def test_more_rows_than_any_submission_has_are_refused(copied):
    put(copied, bomb(5_000_001), compression="zstd")
    assert (copied / FILE).stat().st_size < 2**20
    refused(copied, "more rows; expected 1 to 5,000,000")


def test_too_many_different_texts_are_refused_before_they_are_copied(copied):
    texts = pa.array([f"{i:06}" + "x" * 200 for i in range(MAX_TEXTS + 1)])
    put(copied, bomb(len(texts)) | {"example_id": texts.dictionary_encode()}, compression="zstd")
    refused(copied, "column 'example_id': more than 100,000 different texts")


def test_the_columns_of_a_large_table_are_in_memory_once(copied):
    rows = 3_000_000
    put(copied, bomb(rows), compression="zstd")
    content = (copied / FILE).read_bytes()
    tracemalloc.start()
    try:
        table = decode(content, 2, FILE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(table) == rows
    assert peak < 1.3 * rows * 48
