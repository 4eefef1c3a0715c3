"""How the molecules of a test set lie to those of a training set: Tanimoto similarity of Morgan fingerprints."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmark.types import Examples

CLOSE = 0.7
"""From this similarity on, a training molecule is a neighbour."""


def neighbours(train: Examples, test: Examples) -> dict[str, list[Any]]:
    """Of each molecule of ``test``, in columns: its id, its highest similarity to ``train``, whether a neighbour of at
    least 0.7 there has the ``same`` or an ``other`` class, and whether its structure, without stereochemistry, has more
    than one label in both together (``conflict``).
    """
    from rdkit import Chem, DataStructs, rdBase
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    with rdBase.BlockLogs():  # it remarks on hydrogens, of molecules that were read before
        molecules = {s: Chem.MolFromSmiles(s) for part in (train, test) for s in part.smiles.tolist()}
    bits = {s: GetMorganGenerator(2, fpSize=2048).GetFingerprint(m) for s, m in molecules.items()}
    flat = {s: Chem.MolToSmiles(m, isomericSmiles=False) for s, m in molecules.items()}
    labels: dict[str, set[int]] = {}
    for part in (train, test):
        for s, y in zip(part.smiles.tolist(), part.y.tolist(), strict=True):
            labels.setdefault(flat[s], set()).add(int(y))
    known = [bits[s] for s in train.smiles.tolist()]
    near = np.array([DataStructs.BulkTanimotoSimilarity(bits[s], known) for s in test.smiles.tolist()])
    close, same = near >= CLOSE, test.y[:, None] == train.y[None]
    return {
        "ids": test.ids.tolist(),
        "similarity": near.max(axis=1).round(4).tolist(),
        "same": (close & same).any(axis=1).tolist(),
        "other": (close & ~same).any(axis=1).tolist(),
        "conflict": [len(labels[flat[s]]) > 1 for s in test.smiles.tolist()],
    }
