"""Neighbours of test molecules, compared with set arithmetic on bits."""

from pathlib import Path

import pandas as pd
import pytest
from rdkit import Chem
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

from benchmark.data.checks.neighbours import CLOSE, neighbours
from benchmark.data.problem import load_problem
from tests.data.conftest import described

ALKYL = ["C" * n for n in range(3, 9)]
MOLECULES = [
    *((f"C[C@H](O)c1ccccc1{chain}", 1) for chain in ALKYL),  # one enantiomer is active,
    *((f"C[C@@H](O)c1ccccc1{chain}", 0) for chain in ALKYL),  # the other is not
    *((f"OC(=O)c1ccc({chain})cc1", 1) for chain in ALKYL),
    *((f"OC(=O)c1ccc({chain}Cl)cc1", 0) for chain in ALKYL),
    *((f"O=C1CCN({chain})CC1", 1) for chain in ALKYL),
    *((f"N#Cc1ncc({chain}F)s1", 0) for chain in ALKYL),
]


def bits(smiles: str) -> set[int]:
    return set(GetMorganGenerator(2, fpSize=2048).GetFingerprint(Chem.MolFromSmiles(smiles)).GetOnBits())


def flat(smiles: str) -> str:
    molecule = Chem.MolFromSmiles(smiles)
    Chem.RemoveStereochemistry(molecule)
    return Chem.MolToSmiles(molecule)


def test_neighbours_are_those_of_a_slow_loop(tmp_path: Path) -> None:
    table = pd.DataFrame(MOLECULES, columns=["smiles", "y"]).sample(frac=1, random_state=0)
    problem = load_problem(described(tmp_path, table, features=["morgan:256:2"], split="random:0.6"))
    train, test = problem.train, problem.evals["id"]
    columns = neighbours(train, test)
    assert columns["ids"] == test.ids.tolist()
    everyone = [(s, y) for part in (train, test) for s, y in zip(part.smiles, part.y, strict=True)]
    for i, (smiles, y) in enumerate(zip(test.smiles, test.y, strict=True)):
        best, same, other = 0.0, False, False
        for neighbour, label in zip(train.smiles, train.y, strict=True):
            a, b = bits(smiles), bits(neighbour)
            tanimoto = len(a & b) / len(a | b)
            best = max(best, tanimoto)
            same |= tanimoto >= CLOSE and label == y
            other |= tanimoto >= CLOSE and label != y
        labels = {label for s, label in everyone if flat(s) == flat(smiles)}
        assert columns["similarity"][i] == pytest.approx(best, abs=1e-4)
        assert (columns["same"][i], columns["other"][i]) == (same, other)
        assert columns["conflict"][i] == (len(labels) == 2)
    for fact in ("same", "other", "conflict"):
        assert 0 < sum(columns[fact]) < len(test), f"the molecules have some of both: {fact}"
