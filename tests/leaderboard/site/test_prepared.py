"""The board of the published results is there at once."""

import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmark.errors import UserError
from leaderboard.read import published
from leaderboard.read.results import collect
from leaderboard.site import prepared
from leaderboard.write.published import write

from ..conftest import without_figures


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_cell: Callable) -> Iterator[Path]:
    """A folder of published results with two methods, and an empty cache."""
    write(collect([make_cell("set", method) for method in ("erm", "twin")]), tmp_path / "published" / "0", tables=False)
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(published, "PUBLISHED", tmp_path / "published" / "0")
    monkeypatch.setattr(prepared, "ARCHIVE", tmp_path / "published" / "board.tar.xz")
    published.listed_methods.cache_clear()
    with without_figures():
        yield tmp_path / "published"
    published.listed_methods.cache_clear()


def test_a_checkout_builds_the_board_once_and_again_after_a_change(shipped: Path, make_cell: Callable) -> None:
    said: list[str] = []
    page = prepared.ready(said.append)
    assert "TWIN" in page.read_text()
    (page.parent / "kept").touch()
    assert prepared.ready(said.append) == page
    assert (page.parent / "kept").exists()
    (page.parent / "kept").unlink()
    assert len(said) == 1
    write(collect([*published.read(shipped / "0"), make_cell("set", "swa")]), shipped / "0", tables=False)
    assert "SWA" in prepared.ready(said.append).read_text()
    assert len(said) == 2


def test_a_release_brings_the_board_with_it(shipped: Path) -> None:
    (shipped / "index.html").write_text("the board")
    with tarfile.open(prepared.ARCHIVE, "w:xz") as archive:
        archive.add(shipped / "index.html", "index.html")
    said: list[str] = []
    assert prepared.ready(said.append).read_text() == "the board"
    assert not said


def test_an_archive_that_is_cut_off_leaves_the_board_as_it_was(shipped: Path) -> None:
    page = prepared.ready(lambda line: None)
    before = page.read_bytes()
    prepared.ARCHIVE.write_bytes(b"cut off")
    with pytest.raises(UserError, match="install the package again"):
        prepared.ready(lambda line: None)
    assert page.read_bytes() == before


def test_without_published_results_it_says_so(shipped: Path) -> None:
    (shipped / "0" / "manifest.json").unlink()
    with pytest.raises(UserError, match="no published results"):
        prepared.ready(lambda line: None)
