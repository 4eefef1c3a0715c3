"""The training rows closest to test molecules that come with the suite, and what is done without them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leaderboard.read import closest, published
from leaderboard.read.jobs import forget
from leaderboard.read.results import collect
from leaderboard.read.structures import molecules


@pytest.fixture
def dataset():
    (found,) = collect(published.read(published.PUBLISHED, datasets=["hia_hou"])).by_sampling[0].datasets
    return found


def test_what_comes_with_the_suite_is_what_a_search_finds(dataset, monkeypatch):
    of = [(dataset, molecules(dataset))]
    ((name, content),) = closest.search(of)
    assert closest.shipped(published.PUBLISHED)[name] == content
    monkeypatch.setattr(closest, "PUBLISHED", published.PUBLISHED / "tables")  # without the file
    forget()
    assert [*closest.search(of)] == [(name, content)]


def test_nothing_is_taken_from_a_damaged_file(tmp_path):
    path, found = tmp_path / closest.FILE, {"a": b"[1, 2]", "b": b"[3, 4]"}
    path.write_bytes(closest.pack(found))
    assert closest.shipped(tmp_path) == found
    for damage in (path.read_bytes().replace(b"[3, 4]", b"[3, 5]"), b"", path.read_bytes()[:40]):
        path.write_bytes(damage)
        closest.shipped.cache_clear()
        assert closest.shipped(tmp_path) == {}
    pq.write_table(pa.table({"other": [1]}), path)
    closest.shipped.cache_clear()
    assert closest.shipped(tmp_path) == {}
