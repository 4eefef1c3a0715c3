"""Cells on disk: verified byte by byte when they are read."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.store import folder, outbox
from benchmark.store.cell import Cell

from .conftest import planned, trained


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Cell, Path]:
    monkeypatch.setenv("CHURN_OUTBOX", str(tmp_path))
    (made,) = trained(planned("knn", task="regression"))
    cell = replace(made, title="Twin λ=3", reports={"health.txt": "no problems\n"})
    return cell, outbox.save(cell)


def test_a_cell_comes_back_from_disk_as_it_went_in(saved: tuple[Cell, Path]) -> None:
    cell, path = saved
    back = outbox.load(path)
    assert (back.key, back.title, back.facts, back.reports) == (cell.key, cell.title, cell.facts, cell.reports)
    assert (back.predictions["id"].values == cell.predictions["id"].values).all()


def test_no_flipped_bit_is_read(saved: tuple[Cell, Path]) -> None:
    _, path = saved
    rng = np.random.default_rng(0)
    for name in ("cell.json", "health.txt", "id.parquet"):
        whole = (path / name).read_bytes()
        for place in rng.choice(len(whole), 12, replace=False):
            flipped = bytearray(whole)
            flipped[place] ^= 1 << int(rng.integers(8))
            (path / name).write_bytes(flipped)
            with pytest.raises(ValueError, match=rf"{name}: sha256 .*, expected"):
                folder.load(path)
        (path / name).write_bytes(whole)
    assert folder.load(path).title == "Twin λ=3"


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (lambda path: (path / "more.parquet").write_bytes(b"x"), r"more.parquet: sha256 .*, expected no such file"),
        (lambda path: (path / "id.parquet").unlink(), "id.parquet: no such file, expected sha256"),
        (lambda path: (path / "SHA256SUMS").unlink(), "SHA256SUMS: no such file"),
        (lambda path: (path / "cell.json").unlink(), "its files are gone: there is no .*cell.json"),
    ],
)
def test_a_file_that_was_added_or_taken_away_is_named_and_the_cell_moved_out_of_the_way(saved, harm, reason):
    cell, path = saved
    harm(path)
    with pytest.raises(UserError, match=rf"is not a finished cell \({reason}.*it was moved to .*damaged") as raised:
        outbox.load(path)
    assert len(list(Path(str(raised.value).rpartition(" ")[2]).iterdir())) >= 3
    assert outbox.pending() == []
    assert outbox.load(outbox.save(cell)).key == cell.key


@pytest.mark.parametrize("name", [".DS_Store", "Thumbs.db", "._id.parquet"])
def test_what_a_desktop_puts_into_a_folder_that_it_shows_is_no_part_of_the_cell(saved, name):
    cell, path = saved
    (path / name).write_bytes(b"\x00\x05")
    assert outbox.load(path).key == cell.key


def test_a_cell_saved_by_version_010_is_read_without_checksums(saved: tuple[Cell, Path]) -> None:
    cell, path = saved
    for name in ("SHA256SUMS", "health.txt"):
        (path / name).unlink()
    head = json.loads((path / "cell.json").read_bytes()) | {"reports": dict(cell.reports)}
    (path / "cell.json").write_text(json.dumps(head))
    assert (outbox.load(path).key, outbox.load(path).reports) == (cell.key, cell.reports)
    for content in ("5", "null", '["reports"]', "NaN"):
        (path / "cell.json").write_text(content)
        with pytest.raises(ValueError, match=r"cell\.json: expected the fields of a cell, found"):
            folder.load(path)


def test_a_cell_in_the_folder_of_another_is_refused(saved: tuple[Cell, Path]) -> None:
    cell, path = saved
    moved = path.rename(path.with_name(replace(cell.key, seeds=(1, 3)).digest))
    with pytest.raises(UserError, match="key: it was changed"):
        outbox.load(moved)
