"""The nearest rows of one set of molecules, or of other feature vectors, in another."""

from collections.abc import Callable

import numpy as np

from benchmark.data.features import Parsed, morgan, standardise
from benchmark.data.rows import Rows
from benchmark.data.spec import DatasetSpec

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Returns how alike rows (T, D) and others (N, D) are, as (T, N)."""
BLOCK, CHUNK, CELLS = 500, 2**14, 2**22
"""Rows that are compared at a time, others that are, and similarities that are kept, to bound memory."""


def bits(spec: DatasetSpec, rows: Rows, some: np.ndarray) -> np.ndarray:
    """Return the Morgan fingerprints (S, 2048) of the used rows ``some`` (S,), uint8."""
    if spec.features[0] == "morgan:2048:2":
        return rows.x[some, :2048]
    return morgan(Parsed(rows.used["canonical"].to_numpy()[some].tolist()), 2048, 2)


def comparable(
    spec: DatasetSpec, rows: Rows, test: np.ndarray, train: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Kernel]:
    """Return what the rows ``test`` and ``train`` are compared by, and how: the similarity of fingerprints or else, of
    features standardised on the rows ``train``, the Euclidean distance with a minus sign."""
    if spec.smiles:
        return bits(spec, rows, test), bits(spec, rows, train), tanimoto
    x = standardise(rows.x, rows.scaled, train).astype(np.float64)
    return x[test], x[train], _closeness


def tanimoto(bits: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the Tanimoto similarity (T, N) of fingerprints (T, D) to ``others`` (N, D), as RDKit does."""
    ones = bits.astype(np.float32)
    both = np.empty((len(bits), len(others)))  # exact counts: equal shares must not differ by rounding
    for start in range(0, len(others), CHUNK):  # as numbers, fingerprints take four times the memory
        both[:, start : start + CHUNK] = ones @ others[start : start + CHUNK].astype(np.float32).T
    either = bits.sum(axis=1, dtype=float)[:, None] + others.sum(axis=1, dtype=float) - both
    return np.divide(both, either, out=np.zeros_like(both), where=either > 0)


def _closeness(x: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.asarray(2 * x @ others.T - np.square(others).sum(axis=1) - np.square(x).sum(axis=1)[:, None])


def nearest(bits: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the highest Tanimoto similarity (T,) of each row of ``bits`` (T, D) to the rows of ``others`` (N, D)."""
    return _by_block(bits, lambda block: np.asarray(tanimoto(block, others).max(axis=1)), len(others))


def ranked(rows: np.ndarray, others: np.ndarray, kernel: Kernel, most: int) -> np.ndarray:
    """Return the numbers (T, M) of the ``most`` rows of ``others`` (N, D) most alike to each of ``rows`` (T, D), the
    most alike first and the first of equals first; M is N if that is smaller."""

    return _by_block(rows, lambda block: first(kernel(block, others), most), len(others))


def first(similar: np.ndarray, most: int) -> np.ndarray:
    """Return the columns (T, M) of the ``most`` highest of ``similar`` (T, N) in each row, the highest first and the
    first of equals first; M is N if that is smaller."""
    most = min(most, similar.shape[1])
    lowest = np.partition(similar, -most, axis=1)[:, -most]  # to sort all takes five times as long
    kept = [np.flatnonzero(row >= least) for row, least in zip(similar, lowest, strict=True)]
    order = [np.argsort(-row[k], kind="stable")[:most] for row, k in zip(similar, kept, strict=True)]
    return np.array([k[o] for k, o in zip(kept, order, strict=True)], dtype=np.int64).reshape(-1, most)


def _by_block(rows: np.ndarray, of: Callable[[np.ndarray], np.ndarray], others: int) -> np.ndarray:
    size = max(1, min(BLOCK, CELLS // max(others, 1)))
    return np.concatenate([of(rows[start : start + size]) for start in range(0, max(len(rows), 1), size)])
