"""Conversion of SMILES to rows of bytes, the features of backbones that read text, and back."""

from collections.abc import Sequence

import numpy as np


def smiles_bytes(texts: Sequence[str]) -> np.ndarray:
    """Return SMILES as rows of bytes (N, longest) uint8, padded with 0."""
    return np.array([text.encode() for text in texts]).view(np.uint8).reshape(len(texts), -1)


def smiles_of(x: np.ndarray) -> list[str]:
    """Return the SMILES that ``smiles_bytes`` converted to ``x``."""
    return [bytes(row).rstrip(b"\0").decode() for row in x]
