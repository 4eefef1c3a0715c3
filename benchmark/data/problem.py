"""From a dataset's name to its ``Problem``."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import lru_cache

import numpy as np
import pandas as pd
from rdkit import Chem, rdBase

from benchmark.data.features import featurise
from benchmark.data.sources import read_table
from benchmark.data.spec import DatasetSpec, load_spec
from benchmark.data.splits import Split, make_split
from benchmark.errors import UserError
from benchmark.types import Examples, Problem


def digest(array: np.ndarray) -> str:
    """The first 16 hex digits of the sha256 of an array's bytes."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def example_ids(smiles: pd.Series) -> np.ndarray:
    """Ids that survive reordering and filtering: a hash of the SMILES as written, numbered where it repeats."""
    seen: Counter[str] = Counter()
    ids = []
    for text in smiles:
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
        seen[key] += 1
        ids.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return np.array(ids)


def labels(spec: DatasetSpec, target: pd.Series) -> np.ndarray:
    """Class 0/1 (int64) or the target (float32) of each row.

    ``positive`` in the spec is the text of class 1, or ``>= median`` to binarise a number (paper, section
    Datasets); without it the column holds 0 and 1. Raises UserError naming a value that is none of these.
    """
    column = f"{spec.name}: column {spec.target!r}"
    if spec.task == "regression" or spec.positive == ">= median":
        numbers = pd.to_numeric(target, errors="coerce").astype(float)
        wrong = target[~np.isfinite(numbers)]
        if len(wrong):
            raise UserError(f"{column}: expected numbers, found {wrong.iloc[0]!r}")
        if spec.task == "regression":
            return numbers.to_numpy(dtype=np.float32)
        return (numbers >= numbers.median()).to_numpy(dtype=np.int64)
    if spec.positive is not None:
        texts = target.astype(str)
        found = sorted(texts.unique())
        if len(found) != 2 or spec.positive not in found:
            shown = ", ".join(map(repr, found[:5]))
            raise UserError(f"{column}: expected {spec.positive!r} and one other value, found {len(found)}: {shown}")
        return (texts == spec.positive).to_numpy(dtype=np.int64)
    wrong = target[~target.isin([0, 1])]
    if len(wrong):
        raise UserError(f"{column}: expected 0 or 1, found {wrong.iloc[0]!r} (name class 1 with 'positive')")
    return target.to_numpy(dtype=np.int64)


@lru_cache(maxsize=4)
def load_dataset(spec: DatasetSpec) -> tuple[Examples, list[Chem.Mol]]:
    """All usable rows of a dataset, with their molecules: rows without a target or that RDKit rejects are left out."""
    table = read_table(spec).dropna(subset=[spec.smiles, spec.target])
    table = table.assign(**{spec.smiles: table[spec.smiles].astype(str).str.strip()})
    with rdBase.BlockLogs():
        parsed = [Chem.MolFromSmiles(text) for text in table[spec.smiles]]
    table = table[[molecule is not None for molecule in parsed]]
    molecules = [molecule for molecule in parsed if molecule is not None]
    if not molecules:
        raise UserError(f"{spec.name}: no row has both a SMILES that RDKit can parse and a target")
    examples = Examples(
        x=featurise(molecules, spec.features),
        y=labels(spec, table[spec.target]),
        ids=example_ids(table[spec.smiles]),
        smiles=table[spec.smiles].to_numpy(dtype=str),
    )
    return examples, molecules


def load_problem(dataset: str, canonical_seed: int = 99) -> Problem:
    """The dataset called ``dataset`` (or described by the TOML at that path), split by ``canonical_seed``.

    Raises UserError for an unknown dataset, a missing or altered data file, or an unusable column.
    """
    spec = load_spec(dataset)
    rows, molecules = load_dataset(spec)
    split: Split = make_split(molecules, spec.split, canonical_seed)

    def take(index: np.ndarray) -> Examples:
        return Examples(rows.x[index], rows.y[index], rows.ids[index], rows.smiles[index])

    return Problem(
        spec=spec,
        canonical_seed=canonical_seed,
        train=take(split.train),
        evals={"id": take(split.id), "ood": take(split.ood)},
        n_outputs=int(rows.y.max()) + 1 if spec.task == "classification" else 1,
        fingerprints={
            "data": spec.sha256[:16],
            "features": digest(rows.x),
            "labels": digest(rows.y),
            "split": digest(np.concatenate(split)),
        },
    )
