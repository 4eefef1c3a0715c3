"""Features of molecules, by the names used in the TOMLs: ``morgan:2048:2`` is bits and radius."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rdkit.Chem import Mol
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

from benchmark.errors import UserError, did_you_mean


def morgan(molecules: Sequence[Mol], n_bits: int, radius: int) -> np.ndarray:
    """Morgan fingerprints (N, n_bits) as 0/1 float32 (doi:10.1021/ci100050t; paper, section Datasets)."""
    generator = GetMorganGenerator(radius=radius, fpSize=n_bits)
    bits = np.zeros((len(molecules), n_bits), dtype=np.float32)
    for row, molecule in zip(bits, molecules, strict=True):
        row[:] = generator.GetFingerprintAsNumPy(molecule)
    return bits


FEATURES = {"morgan": morgan}


def featurise(molecules: Sequence[Mol], names: Sequence[str]) -> np.ndarray:
    """The named blocks of features side by side, (N, D) float32. Raises UserError for a name that cannot be read."""
    blocks = []
    for name in names:
        kind, *numbers = name.split(":")
        if kind not in FEATURES:
            raise did_you_mean("features", kind, sorted(FEATURES))
        try:
            blocks.append(FEATURES[kind](molecules, *map(int, numbers)))
        except (TypeError, ValueError) as error:
            raise UserError(f"features {name!r}: expected morgan:BITS:RADIUS, as in morgan:2048:2") from error
    return np.concatenate(blocks, axis=1)
