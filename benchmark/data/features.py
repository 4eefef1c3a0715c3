"""Features by the names used in the TOMLs: ``morgan:2048:2`` is bits and radius, ``columns`` a table's own numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from rdkit import rdBase
from rdkit.Chem import Descriptors, Mol
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from sklearn.preprocessing import StandardScaler

from benchmark.backbones._smiles import smiles_bytes
from benchmark.data.readers import LINE, MISSING, REPEATED
from benchmark.data.spec import DatasetSpec
from benchmark.errors import UserError, did_you_mean

LARGEST = 1e100
"""Ipc of a large molecule overflows a variance."""


def morgan(molecules: Sequence[Mol], n_bits: int, radius: int) -> np.ndarray:
    """Morgan fingerprints (N, n_bits) as 0/1 uint8 (doi:10.1021/ci100050t; paper, section Datasets)."""
    if n_bits < 1 or radius < 0:
        raise ValueError("expected at least one bit, and a radius of at least 0")
    generator = GetMorganGenerator(radius=radius, fpSize=n_bits)
    bits = np.zeros((len(molecules), n_bits), dtype=np.uint8)
    for row, molecule in zip(bits, molecules, strict=True):
        row[:] = generator.GetFingerprintAsNumPy(molecule)
    return bits


def rdkit_descriptors(molecules: Sequence[Mol]) -> np.ndarray:
    """All of RDKit's descriptors, (N, 217) float64, NaN where one is not defined (paper, section Datasets)."""
    with rdBase.BlockLogs():
        rows = [list(Descriptors.CalcMolDescriptors(m, missingVal=np.nan, silent=True).values()) for m in molecules]
    values = np.array(rows, dtype=np.float64)
    values[~np.isfinite(values)] = np.nan
    return np.clip(values, -LARGEST, LARGEST)


def own_columns(table: pd.DataFrame, spec: DatasetSpec) -> pd.DataFrame:
    """The table's columns but target, SMILES, id, split and those to ignore."""
    given = spec.split.partition(":")[2] if spec.split.startswith("given") else ""
    other = {LINE, REPEATED, spec.target, spec.smiles, spec.id, given, *spec.ignore}
    return table[[name for name in table.columns if name not in other]]


def columns(table: pd.DataFrame, spec: DatasetSpec) -> np.ndarray:
    """``own_columns`` as numbers (N, D) float64. Raises UserError with line and column for what is no number."""
    numbers = own_columns(table, spec)
    if numbers.empty:
        raise UserError(
            f"{spec.name}: features 'columns': the table has no numbers besides {spec.target!r}; if a column holds "
            "SMILES, name it (--smiles, or 'smiles' in the TOML)"
        )
    values = numbers.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
    bad = np.argwhere(~np.isfinite(values) & ~numbers.isin(MISSING).to_numpy())
    if len(bad):
        row, column = bad[0]
        raise UserError(
            f"{spec.name}: line {table[LINE].iloc[row]}, column {numbers.columns[column]!r}: expected a number, found "
            f"{numbers.iloc[row, column]!r} (columns that are no features go into 'ignore')"
        )
    return values


FEATURES: dict[str, Callable[..., np.ndarray]] = {"morgan": morgan, "rdkit_descriptors": rdkit_descriptors}
"""Features of molecules. Where values are no bits they are standardised."""


def featurise(molecules: Sequence[Mol], table: pd.DataFrame, spec: DatasetSpec) -> tuple[np.ndarray, np.ndarray]:
    """The blocks of features of ``spec`` side by side, (N, D), and which columns are to be standardised, (D,) bool.

    Raises UserError for a name that cannot be read, and for a column that is not numeric.
    """
    blocks = []
    for name in spec.features:
        kind, *numbers = name.split(":")
        if kind not in ("columns", "smiles", *FEATURES):
            raise did_you_mean("features", kind, [*FEATURES, "columns", "pixels", "smiles"])
        if kind == "columns":
            blocks.append(columns(table, spec))
            continue
        if not spec.smiles:
            raise UserError(f"{spec.name}: features {name!r} are made from molecules: name their column in 'smiles'")
        if kind == "smiles":
            blocks.append(smiles_bytes(table[spec.smiles].str.strip().tolist()))
            continue
        try:
            blocks.append(FEATURES[kind](molecules, *map(int, numbers)))
        except (TypeError, ValueError) as error:
            raise UserError(f"features {name!r}: expected morgan:BITS:RADIUS, as in morgan:2048:2") from error
    scaled = np.concatenate([np.full(block.shape[1], block.dtype != np.uint8) for block in blocks])
    return np.concatenate(blocks, axis=1), scaled


def standardise(x: np.ndarray, scaled: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Features (N, D) as float32, the columns ``scaled`` at mean 0 and variance 1 over the rows ``train``.

    Fitted on the training pool alone, so that nothing about a test row reaches a model. Scaled columns that are
    constant on it are dropped; a missing value becomes the pool's mean.
    """
    if not scaled.any():
        return x.astype(np.float32)
    pool = x[train][:, scaled]
    present = np.isfinite(pool).any(axis=0)
    varies = np.zeros(len(present), dtype=bool)
    varies[present] = np.nanmax(pool[:, present], axis=0) > np.nanmin(pool[:, present], axis=0)
    keep = np.ones(x.shape[1], dtype=bool)
    keep[scaled] = varies
    out = x[:, keep].astype(np.float64)
    numbers = scaled[keep]
    if numbers.any():
        scaler = StandardScaler().fit(pool[:, varies])
        out[:, numbers] = np.nan_to_num(scaler.transform(out[:, numbers]), nan=0.0)
    return out.astype(np.float32)
