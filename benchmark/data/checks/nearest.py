"""The nearest rows of one set of molecules, or of other feature vectors, in another."""

from collections.abc import Callable
from functools import partial

import numpy as np
from rdkit import Chem, rdBase

from benchmark.data.features import morgan, standardise
from benchmark.data.rows import Rows
from benchmark.data.spec import DatasetSpec

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Returns how alike rows (T, D) and others (N, D) are, as (T, N)."""
BLOCK = 500
"""Rows that are compared at a time, to bound memory."""


def bits(spec: DatasetSpec, rows: Rows) -> np.ndarray | None:
    """Return the Morgan fingerprints (N, 2048) of the used rows as float32; None without molecules."""
    if not spec.smiles:
        return None
    if spec.features[0] == "morgan:2048:2":
        return rows.x[:, :2048].astype(np.float32)
    with rdBase.BlockLogs():
        return morgan([Chem.MolFromSmiles(text) for text in rows.used["canonical"]], 2048, 2).astype(np.float32)


def comparable(spec: DatasetSpec, rows: Rows, train: np.ndarray) -> tuple[np.ndarray, Kernel]:
    """Return what rows are compared by, and how: the similarity of fingerprints or else, of features standardised on
    the rows ``train``, the Euclidean distance with a minus sign."""
    if (fingerprints := bits(spec, rows)) is not None:
        return fingerprints, tanimoto
    return standardise(rows.x, rows.scaled, train).astype(np.float64), _closeness


def tanimoto(bits: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the Tanimoto similarity (T, N) of fingerprints (T, D) to ``others`` (N, D), as RDKit does."""
    both = (bits @ others.T).astype(np.float64)  # exact counts: equal shares must not differ by rounding
    either = bits.sum(axis=1)[:, None] + others.sum(axis=1) - both
    return np.divide(both, either, out=np.zeros_like(both), where=either > 0)


def _closeness(x: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.asarray(2 * x @ others.T - np.square(others).sum(axis=1) - np.square(x).sum(axis=1)[:, None])


def nearest(bits: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the highest Tanimoto similarity (T,) of each row of ``bits`` (T, D) to the rows of ``others`` (N, D)."""
    return _by_block(bits, partial(_highest, others=others))


def ranked(rows: np.ndarray, others: np.ndarray, kernel: Kernel, most: int) -> np.ndarray:
    """Return the numbers (T, M) of the ``most`` rows of ``others`` (N, D) most alike to each of ``rows`` (T, D), the
    most alike first and the first of equals first; M is N if that is smaller."""
    return _by_block(rows, partial(_order, others=others, kernel=kernel, most=most))


def _by_block(rows: np.ndarray, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return np.concatenate([of(rows[start : start + BLOCK]) for start in range(0, max(len(rows), 1), BLOCK)])


def _highest(block: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.asarray(tanimoto(block, others).max(axis=1))


def _order(block: np.ndarray, others: np.ndarray, kernel: Kernel, most: int) -> np.ndarray:
    return np.argsort(-kernel(block, others), axis=1, kind="stable")[:, :most]
