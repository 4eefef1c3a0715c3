"""Rows of a raw file: molecules, scaffolds, targets and features, kept in the cache."""

import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rdkit import Chem, rdBase
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from benchmark import files as cache
from benchmark.data import downloads, features, images, readers, values
from benchmark.data.compositions import reduced
from benchmark.data.readers import LINE, MISSING, REPEATED
from benchmark.data.spec import DatasetSpec
from benchmark.data.splits import moments
from benchmark.errors import UserError, did_you_mean
from benchmark.files import program

EXCLUDED = ("repeated", "no_smiles", "no_target", "unparsable", "not_selected", "merged")
"""Reasons to exclude a row, in ``Rows.table``."""
READ = {
    "source",
    "smiles",
    "id",
    "target",
    "where",
    "limits",
    "log10",
    "merge",
    "features",
    "ignore",
    "one_hot",
    "groups",
    "split",
}
"""Fields of a spec that its rows depend on."""
MOST_ATOMS = 500
"""The largest molecule. The time for a scaffold grows with the cube of its atoms."""


@dataclass(frozen=True)
class Rows:
    """A dataset before it is split.

    ``table`` has all rows of the file: ``line`` (line number), ``id``, ``smiles`` as written, ``canonical`` (empty if
    RDKit cannot parse it), ``scaffold`` (empty if the split does not need it, too), ``target`` (as written, or as the
    spec changes it), ``part`` (of a split by column), ``group`` (``label 1, place 0``; empty without ``groups``), the
    reasons to exclude a row (``EXCLUDED``), and ``used`` if none applies. ``x`` (N, D) are the features of the used
    rows, uint8 if all are bits; ``scaled`` (D,) marks the columns to standardise.
    """

    table: pd.DataFrame
    x: np.ndarray
    scaled: np.ndarray
    version: str
    """16 hex digits of the raw data's hash."""

    @property
    def used(self) -> pd.DataFrame:
        return self.table[self.table["used"]].reset_index(drop=True)


@lru_cache(maxsize=4)
def load_rows(spec: DatasetSpec) -> Rows:
    """Return the rows of a dataset, from the cache if raw file, spec, RDKit and this code have not changed.

    Raises UserError for a missing or altered file, an unknown column, and a table without usable rows.
    """
    if spec.source.startswith("hf:"):
        version, table, x = images.load(spec)
        _require_columns(table, spec)
        return Rows(*_prepare(table, spec, x), version)
    path, content = downloads.obtain(spec)
    version = spec.sha256[:16] or hashlib.sha256(content).hexdigest()[:16]
    name, _, _ = spec.name.partition("@")  # variants have the same rows
    code = program("benchmark.data")
    reading = spec.model_dump(include=READ)
    key = cache.named(name, [version, reading, rdBase.rdkitVersion, code])

    def make() -> tuple[bytes, ...]:
        table, x, scaled = _prepare(_cleaned(spec, path, content), spec)
        packed, arrays = io.BytesIO(), io.BytesIO()
        table.to_parquet(packed)
        np.savez(arrays, x=x, scaled=scaled)
        return packed.getvalue(), arrays.getvalue()

    packed, arrays = cache.kept((f"{key}.rows", f"{key}.features"), make)
    with np.load(io.BytesIO(arrays)) as stored:
        return Rows(pd.read_parquet(io.BytesIO(packed)), stored["x"], stored["scaled"], version)


def load_table(spec: DatasetSpec) -> pd.DataFrame:
    """Return the ``table`` of ``Rows`` without scaffolds, sooner than ``load_rows``: no feature is computed.

    Raises UserError as that does. Images have no table of their own.
    """
    raw = _cleaned(spec, *downloads.obtain(spec))
    none = np.empty((len(raw), 0), dtype=np.uint8)
    return _prepare(raw, spec.model_copy(update={"split": "random:0.8"}), none)[0]


def _cleaned(spec: DatasetSpec, path: Path, content: bytes) -> pd.DataFrame:
    raw = readers.read(content, str(path))
    _require_columns(raw, spec)
    return readers.clean(raw, content, spec)


def feature_columns(spec: DatasetSpec) -> list[str]:
    """Return the feature columns of a dataset whose features are ``columns``."""
    path, content = downloads.obtain(spec)
    return list(features.own_columns(readers.read(content, str(path)), spec).columns)


def example_ids(texts: Sequence[str], *, hashed: bool) -> np.ndarray:
    """Return ids that survive reordering and filtering: hashes of the SMILES, or names; repeated ones are numbered."""
    keys = [hashlib.sha256(text.encode()).hexdigest()[:12] if hashed else text for text in texts]
    return np.array(readers.distinct(keys, "-", 2), dtype=str)


def _require_columns(raw: pd.DataFrame, spec: DatasetSpec) -> None:
    names = [name for name in raw.columns if name not in (LINE, REPEATED)]
    known = set(names)
    for column in filter(
        None,
        (
            spec.smiles,
            spec.id,
            spec.target,
            spec.split_column,
            spec.dated,
            *spec.ignore,
            *spec.groups,
            *(column for column, *_ in spec.one_hot),
            *(column for column, *_ in spec.where),
        ),
    ):
        if column not in known:
            raise did_you_mean(f"column of {spec.name}'s file:", column, names)


def _molecules(smiles: Iterable[str], lines: Iterable[int], spec: DatasetSpec) -> list[Chem.Mol | None]:
    """Parse the SMILES; None for one that is empty or invalid. Raises UserError for one that is too large."""
    longest = 10 * MOST_ATOMS
    molecules = []
    with rdBase.BlockLogs():
        for text, line in zip(smiles, lines, strict=True):
            molecule = Chem.MolFromSmiles(text) if 0 < len(text) <= longest else None
            if len(text) > longest or (molecule and molecule.GetNumAtoms() > MOST_ATOMS):
                size = f"{molecule.GetNumAtoms():,} atoms" if molecule else f"{len(text):,} characters"
                raise UserError(
                    f"{spec.name}: line {line}, column {spec.smiles!r}: expected a molecule of at most {MOST_ATOMS} "
                    f"atoms and {longest:,} characters, found {size}, {text[:20]!r}…: remove the row"
                )
            molecules.append(molecule)
    return molecules


def _prepare(
    raw: pd.DataFrame, spec: DatasetSpec, x: np.ndarray | None = None
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return ``table``, ``x`` and ``scaled`` of ``Rows`` for the table of a raw file (and the pixels of images)."""
    none = pd.Series("", index=raw.index)
    smiles = raw[spec.smiles].str.strip() if spec.smiles else none
    molecules = _molecules(smiles, raw[LINE], spec)
    groups = raw[list(dict.fromkeys(spec.groups))].to_dict("index").values()
    grouped = spec.split.startswith("scaffold")
    parsed = np.array([molecule is not None for molecule in molecules])
    names = raw[spec.id].str.strip() if spec.id else smiles
    table = pd.DataFrame(
        {
            "line": raw[LINE].astype(int),
            "smiles": smiles,
            "canonical": [Chem.MolToSmiles(m) if m else "" for m in molecules],
            "scaffold": [
                MurckoScaffoldSmiles(mol=m, includeChirality=False) if m and grouped else "" for m in molecules
            ],
            "target": raw[spec.target].str.strip(),
            "part": raw[spec.split_column].str.strip() if spec.split_column else none,
            "group": [", ".join(f"{name} {value}" for name, value in of.items()) for of in groups],
            "repeated": raw[REPEATED],
            "no_smiles": (smiles == "") & bool(spec.smiles),
            "no_target": raw[spec.target].str.strip().isin(MISSING),
            "unparsable": ~parsed & (smiles != ""),
            "not_selected": values.excluded(raw, spec),
            "merged": False,
        }
    )

    def remaining() -> Any:
        return ~table[list(EXCLUDED)].to_numpy(dtype=bool).any(axis=1)

    table["target"], outside = values.scaled(raw, remaining(), spec)
    table["not_selected"] |= outside
    keys = table["canonical"] if spec.smiles else names
    if "composition" in spec.features:  # formulas of unit cells spell one composition in several ways
        keys = pd.Series(reduced(names.tolist()), index=names.index)
    if spec.merge and spec.split.startswith("time:"):  # a later measurement must not change an earlier target
        when = pd.Series(moments(table["part"].tolist()), index=table.index).where(remaining())
        table["merged"] = when > when.groupby(keys).transform("min")
    one_each = values.merged(table["target"], keys, remaining(), raw, spec)
    table["target"] = one_each["target"]
    table["merged"] |= one_each["merged"]
    table["used"] = remaining()
    used = table["used"].to_numpy()
    if not used.any():
        what = "both a SMILES that RDKit can parse and a target" if spec.smiles else "a target"
        raise UserError(f"{spec.name}: no row has {what}")
    table["id"] = ""
    table.loc[used, "id"] = example_ids(names[used].tolist(), hashed=not spec.id)
    if x is not None:
        return table, x if used.all() else x[used], np.zeros(x.shape[1], dtype=bool)
    chosen = [m for m, keep in zip(molecules, used, strict=True) if keep and m] if spec.smiles else []
    return table, *features.featurise(chosen, raw[used], spec)
