"""Predictions as tidy tables."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.errors import UserError
from benchmark.measure.catalogue import CHURN
from leaderboard.read.results import Results, collect
from leaderboard.write import tidy

from ..conftest import keyed


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"example": str, "test": str})


def test_the_churn_of_each_method_follows_from_its_tidy_rows(world: Results, tmp_path: Path):
    tidy.write(world, tmp_path)
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.gz")}
    assert files == {f"paper/{d.name}-{split}.csv.gz" for d in world.datasets for split in d.splits}
    dataset = next(d for d in world.datasets if d.name == "mid")
    table = read(tmp_path / "paper" / "mid-99.csv.gz")
    assert list(table.columns) == ["method", "train_seed", "test", "example", "y", "p"]
    for entry in dataset.entries:
        p = entry.cells[99].predictions["id"]
        wide = table[table["method"] == entry.title].pivot(index="example", columns="train_seed", values="p")
        by_hand = np.mean([((wide[a] > 0.5) != (wide[b] > 0.5)).mean() for a, b in combinations(p.seeds, 2)])
        assert by_hand == pytest.approx(CHURN.mean(p))
        assert wide.loc[p.ids].to_numpy() == pytest.approx(p.values[..., 1].T, abs=1e-6)
    (regression,) = world.of_task("regression")
    table, (p,) = read(tmp_path / f"paper/{regression.name}-99.csv.gz"), regression.reference.tests
    rows = table[(table["method"] == "ERM") & (table["train_seed"] == p.seeds[1])]
    assert rows["p"].to_numpy() == pytest.approx(p.values[1, :, 0], abs=1e-6)
    assert rows["y"].to_numpy() == pytest.approx(p.y, abs=1e-6)


def test_a_disk_that_is_full_leaves_the_table_of_an_earlier_export(world: Results, tmp_path: Path, full_disk):
    tidy.write(world, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with full_disk, pytest.raises(UserError, match="cannot be written"):
        tidy.write(world, tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_more_than_two_classes_have_a_row_each_a_sampling_its_own_folder_and_a_name_its_comma(make_cell, tmp_path):
    values = np.random.default_rng(0).dirichlet((1, 1, 1), size=(2, 5))
    cell = make_cell("erm", values, y=np.arange(5) % 3, title='Forest, "deep"')
    tidy.write(collect([cell, keyed(cell, sampling="halves")]), tmp_path)
    for sampling in ("paper", "halves"):
        table = read(tmp_path / sampling / "made_up-99.csv.gz")
        assert set(table["method"]) == {'Forest, "deep"'}
        assert table["class"].tolist() == [0, 1, 2] * 10
        assert table["p"].to_numpy() == pytest.approx(values.ravel(), abs=1e-6)
