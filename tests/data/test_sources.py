"""Raw files: found, verified, never touched, and a clear word where one is missing or altered."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from benchmark.data import sources
from benchmark.data.sources import locate, read_table
from benchmark.data.spec import DatasetSpec, dataset_names, load_spec
from benchmark.errors import UserError

CONTENT = b"mol,Class\nCCO,1\n" + b"".join(b"%s,0\n" % (b"C" * n) for n in range(1, 200))
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def spec() -> DatasetSpec:
    return load_spec("bace").model_copy(update={"sha256": SHA256})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path))
    (tmp_path / "molnet").mkdir()
    return tmp_path / "molnet"


@pytest.mark.parametrize("name", dataset_names())
def test_every_dataset_that_is_here_has_the_published_bytes_and_the_named_columns(name):
    spec = load_spec(name)
    try:
        locate(spec)
    except UserError as missing:
        pytest.skip(str(missing))
    assert len(read_table(spec)) > 0


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress)])
def test_a_plain_and_a_compressed_file_give_the_same_rows(spec, folder, suffix, pack):
    (folder / f"bace.csv{suffix}").write_bytes(pack(CONTENT))
    table = read_table(spec)
    assert len(table) == 200
    assert table.iloc[0].to_list() == ["CCO", 1]


def test_a_missing_file_is_named_with_checksum_address_places_and_remedy(spec, folder):
    with pytest.raises(UserError) as caught:
        read_table(spec)
    url = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets/bace.csv"
    for part in ("bace.csv", SHA256, url, str(folder / "bace.csv"), str(folder / "bace.csv.gz"), "CHURN_DATA_DIR="):
        assert part in str(caught.value)


def test_without_a_data_folder_the_error_says_which_variable_to_set(spec, monkeypatch):
    monkeypatch.delenv("CHURN_DATA_DIR")
    with pytest.raises(UserError, match=rf"CHURN_DATA_DIR is not set(.|\n)*{SHA256}"):
        read_table(spec)


def test_an_altered_file_is_refused_with_both_checksums_and_left_as_it_is(spec, folder):
    path = folder / "bace.csv"
    altered = CONTENT.replace(b"CCO,1", b"CCO,0")
    path.write_bytes(altered)
    before = path.stat()
    with pytest.raises(UserError) as caught:
        read_table(spec)
    for part in (str(path), SHA256, hashlib.sha256(altered).hexdigest()):
        assert part in str(caught.value)
    assert path.read_bytes() == altered
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


PACKED = gzip.compress(CONTENT)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(PACKED[: len(PACKED) // 2], id="truncated"),
        pytest.param(PACKED[:20] + b"\xff" * 20 + PACKED[40:], id="corrupt"),
        pytest.param(CONTENT, id="not compressed"),
        pytest.param(b"", id="empty"),
    ],
)
def test_a_broken_gz_is_an_error_that_names_the_file(spec, folder, content):
    path = folder / "bace.csv.gz"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_table(spec)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_an_unknown_column_is_answered_with_the_nearest(spec, folder):
    (folder / "bace.csv").write_bytes(CONTENT)
    with pytest.raises(UserError, match=r"column of bace\.csv 'class': did you mean 'Class'"):
        read_table(spec.model_copy(update={"target": "class"}))


def test_an_unknown_source_is_answered_with_the_nearest(spec):
    with pytest.raises(UserError, match="did you mean 'moleculenet'"):
        locate(spec.model_copy(update={"source": "molnet:bace.csv"}))


def test_a_package_that_is_not_installed_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install qc-B3DB"):
        locate(load_spec("b3db"))
