"""Neighbours of test molecules in a training set, by the Tanimoto similarity of Morgan fingerprints."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmark.types import Examples

CLOSE = 0.7
"""Lowest similarity of a neighbour."""


def neighbours(train: Examples, test: Examples) -> dict[str, list[Any]]:
    """Return columns for the molecules of ``test``: id, highest ``similarity`` to ``train``, whether a neighbour in
    ``train`` (similarity at least 0.7) has the ``same`` or an ``other`` class, and ``conflict``: whether the structure,
    ignoring stereochemistry, has more than one label in the two sets together.
    """
    from rdkit import Chem, rdBase

    texts = {*train.smiles.tolist(), *test.smiles.tolist()}
    with rdBase.BlockLogs():  # suppress remarks on the hydrogens of molecules that are known to parse
        flat = {s: Chem.MolToSmiles(Chem.MolFromSmiles(s), isomericSmiles=False) for s in texts}
    labels: dict[str, set[int]] = {}
    for part in (train, test):
        for s, y in zip(part.smiles.tolist(), part.y.tolist(), strict=True):
            labels.setdefault(flat[s], set()).add(int(y))
    near = similarities(test.smiles.tolist(), train.smiles.tolist())
    close, same = near >= CLOSE, test.y[:, None] == train.y[None]
    return {
        "ids": test.ids.tolist(),
        "similarity": near.max(axis=1).round(4).tolist(),
        "same": (close & same).any(axis=1).tolist(),
        "other": (close & ~same).any(axis=1).tolist(),
        "conflict": [len(labels[flat[s]]) > 1 for s in test.smiles.tolist()],
    }


def similarities(smiles: Sequence[str], others: Sequence[str]) -> np.ndarray:
    """Return the similarity (N, T) of N molecules to T others, in [0, 1]."""
    from benchmark.data.checks.nearest import tanimoto  # RDKit
    from benchmark.data.features import Parsed, morgan

    return tanimoto(*(morgan(Parsed(texts), 2048, 2) for texts in (smiles, others)))
