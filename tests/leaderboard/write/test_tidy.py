"""Tidy tables of predictions, and the archive of everything."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from benchmark.measure.catalogue import CHURN
from leaderboard.read.results import Results, collect
from leaderboard.write import tidy


def read(content: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(content), compression="gzip", dtype={"example": str, "test": str})


def test_the_churn_of_each_method_follows_from_its_tidy_rows(world: Results):
    files = dict(tidy.files(world))
    assert set(files) == {tidy.path_of(dataset, split) for dataset in world.datasets for split in dataset.splits}
    dataset = next(d for d in world.datasets if d.name == "mid")
    table = read(files[tidy.path_of(dataset, 99)])
    assert list(table.columns) == ["method", "train_seed", "test", "example", "y", "p"]
    assert set(table["method"]) == {entry.title for entry in dataset.entries}
    for entry in dataset.entries:
        p = entry.cells[99].predictions["id"]
        wide = table[table["method"] == entry.title].pivot(index="example", columns="train_seed", values="p")
        assert wide.shape == (len(p.ids), len(p.seeds))
        by_hand = np.mean([((wide[a] > 0.5) != (wide[b] > 0.5)).mean() for a, b in combinations(p.seeds, 2)])
        assert by_hand == pytest.approx(CHURN.mean(p))
        assert wide.loc[p.ids].to_numpy() == pytest.approx(p.values[..., 1].T, abs=1e-6)


def test_a_regression_has_its_predictions_and_more_than_two_classes_a_row_each(world: Results, make_cell):
    (dataset,) = world.of_task("regression")
    table = read(dict(tidy.files(world))[tidy.path_of(dataset, 99)])
    p = dataset.entry("ERM").cells[99].predictions["id"]
    rows = table[(table["method"] == "ERM") & (table["train_seed"] == p.seeds[1])]
    assert rows["p"].to_numpy() == pytest.approx(p.values[1, :, 0], abs=1e-6)
    assert rows["y"].to_numpy() == pytest.approx(p.y, abs=1e-6)
    values = np.random.default_rng(0).dirichlet((1, 1, 1), size=(2, 5))
    results = collect([make_cell("erm", values, y=np.arange(5) % 3)])
    table = read(next(iter(dict(tidy.files(results)).values())))
    assert table["class"].tolist() == [0, 1, 2] * 10
    assert table["p"].to_numpy() == pytest.approx(values.ravel(), abs=1e-6)


def test_each_sampling_has_files_of_its_own(make_cell):
    cell = make_cell("erm", np.full((4, 6, 2), 0.5))
    halves = replace(cell, key=replace(cell.key, sampling="halves"))
    paths = [path for path, _ in tidy.files(collect([cell, halves]))]
    assert sorted(paths) == ["tidy/halves/made_up-99.csv.gz", "tidy/paper/made_up-99.csv.gz"]


def test_a_name_with_a_comma_is_quoted(make_cell):
    results = collect([make_cell("erm", np.full((2, 3, 2), 0.5), title='Forest, "deep"')])
    ((_, content),) = tidy.files(results)
    assert set(read(content)["method"]) == {'Forest, "deep"'}


def test_the_archive_is_the_same_for_the_same_files():
    files = {"tidy/paper/a-99.csv.gz": b"x" * 1000, "tables/main.csv": b"y" * 1000}
    first, again = tidy.archive(files), tidy.archive(files)
    assert first == again
    with zipfile.ZipFile(io.BytesIO(first)) as zipped:
        assert zipped.testzip() is None
        assert {name: zipped.read(name) for name in files} == files
        assert "method, train_seed" in zipped.read("README.txt").decode()
