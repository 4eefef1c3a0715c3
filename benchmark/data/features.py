"""Features by their names in the TOMLs: ``morgan:BITS:RADIUS``, ``columns`` (the table's own numbers) and others."""

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rdkit import rdBase
from rdkit.Chem import Mol, MolFromSmiles
from rdkit.Chem.rdFingerprintGenerator import GetAtomPairGenerator, GetMorganGenerator

from benchmark import files as cache
from benchmark.data import embeddings
from benchmark.data.compositions import composition
from benchmark.data.readers import LINE, MISSING, REPEATED
from benchmark.data.spec import DatasetSpec
from benchmark.errors import UserError, did_you_mean

LARGEST = 1e100
"""The largest feature, because a larger one overflows a variance: descriptors (the Ipc of a large molecule) are clipped
to it, and numbers of the user's are refused."""
MOST_VALUES = 2**29
"""Rows times features, at most."""
PARALLEL = 500
"""Molecules from which on all cores compute slow features: to start processes takes two seconds."""


class Parsed(Sequence[Mol]):
    """Molecules of SMILES, each parsed when it is asked for: 200,000 at once would take gigabytes."""

    def __init__(self, smiles: Sequence[str]):
        self.smiles = smiles

    def __len__(self) -> int:
        return len(self.smiles)

    def __getitem__(self, i: Any) -> Any:
        with rdBase.BlockLogs():
            return MolFromSmiles(self.smiles[i])


def morgan(molecules: Sequence[Mol], n_bits: int, radius: int, **settings: int) -> np.ndarray:
    """Return Morgan fingerprints (N, n_bits) as 0/1 uint8 (doi:10.1021/ci100050t; paper, section Datasets).

    ``settings`` are those of RDKit's generator.
    """
    return _bits(molecules, GetMorganGenerator, fpSize=n_bits, radius=radius, **settings)


def atom_pairs(molecules: Sequence[Mol], n_bits: int) -> np.ndarray:
    """Return fingerprints (N, n_bits) of pairs of atoms and their distance, with four bits a pair as in
    ``morgan_counts`` (doi:10.1021/ci00046a002)."""
    return _bits(molecules, GetAtomPairGenerator, fpSize=n_bits, countSimulation=True)


def _bits(molecules: Sequence[Mol], make: Callable[..., Any], **settings: int) -> np.ndarray:
    generator = make(**settings)
    bits = np.zeros((len(molecules), settings["fpSize"]), dtype=np.uint8)
    for row, molecule in zip(bits, molecules, strict=True):
        row[:] = generator.GetFingerprintAsNumPy(molecule)
    return bits


def rdkit_descriptors(molecules: Sequence[Mol]) -> np.ndarray:
    """Return all RDKit descriptors (N, 217) as float64, NaN where undefined (paper, section Datasets)."""
    from benchmark.data.descriptors import descriptors  # few datasets need it

    with rdBase.BlockLogs():
        values = np.array([descriptors(molecule) for molecule in molecules], dtype=np.float64)
    values[~np.isfinite(values)] = np.nan
    return np.clip(values, -LARGEST, LARGEST)


def own_columns(table: pd.DataFrame, spec: DatasetSpec) -> pd.DataFrame:
    """Return the table's columns except target, SMILES, id, split, those to ignore and those of categories."""
    other = {LINE, REPEATED, spec.target, spec.smiles, spec.id, spec.split_column, spec.dated, *spec.ignore}
    other |= {name for name, *_ in spec.one_hot}
    return table[[name for name in table.columns if name not in other]]


def numbers_in(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return a table's numbers (N, D) as float64, NaN for other texts, and a mask (N, D) of missing entries."""
    texts = table.to_numpy(dtype=object).ravel()  # all columns at once: there may be thousands
    missing = np.fromiter((text.strip() in MISSING for text in texts), dtype=bool, count=len(texts))
    numbers = np.asarray(pd.to_numeric(texts, errors="coerce"), dtype=np.float64)
    return numbers.reshape(table.shape), missing.reshape(table.shape)


def columns(table: pd.DataFrame, spec: DatasetSpec) -> np.ndarray:
    """Return ``own_columns`` as float64 (N, D). Raises UserError with line and column of a value that is no number."""
    own = own_columns(table, spec)
    if own.empty and spec.one_hot:
        return np.empty((len(table), 0))
    if own.empty:
        raise UserError(
            f"{spec.name}: features 'columns': the table has no numbers besides {spec.target!r}; if a column holds "
            "SMILES, name it (--smiles, or 'smiles' in the TOML)"
        )
    values, missing = numbers_in(own)
    bad = np.argwhere(~(np.abs(values) <= LARGEST) & ~missing)
    if len(bad):
        row, column = bad[0]
        limits = f" from -{LARGEST:g} to {LARGEST:g}" if np.isfinite(values[row, column]) else ""
        raise UserError(
            f"{spec.name}: line {table[LINE].iloc[row]}, column {own.columns[column]!r}: expected a number{limits}, "
            f"found {own.iloc[row, column]!r} (list columns that are not features in 'ignore')"
        )
    return values


def one_hot(table: pd.DataFrame, spec: DatasetSpec) -> np.ndarray:
    """Return a 0/1 column (N, K) uint8 for each category of the columns in ``spec.one_hot``; other texts have no 1."""
    return np.column_stack(
        [table[name].str.strip() == category for name, *categories in spec.one_hot for category in categories]
    ).astype(np.uint8)


def _composition(table: pd.DataFrame, spec: DatasetSpec) -> np.ndarray:
    if not spec.id:
        raise UserError(f"{spec.name}: features 'composition' read formulas: name their column in 'id'")
    return composition(table[spec.id].str.strip().tolist(), table[LINE].tolist(), spec.name)


FEATURES: dict[str, Callable[..., np.ndarray]] = {
    "morgan": morgan,
    "morgan_chiral": partial(morgan, includeChirality=True),  # tells stereoisomers apart, where the SMILES state them
    "morgan_counts": partial(morgan, countSimulation=True),  # four bits a substructure: at least 1, 2, 4 and 8 of it
    "atom_pairs": atom_pairs,
    "minimol": embeddings.minimol,
    "rdkit_descriptors": rdkit_descriptors,
}
"""Features of molecules; all but bits are standardised."""
SLOW = {"rdkit_descriptors", "minimol"}
"""Those that take milliseconds a molecule, so that all datasets share what is computed of one."""
REVISIONS = dict.fromkeys(FEATURES, 1)
"""Raised when the features change."""
SPELLED = {
    "morgan": "morgan:BITS:RADIUS",
    "morgan_chiral": "morgan_chiral:BITS:RADIUS",
    "morgan_counts": "morgan_counts:BITS:RADIUS",
    "atom_pairs": "atom_pairs:BITS",
}
"""How to name features that have numbers."""


def _parts(names: Sequence[str], mark: str, others: Sequence[str] = ()) -> list[tuple[str, list[int]]]:
    """Return the kind and the numbers, apart by ``mark``, of features of molecules or ``others``. Raises UserError."""
    parts = []
    for name in names:
        kind, *numbers = name.split(mark)
        if names.count(name) > 1:
            raise UserError(f"features {name!r} are named twice: name each once")
        if kind not in (known := [*FEATURES, *others]):
            raise did_you_mean("features", kind, known)
        expected = SPELLED.get(kind, kind).replace(":", mark)
        sizes = [int(number) for number in numbers if re.fullmatch(r"\d{1,9}", number)]
        if len(numbers) != expected.count(mark) or len(sizes) < len(numbers) or 0 in sizes[:1]:
            raise UserError(f"features {name!r}: expected {expected}")
        parts.append((kind, sizes))
    return parts


def kinds(names: Sequence[str]) -> list[str]:
    """Return the kinds of features of molecules, spelled as in a TOML. Raises UserError."""
    return [kind for kind, _ in _parts(names, ":")]


def refuse_features(text: str) -> None:
    """Raise UserError if features as in ``atom_pairs.4096+rdkit_descriptors`` are unknown, or lack their package."""
    if ":" in text:
        raise UserError(f"features {text!r}: here, dots stand for the colons: {text.replace(':', '.')}")
    if "minimol" in dict(_parts([name for name in text.split("+") if name], ".")):
        embeddings.refuse()


def _shared(kind: str, smiles: Sequence[str]) -> np.ndarray:
    """Return slow features (N, D) of SMILES, each computed once, whichever dataset has it, by all cores if many are."""
    from joblib import Parallel, delayed
    from rich.console import Console
    from rich.progress import track

    keys = [hashlib.sha256(text.encode()).hexdigest()[:32] for text in smiles]
    texts = dict(zip(keys, smiles, strict=True))
    values: dict[str, np.ndarray] = {}
    for start in {key[:2] for key in keys}:
        stored = _stored(kind, start)
        values |= {key: stored[key].copy() for key in texts.keys() & stored.keys()}  # a view would keep all others
    missing = sorted(texts.keys() - values.keys())
    tasks = [(kind, start, {key: texts[key] for key in of}) for start, of in groupby(missing, itemgetter(slice(2)))]
    many, console = len(missing) >= PARALLEL, Console(stderr=True)
    pool = Parallel(n_jobs=-1 if many else 1, inner_max_num_threads=1, backend="loky", return_as="generator")
    done, quiet = pool(delayed(_computed)(*task) for task in tasks), not (many and console.is_terminal)
    for found in track(done, kind, len(tasks), console=console, transient=True, disable=quiet):
        values |= found
    return np.array([values[key] for key in keys])


def _computed(kind: str, start: str, texts: dict[str, str]) -> dict[str, np.ndarray]:
    """Return the features (D,) of the SMILES ``texts``, whose hashes begin with ``start``, and keep them."""
    found = dict(zip(texts, FEATURES[kind](Parsed([*texts.values()])), strict=True))
    both = _stored(kind, start) | found
    cache.write_arrays(_shard(kind, start), {"keys": np.array([*both]), "values": np.array([*both.values()])})
    return found


def _stored(kind: str, start: str) -> dict[str, np.ndarray]:
    stored = cache.read_arrays(_shard(kind, start))
    return dict(zip(stored["keys"].tolist(), stored["values"], strict=True)) if stored else {}


def _shard(kind: str, start: str) -> Path:
    recipe = [REVISIONS[kind], rdBase.rdkitVersion]
    return cache.cache_folder() / "made" / cache.named(kind, recipe, f".{start}")


def featurise(molecules: Sequence[Mol], table: pd.DataFrame, spec: DatasetSpec) -> tuple[np.ndarray, np.ndarray]:
    """Return the feature blocks of ``spec`` side by side (N, D), and a mask (D,) of the columns to standardise.

    Raises UserError for an invalid name, for a column that is not numeric, and for too many values.
    """
    blocks: list[np.ndarray] = []
    parts = _parts(spec.features, ":", ("columns", "composition", "smiles"))
    for name, (kind, numbers) in zip(spec.features, parts, strict=True):
        if kind in ("columns", "composition"):
            blocks.append(columns(table, spec) if kind == "columns" else _composition(table, spec))
            continue
        if not spec.smiles:
            raise UserError(f"{spec.name}: features {name!r} need molecules: name the SMILES column in 'smiles'")
        if kind == "smiles":
            texts = np.array([text.encode() for text in table[spec.smiles].str.strip()])
            blocks.append(texts.view(np.uint8).reshape(len(texts), -1))  # (N, longest), padded with 0
            continue
        if numbers and numbers[0] * len(molecules) > MOST_VALUES:
            raise UserError(
                f"{spec.name}: features {name!r}: {len(molecules):,} rows would have {numbers[0]} bits each, more "
                f"than {MOST_VALUES:,} in total: choose fewer bits"
            )
        if kind in SLOW and isinstance(molecules, Parsed):
            blocks.append(_shared(kind, molecules.smiles))
        else:
            blocks.append(FEATURES[kind](molecules, *numbers))
    if spec.one_hot:
        blocks.append(one_hot(table, spec))
    scaled = np.concatenate([np.full(block.shape[1], block.dtype != np.uint8) for block in blocks])
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1), scaled


def fitted(x: np.ndarray, scaled: np.ndarray, train: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return a mask (D,) of the columns to keep, those not ``scaled`` and those that vary over the rows ``train``, and
    a StandardScaler of the columns that are both kept and ``scaled``, fitted on these rows; None without such a column.
    """
    keep = np.ones(len(scaled), dtype=bool)
    if scaled.any():
        pool = x[train][:, scaled]
        present = np.isfinite(pool).any(axis=0)
        varies = np.zeros(len(present), dtype=bool)
        varies[present] = np.nanmax(pool[:, present], axis=0) > np.nanmin(pool[:, present], axis=0)
        keep[scaled] = varies
    if not (scaled & keep).any():
        return keep, None
    from sklearn.preprocessing import StandardScaler  # scikit-learn takes a second to import

    return keep, StandardScaler().fit(x[train][:, scaled & keep])


def transformed(x: np.ndarray, scaled: np.ndarray, keep: np.ndarray, scaler: Any) -> np.ndarray:
    """Return the columns ``keep`` of features (N, D) as float32, those that are ``scaled`` as ``scaler`` has them."""
    if scaler is None or len(x) == 0:
        kept = x if keep.all() else x[:, keep]  # SMILES are as wide as the longest of a table
        return kept.astype(np.float32)
    out = x[:, keep].astype(np.float64)
    numbers = scaled[keep]
    out[:, numbers] = np.nan_to_num(scaler.transform(out[:, numbers]), nan=0.0)
    with np.errstate(over="ignore"):  # a number that is too far from those of the pool becomes infinite
        return out.astype(np.float32)


def standardise(x: np.ndarray, scaled: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return features (N, D) as float32, with mean 0 and variance 1 over the rows ``train`` in the columns ``scaled``.

    The fit uses the training pool alone, so that no test row influences a model. Scaled columns that are constant on
    the pool are dropped; a missing value becomes the pool's mean.
    """
    return transformed(x, scaled, *fitted(x, scaled, train))
