"""SMILES as rows of bytes, the features of backbones that read the text itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def smiles_bytes(texts: Sequence[str]) -> np.ndarray:
    """SMILES as rows of bytes (N, longest) uint8, 0 after their ends, for backbones that read the text itself."""
    rows = [np.frombuffer(text.encode(), dtype=np.uint8) for text in texts]
    found = np.zeros((len(rows), max(map(len, rows))), dtype=np.uint8)
    for own, row in zip(found, rows, strict=True):
        own[: len(row)] = row
    return found


def smiles_of(x: np.ndarray) -> list[str]:
    """The SMILES that ``smiles_bytes`` made ``x`` from."""
    return [bytes(row).rstrip(b"\0").decode() for row in x]
