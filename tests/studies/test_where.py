"""Where flips happen: neighbours by set arithmetic on bits, and churn of groups by loops."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

from benchmark.data.neighbours import CLOSE, neighbours
from benchmark.data.problem import load_problem
from benchmark.data.rows import load_rows
from benchmark.studies.where import LabelNoise, Similarity, flips
from benchmark.study import Sampled, arrange
from benchmark.types import Cell, CellKey, Predictions

ALKYL = ["C" * n for n in range(3, 9)]
MOLECULES = [
    *((f"C[C@H](O)c1ccccc1{chain}", 1) for chain in ALKYL),  # one enantiomer is active,
    *((f"C[C@@H](O)c1ccccc1{chain}", 0) for chain in ALKYL),  # the other is not
    *((f"OC(=O)c1ccc({chain})cc1", 1) for chain in ALKYL),
    *((f"OC(=O)c1ccc({chain}Cl)cc1", 0) for chain in ALKYL),
    *((f"O=C1CCN({chain})CC1", 1) for chain in ALKYL),
    *((f"N#Cc1ncc({chain}F)s1", 0) for chain in ALKYL),
]


@pytest.fixture
def dataset(tmp_path: Path) -> str:
    table = pd.DataFrame(MOLECULES, columns=["smiles", "active"]).sample(frac=1, random_state=0)
    table.to_csv(tmp_path / "few.csv", index=False)
    digest = hashlib.sha256((tmp_path / "few.csv").read_bytes()).hexdigest()
    (tmp_path / "few.toml").write_text(
        f'title = "Few"\ntask = "classification"\ngroup = "extra"\nsource = "file:few.csv"\nsha256 = "{digest}"\n'
        'smiles = "smiles"\n'
        'target = "active"\nfeatures = ["morgan:256:2"]\nsplit = "random:0.6"\n'
    )
    load_rows.cache_clear()
    return str(tmp_path / "few.toml")


def bits(smiles: str) -> set[int]:
    return set(GetMorganGenerator(2, fpSize=2048).GetFingerprint(Chem.MolFromSmiles(smiles)).GetOnBits())


def flat(smiles: str) -> str:
    molecule = Chem.MolFromSmiles(smiles)
    Chem.RemoveStereochemistry(molecule)
    return Chem.MolToSmiles(molecule)


def test_neighbours_are_those_of_a_slow_loop(dataset: str) -> None:
    problem = load_problem(dataset)
    train, test = problem.train, problem.evals["id"]
    found = neighbours(train, test)
    assert found["ids"] == test.ids.tolist()
    everyone = [(s, y) for part in (train, test) for s, y in zip(part.smiles, part.y, strict=True)]
    for i, (smiles, y) in enumerate(zip(test.smiles, test.y, strict=True)):
        best, same, other = 0.0, False, False
        for known, label in zip(train.smiles, train.y, strict=True):
            a, b = bits(smiles), bits(known)
            tanimoto = len(a & b) / len(a | b)
            best = max(best, tanimoto)
            same |= tanimoto >= CLOSE and label == y
            other |= tanimoto >= CLOSE and label != y
        labels = {label for s, label in everyone if flat(s) == flat(smiles)}
        assert found["similarity"][i] == pytest.approx(best, abs=1e-4)
        assert (found["same"][i], found["other"][i]) == (same, other)
        assert found["conflict"][i] == (len(labels) == 2)
    for fact in ("same", "other", "conflict"):
        assert 0 < sum(found[fact]) < len(test), f"the molecules have some of both: {fact}"


def test_flips_of_a_group_are_counted_in_it_alone() -> None:
    rng = np.random.default_rng(0)
    p = rng.random((4, 30))
    values, some = np.stack([p, 1 - p], axis=-1), rng.random(30) < 0.4
    classes, rows = values.argmax(-1), np.flatnonzero(some)
    by_hand = [[sum(classes[i, t] != classes[j, t] for t in rows) / len(rows) for j in range(4)] for i in range(4)]
    assert flips(values, some).values == pytest.approx(np.array(by_hand))


class Made:
    """A lab with one cell, in whose order the facts must be taken, and facts that are given."""

    def __init__(self, flipping: list[bool], facts: dict[str, list[object]]):
        n = len(flipping)
        one = np.array([np.zeros(n), flipping], dtype=float)
        p = Predictions(
            (1, 2), np.array([f"m{i}" for i in range(n)]), np.zeros(n), np.stack([1 - one, one], -1), "classification"
        )
        self.known = [Cell(CellKey("bace", "erm", {}, 99, (1, 2), "p", "c"), "ERM", {"id": p}, 1.0, {})]
        self.facts = facts

    def cells(self, *grid):
        return arrange(self.known, *grid)

    def record(self, key, make):
        assert key == "bace, split 99"
        return self.facts


def shown(report) -> dict[str, tuple[str, float, float]]:
    return {
        name: (number, *(float(x.values[0, 1]) for x in numbers if isinstance(x, Sampled)))
        for _, name, number, *numbers in report.sheets[0].rows
    }


def test_groups_hold_the_molecules_that_their_facts_say_in_whatever_order_these_were_kept() -> None:
    facts = {
        "ids": ["m3", "m2", "m1", "m0"],
        "similarity": [0.9, 0.65, 0.35, 0.1],
        "same": [True, False, True, False],
        "other": [True, False, False, False],
        "conflict": [True, False, False, False],
    }
    lab = Made([False, False, True, True], facts)
    assert shown(LabelNoise(dataset="bace", seeds="2").report(lab)) == {
        "conflicting labels": ("1", 1.0, 2.0),
        "activity cliff": ("1", 1.0, 2.0),
        "neighbours of the same class only": ("1", 0.0, 0.0),
        "no neighbour": ("2", 0.5, 1.0),
    }
    assert shown(Similarity(dataset="bace", seeds="2").report(lab)) == {
        "0 to 0.3": ("1", 0.0, 0.0),
        "0.3 to 0.4": ("1", 0.0, 0.0),
        "0.6 to 0.7": ("1", 1.0, 2.0),
        "0.7 to 1": ("1", 1.0, 2.0),
    }


def test_without_any_flip_there_is_no_ratio() -> None:
    facts = {"ids": ["m0"], "similarity": [1.0], "same": [True], "other": [False], "conflict": [False]}
    ((_, churn, ratio),) = shown(Similarity(dataset="bace", seeds="2").report(Made([False], facts))).values()
    assert churn == 0
    assert np.isnan(ratio)
