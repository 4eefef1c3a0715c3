"""Structures: which may be shipped, and that a file without the data gives the same molecules as the data."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.data.problem import load_problem
from benchmark.data.spec import load_spec
from benchmark.types import Predictions
from leaderboard.read import structures
from leaderboard.read.results import Dataset, collect
from leaderboard.write.published import pack

NAME = "b3db_measured"


@pytest.fixture
def dataset(make_cell) -> Dataset:
    """Results of a dataset whose rows come with a package."""
    problem = load_problem(NAME)
    tests = {}
    for evalset, test in problem.evals.items():
        values = np.full((5, len(test), 2), 0.5)
        tests[evalset] = Predictions(tuple(range(1, 6)), test.ids, test.y, values, "classification")
    cell = make_cell("erm", tests["id"].values, dataset=NAME)
    facts = {"fingerprints": dict(problem.fingerprints), "rows": {"train": len(problem.train)}}
    return collect([replace(cell, predictions=tests).with_facts(**facts)]).datasets[0]


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the file of the structures, on a machine without the data."""
    found = dict(structures.to_ship([NAME]))
    (tmp_path / structures.FILE).write_bytes(pack(found))
    monkeypatch.setattr(structures, "local", lambda spec: None)
    return tmp_path


def test_without_the_data_the_file_gives_the_molecules_of_the_data(dataset: Dataset, alone: Path) -> None:
    problem = load_problem(NAME)
    found = structures.molecules(dataset, alone)
    assert found is not None
    for part in (problem.train, *problem.evals.values()):
        rows = [found.rows[i] for i in part.ids.tolist()]
        assert found.smiles[rows].tolist() == part.smiles.tolist()
        assert found.y[rows].tolist() == part.y.tolist()
    assert set(found.ids[found.pool(dataset, 99)]) == set(problem.train.ids)


@pytest.mark.parametrize(("column", "value"), [("smiles", "CCO"), ("y", 7.0)])
def test_an_altered_molecule_or_label_is_noticed(dataset: Dataset, alone: Path, column: str, value: object) -> None:
    table = pd.read_parquet(alone / structures.FILE)
    table.loc[table.index[7], column] = value
    table.to_parquet(alone / structures.FILE)
    (test,) = dataset.reference.tests
    found = structures.molecules(dataset, alone)
    if column == "smiles":  # seen if the molecule is in a test; otherwise its id belongs to no result
        assert found is None or "CCO" not in found.smiles[[found.rows[i] for i in test.ids.tolist()]]
    else:
        assert found is None


def test_a_missing_or_damaged_file_gives_no_molecules(dataset: Dataset, alone: Path, tmp_path: Path) -> None:
    assert structures.molecules(dataset, tmp_path / "none") is None
    (alone / structures.FILE).write_bytes(b"damaged")
    structures.shipped.cache_clear()
    assert structures.molecules(dataset, alone) is None


@pytest.mark.parametrize(
    ("licence", "shipped"),
    [
        ("CC0-1.0", True),
        ("CC BY 4.0", True),
        ("MIT (as published by MoleculeNet)", True),
        ("CC BY-SA 3.0 (ChEMBL); MIT as published by MoleculeNet", True),
        ("CC BY-NC-SA 4.0 (FreeSolv); MIT as published by MoleculeNet", False),
        ("see tdcommons.ai (most TDC sets: CC BY 4.0)", False),
        ("CC BY-ND 4.0", False),
        ("unknown", False),
        ("", False),
    ],
)
def test_only_a_stated_licence_that_lets_anyone_pass_data_on_ships_structures(licence: str, shipped: bool) -> None:
    assert (structures.withheld(licence) == "") == shipped


def test_no_structure_of_a_withheld_dataset_is_written() -> None:
    names = [name for name, _ in structures.to_ship(["dili", "bace", NAME, "freesolv", "a_dataset_of_mine"])]
    assert NAME in names
    assert all(structures.withheld(load_spec(name).licence) == "" for name in names)
    assert "dili" not in names
