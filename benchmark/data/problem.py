"""From a dataset's name to its ``Problem``."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd

from benchmark.data.features import standardise
from benchmark.data.rows import Rows, load_rows
from benchmark.data.spec import DatasetSpec, load_spec
from benchmark.data.splits import Split, make_split
from benchmark.errors import UserError
from benchmark.types import Examples, Problem

WORDS = {"false": "0", "true": "1"}


def digest(array: np.ndarray) -> str:
    """The first 16 hex digits of the sha256 of an array's bytes."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def plain(texts: pd.Series) -> pd.Series:
    """One spelling for each number (``1``, ``1.0`` → ``1``); other texts as they are."""
    numbers = pd.to_numeric(texts, errors="coerce")
    return texts if numbers.isna().any() else numbers.map("{:g}".format)


def labels(spec: DatasetSpec, table: pd.DataFrame) -> np.ndarray:
    """Class 0/1 (int64) or the target (float32) of each row of ``table`` (its columns ``target`` and ``line``).

    ``positive`` in the spec is the text of class 1, or ``>= median`` to binarise a number (paper, section
    Datasets); without it the column holds 0 and 1, or false and true. Raises UserError naming line and value.
    """
    column, target = f"{spec.name}: column {spec.target!r}", table["target"]

    def refuse(wrong: np.ndarray, expected: str) -> None:
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise UserError(
                f"{column}, line {table['line'].iloc[row]}: expected {expected}, found {target.iloc[row]!r}"
            )

    if spec.task == "regression" or spec.positive == ">= median":
        numbers = pd.to_numeric(target, errors="coerce").astype(float)
        refuse(~np.isfinite(numbers.to_numpy()), "a number")
        if spec.task == "regression":
            if numbers.nunique() < 2:
                raise UserError(
                    f"{column}: all {len(target)} rows have the value {target.iloc[0]}: nothing can be learned"
                )
            return numbers.to_numpy(dtype=np.float32)
        classes = numbers >= numbers.median()
    elif spec.positive is not None:
        target, positive = plain(target), plain(pd.Series([spec.positive])).iloc[0]
        found = sorted(target.unique())
        if len(found) != 2 or positive not in found:
            shown = ", ".join(map(repr, found[:5]))
            raise UserError(f"{column}: expected {positive!r} and one other value, found {len(found)}: {shown}")
        classes = target == positive
    else:
        classes = pd.to_numeric(target.map(lambda text: WORDS.get(text.lower(), text)), errors="coerce")
        refuse(~classes.isin([0, 1]).to_numpy(), "0 or 1 (name class 1 with 'positive')")
    if classes.nunique() < 2:
        raise UserError(
            f"{column}: all {len(target)} rows are of one class ({target.iloc[0]!r}): nothing can be learned"
        )
    return classes.to_numpy(dtype=np.int64)


def split_rows(spec: DatasetSpec, rows: Rows, canonical_seed: int) -> Split:
    """The canonical split of the used rows. Raises UserError for an unknown split or an empty part."""
    used = rows.used
    return make_split(spec.split, canonical_seed, used["scaffold"].tolist(), used["part"].tolist())


def load_problem(dataset: str, canonical_seed: int = 99) -> Problem:
    """The dataset called ``dataset`` (or described by the TOML at that path), split by ``canonical_seed``.

    Raises UserError for an unknown dataset, a missing or altered data file, or an unusable column.
    """
    spec = load_spec(dataset)
    rows = load_rows(spec)
    used, y = rows.used, labels(spec, rows.used)
    split = split_rows(spec, rows, canonical_seed)
    x = standardise(rows.x, rows.scaled, split.train)
    ids, smiles = used["id"].to_numpy(dtype=str), used["smiles"].to_numpy(dtype=str)

    def take(index: np.ndarray) -> Examples:
        return Examples(x[index], y[index], ids[index], smiles[index])

    return Problem(
        spec=spec,
        canonical_seed=canonical_seed,
        train=take(split.train),
        evals={name: take(index) for name, index in split.tests.items()},
        n_outputs=2 if spec.task == "classification" else 1,
        fingerprints={
            "data": rows.version,
            "features": digest(rows.x),
            "labels": digest(y),
            "split": digest(np.concatenate(list(split.parts().values()))),
        },
    )
