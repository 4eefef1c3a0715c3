"""What the view of a molecule shows: nearest training rows against a loop, and rows that a study has named."""

import numpy as np
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

from benchmark.store.cell import Record
from leaderboard.read import closest
from leaderboard.read.results import collect
from leaderboard.read.structures import Molecules
from leaderboard.site import nearest

TESTS = ["CCO", "c1ccccc1O", "CC(=O)O"]
ROWS = ["CCCO", "CCN", "c1ccccc1N", "c1ccccc1", "CC(=O)N", "CCCCO", "CC(C)O"]


def known() -> Molecules:
    ids = np.array([f"m{i}" for i in range(len(TESTS))] + [f"t{i}" for i in range(len(ROWS))])
    return Molecules(ids, np.array([*TESTS, *ROWS]), np.arange(len(ids)) % 2)


def dataset(make_cell, train: int = len(ROWS)):
    cell = make_cell("d", "erm", n=len(TESTS))
    return collect([cell.with_facts(rows={"train": train, "id": len(TESTS)})]).datasets[0]


def record(name: str = "d", split: int = 99) -> Record:
    row = {"row": "t2", "effect": 0.2, "low": 0.1, "high": 0.3, "p": 0.01, "with": 0.7, "without": 0.3}
    found = {"dataset": name, "split": split, "method": "ERM", "halvings": 8, "tests": 3, "flipping": 2}
    molecules = [{"id": "m1", "named": [row]}, {"id": "m2", "named": []}, {"id": "gone", "named": [row]}]
    return Record("flip-rows", f"{name}, split {split}", "c", {**found, "molecules": molecules})


def test_the_nearest_rows_are_those_of_a_plain_loop(make_cell) -> None:
    content = nearest.content(dataset(make_cell), "id", 99, known(), [])
    bits = {s: GetMorganGenerator(2, fpSize=2048).GetFingerprint(Chem.MolFromSmiles(s)) for s in [*TESTS, *ROWS]}
    for test, near in zip(TESTS, content["near"], strict=True):
        similar = sorted((DataStructs.TanimotoSimilarity(bits[test], bits[s]) for s in ROWS), reverse=True)
        assert [value for _, value in near] == pytest.approx(similar[: closest.CLOSEST], abs=0.006)
        for row, value in near:
            identity, smiles, y = content["rows"][row]
            assert DataStructs.TanimotoSimilarity(bits[test], bits[smiles]) == pytest.approx(value, abs=0.006)
            assert smiles == ROWS[int(identity[1:])]
            assert y == (int(identity[1:]) + len(TESTS)) % 2


def test_rows_that_a_study_named_are_shown_with_their_structure(make_cell) -> None:
    content = nearest.content(dataset(make_cell), "id", 99, known(), [record(), record("other"), record(split=7)])
    (study,) = content["influential"]
    assert study["of"][2] == []
    (row,) = study["of"][1]
    assert content["rows"][row["row"]] == ["t2", "c1ccccc1N", 1]
    assert (row["effect"], row["p"]) == (0.2, 0.01)
    assert 0 < row["similarity"] < 1


def test_without_structures_rows_are_named_by_their_ids_and_none_is_guessed(make_cell) -> None:
    content = nearest.content(dataset(make_cell), "id", 99, None, [record()])
    assert content["near"] == []
    assert content["rows"] == [["t2"]]
    assert content["influential"][0]["of"][1][0]["similarity"] is None
    other = nearest.content(dataset(make_cell, train=5), "id", 99, known(), [])
    assert other["near"] == [], "the training set is not all that is no test"
