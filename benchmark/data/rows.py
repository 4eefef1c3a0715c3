"""Rows of a raw file: molecules, scaffolds, targets and features, kept in the cache."""

import hashlib
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
from benchmark.data import downloads, images, parquet, readers, values
from benchmark.data.compositions import reduced
from benchmark.data.features import Parsed, featurise, own_columns
from benchmark.data.readers import LINE, REPEATED
from benchmark.data.spec import DatasetSpec
from benchmark.data.splits import moments
from benchmark.errors import UserError, did_you_mean
from benchmark.files import program

READ = {
    *("source", "sheet", "smiles", "id", "target", "positive", "negative", "classes", "missing", "decimal", "suffix"),
    *("relation", "bounds", "desalt", "where", "limits", "log10", "merge", "sample", "features", "ignore", "one_hot"),
    *("groups", "split"),
}
"""Fields of a spec that its rows depend on."""
MOST_ATOMS = 500
"""The largest molecule. The time for a scaffold grows with the cube of its atoms."""
LONGEST = 10 * MOST_ATOMS
"""Characters of the longest SMILES."""
REASONS = {
    "unparsable": "SMILES that RDKit cannot parse",
    "too_large": f"molecules of more than {MOST_ATOMS} atoms or {LONGEST:,} characters",
    "no_smiles": "no SMILES",
    "no_target": "no target",
    "bound": "a bound (< or >), not a value",
    "repeated": "exact duplicate of an earlier row",
    "not_selected": "not selected by 'where' or 'limits'",
    "merged": "merged into another row of the same molecule, or in conflict with it",
}
EXCLUDED = (*REASONS, "not_sampled")
"""Reasons to exclude a row, in ``Rows.table``; ``REASONS`` are those that reports give, in words."""
PARALLEL = 20_000
"""Molecules from which on all cores parse them: to start processes takes two seconds."""


@dataclass(frozen=True)
class Rows:
    """A dataset before it is split.

    ``table`` has all rows of the file: ``line`` (line number), ``id``, ``name`` (in the column of ids, if any),
    ``smiles`` as written, or of the parent with ``desalt``, ``canonical`` (empty if
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
        require_columns(table, [*needed_columns(spec), *spec.ignore], f"{spec.name}'s file:")
        return Rows(*_prepare(table, spec, x), version)
    path, content = downloads.obtain(spec)
    version = spec.sha256[:16] or hashlib.sha256(content).hexdigest()[:16]
    name, _, _ = spec.name.partition("@")  # variants have the same rows
    code = program("benchmark.data")
    reading = spec.model_dump(include=READ)

    def make() -> dict[str, np.ndarray]:
        table, x, scaled = _prepare(_cleaned(spec, path, content), spec)
        packed = np.frombuffer(table.to_parquet(), dtype=np.uint8)
        bits = x.dtype == np.uint8 and x.max(initial=0) <= 1  # an eighth of the bytes
        width = np.array(x.shape[1] if bits else 0)
        return {"table": packed, "x": np.packbits(x, axis=1) if bits else x, "scaled": scaled, "width": width}

    stored = cache.kept(cache.named(name, [version, reading, rdBase.rdkitVersion, code], ".rows"), make)
    x, width = stored["x"], int(stored["width"])
    x = np.unpackbits(x, axis=1, count=width) if width else x
    table = parquet.decoded(stored["table"].tobytes()).to_pandas(use_threads=False)
    return Rows(table, x, stored["scaled"], version)


def load_table(spec: DatasetSpec) -> pd.DataFrame:
    """Return the ``table`` of ``Rows`` without scaffolds, sooner than ``load_rows``: no feature is computed.

    Raises UserError as that does. Images have no table of their own.
    """
    raw = raw_table(spec)
    none = np.empty((len(raw), 0), dtype=np.uint8)
    return _prepare(raw, spec.model_copy(update={"split": "random:0.8"}), none)[0]


def raw_table(spec: DatasetSpec) -> pd.DataFrame:
    """Return the table of a dataset's file as text. Raises UserError for a column that it lacks."""
    return _cleaned(spec, *downloads.obtain(spec))


def _cleaned(spec: DatasetSpec, path: Path, content: bytes) -> pd.DataFrame:
    raw = readers.read(content, str(path), spec.sheet)
    require_columns(raw, [*needed_columns(spec), *spec.ignore], f"{spec.name}'s file:")
    return readers.clean(raw, spec)


def feature_columns(spec: DatasetSpec) -> list[str]:
    """Return the feature columns of a dataset whose features are ``columns``."""
    return list(own_columns(raw_table(spec), spec).columns)


def example_ids(texts: Sequence[str], *, hashed: bool) -> np.ndarray:
    """Return ids that survive reordering and filtering: hashes of the SMILES, or names; repeated ones are numbered."""
    keys = [hashlib.sha256(text.encode()).hexdigest()[:12] if hashed else text for text in texts]
    return np.array(readers.distinct(keys, "-", 2), dtype=str)


def needed_columns(spec: DatasetSpec) -> list[str]:
    """Return the columns that a dataset names, but for those to ignore."""
    needed = [spec.smiles, spec.id, spec.target, spec.relation, spec.split_column, spec.dated, *spec.groups]
    return [*filter(None, needed), *(column for column, *_ in (*spec.one_hot, *spec.where))]


def require_columns(raw: pd.DataFrame, columns: Iterable[str], file: str) -> None:
    """Raise UserError for a column that ``file`` lacks."""
    known = dict.fromkeys(name for name in raw.columns if name not in (LINE, REPEATED))
    for column in columns:
        if column not in known:
            raise did_you_mean(f"column of {file}", column, [*known])


def parent(molecule: Chem.Mol) -> Chem.Mol:
    """Return the largest organic part of a salt or mixture, neutral where moving protons can make it so (RDKit)."""
    from rdkit.Chem.MolStandardize import rdMolStandardize  # takes a moment to import

    largest = rdMolStandardize.LargestFragmentChooser(preferOrganic=True)
    with rdBase.BlockLogs():
        return rdMolStandardize.Uncharger().uncharge(largest.choose(molecule))


def parsed(text: str) -> tuple[Chem.Mol | None, bool]:
    """Return the molecule of a SMILES, None if RDKit cannot parse it or it is too large, and whether it is that."""
    molecule = Chem.MolFromSmiles(text) if 0 < len(text) <= LONGEST else None
    large = len(text) > LONGEST or (molecule is not None and molecule.GetNumAtoms() > MOST_ATOMS)
    return (None if large else molecule), large


def structures(smiles: Sequence[str], scaffolds: bool, desalt: bool) -> pd.DataFrame:
    """Return ``smiles``, of which features are computed, ``canonical`` and ``scaffold`` (both empty for what cannot be
    parsed or is too large), and whether it is ``too_large``."""
    from joblib import Parallel, delayed

    blocks = [smiles[start : start + 5000] for start in range(0, len(smiles), 5000)]
    pool = Parallel(n_jobs=1 if len(smiles) < PARALLEL else -1, inner_max_num_threads=1)
    parts = pool(delayed(_parsed)(block, scaffolds, desalt) for block in blocks)
    found = [one for part in parts for one in part]
    return pd.DataFrame(found, columns=["smiles", "canonical", "scaffold", "too_large"]).astype({"too_large": bool})


def _parsed(smiles: Sequence[str], scaffolds: bool, desalt: bool) -> list[tuple[str, str, str, bool]]:
    with rdBase.BlockLogs():
        return [_structure(text, scaffolds, desalt) for text in smiles]


@lru_cache(maxsize=2**16)  # many datasets have the same molecules with other targets
def _structure(text: str, scaffolds: bool, desalt: bool) -> tuple[str, str, str, bool]:
    molecule, large = parsed(text)
    if molecule is None:
        return text, "", "", large
    if desalt:
        molecule = parent(molecule)
        text = Chem.MolToSmiles(molecule)
    scaffold = MurckoScaffoldSmiles(mol=molecule, includeChirality=False) if scaffolds else ""
    return text, Chem.MolToSmiles(molecule), scaffold, False


def _prepare(
    raw: pd.DataFrame, spec: DatasetSpec, x: np.ndarray | None = None
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return ``table``, ``x`` and ``scaled`` of ``Rows`` for the table of a raw file (and the pixels of images)."""
    written, raw = raw, values.legible(raw, spec)
    none = pd.Series("", index=raw.index)
    smiles = raw[spec.smiles].str.strip() if spec.smiles else none
    scaffolds = spec.split.startswith("scaffold")
    parts = structures(smiles.tolist(), scaffolds and not spec.sample, spec.desalt).set_index(raw.index)
    groups = raw[list(dict.fromkeys(spec.groups))].to_dict("index").values()
    names = raw[spec.id].str.strip() if spec.id else smiles
    table = pd.DataFrame(
        {
            "line": raw[LINE].astype(int),
            "name": raw[spec.id].str.strip() if spec.id else none,
            **parts[["smiles", "canonical", "scaffold"]],
            "target": raw[spec.target].str.strip(),
            "part": raw[spec.split_column].str.strip() if spec.split_column else none,
            "group": [", ".join(f"{name} {value}" for name, value in of.items()) for of in groups],
            "repeated": raw[REPEATED],
            "no_smiles": (smiles == "") & bool(spec.smiles),
            "no_target": values.is_missing(raw[spec.target], spec.missing, spec.class_names),
            "unparsable": (smiles != "") & (parts["canonical"] == "") & ~parts["too_large"],
            "too_large": parts["too_large"],
            "bound": values.undecided(written, raw, spec),
            "not_selected": values.excluded(raw, spec),
            "merged": False,
            "not_sampled": False,
        }
    )

    def remaining() -> Any:
        return ~table[list(EXCLUDED)].to_numpy(dtype=bool).any(axis=1)

    table["target"], outside = values.scaled(raw, remaining(), spec)
    table["target"] = values.below_cut(written, table["target"], spec)
    table["not_selected"] |= outside
    keys = table["canonical"] if spec.smiles else names
    if "composition" in spec.features:  # formulas of unit cells spell one composition in several ways
        keys = pd.Series(reduced(names.tolist()), index=names.index)
    if spec.merge and spec.split.startswith("time:"):  # a later measurement must not change an earlier target
        try:
            dates = moments(table["part"].tolist(), spec.split_column, table["line"].tolist())
        except UserError as error:
            raise UserError(f"{spec.name}: {error}") from error
        when = pd.Series(dates, index=table.index).where(remaining())
        table["merged"] = when > when.groupby(keys).transform("min")
    one_each = values.merged(table["target"], keys, remaining(), raw, spec)
    table["target"] = one_each["target"]
    table["merged"] |= one_each["merged"]
    if spec.sample:
        usable = np.random.default_rng(0).permutation(np.flatnonzero(remaining()))
        table.loc[usable[spec.sample :], "not_sampled"] = True
    table["used"] = remaining()
    if spec.sample and scaffolds:
        found = structures(table["smiles"][table["used"]].tolist(), True, False)
        table.loc[table["used"], "scaffold"] = found["scaffold"].to_numpy()
    used = table["used"].to_numpy()
    if not used.any():
        wrong = {words: table[table[reason]] for reason, words in REASONS.items()}
        listed = [f"{words}: {len(of)} (line {of['line'].iloc[0]})" for words, of in wrong.items() if len(of)]
        raise UserError(
            f"{spec.name}: no row can be used: {'; '.join(listed) or 'the table has none'}: correct the table, or the "
            "columns and rules of the dataset"
        )
    table["id"] = ""
    table.loc[used, "id"] = example_ids(names[used].tolist(), hashed=not spec.id)
    if x is not None:
        return table, x if used.all() else x[used], np.zeros(x.shape[1], dtype=bool)
    chosen = Parsed(table["smiles"][used].tolist() if spec.smiles else [])
    return table, *featurise(
        chosen, raw[used].assign(**{spec.smiles: chosen.smiles}) if spec.desalt else raw[used], spec
    )
