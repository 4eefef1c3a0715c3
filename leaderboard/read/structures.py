"""SMILES and labels of all molecules of a dataset: from a file shipped with the suite, otherwise from local data.

``structures.parquet`` in the published folder has the columns ``dataset``, ``smiles`` and ``y``: the used rows of every
dataset whose licence allows it, in the order of the raw file. It needs no hash of its own: the ids of examples are
hashes of their SMILES, and labels have a fingerprint in every cell, so that both are checked against the results.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

import numpy as np

from benchmark.data.spec import DatasetSpec, known_spec, load_spec
from benchmark.errors import UserError
from leaderboard.read.published import PUBLISHED
from leaderboard.read.results import Dataset, once

FILE = "structures.parquet"
FREE = re.compile(r"(CC0|MIT|CC BY(-SA)?) ?(-?\d\.\d)?( \(|$|;)|CC BY-SA \d")
"""Start of the licences under which structures are shipped: they let anyone pass the data on, also commercially."""


@dataclass(frozen=True)
class Molecules:
    """The molecules of a dataset: ``ids``, ``smiles`` and labels ``y``, each (N,)."""

    ids: np.ndarray
    smiles: np.ndarray
    y: np.ndarray

    @cached_property
    def rows(self) -> Mapping[str, int]:
        return {i: row for row, i in enumerate(self.ids.tolist())}

    def pool(self, dataset: Dataset, seed: int) -> np.ndarray:
        """Return the rows of the training pool of a split: all outside its tests; none if the count is another.

        The count differs for splits that leave rows out, and variants with fewer training rows.
        """
        cell = dataset.cell(seed)
        tests = {i for p in cell.predictions.values() for i in p.ids.tolist()}
        rows = np.array([row for row, i in enumerate(self.ids.tolist()) if i not in tests], dtype=np.int64)
        return rows if len(rows) == cell.facts.rows.get("train") else rows[:0]


def withheld(licence: str) -> str:
    """Return why structures under ``licence``, the field of a dataset's TOML, are not shipped; empty if they are."""
    if FREE.match(licence):
        return ""
    return f"the dataset's licence, “{licence or 'unknown'}”, does not state that anyone may pass the data on"


@once
def molecules(dataset: Dataset, folder: Path = PUBLISHED) -> Molecules | None:
    """Return the molecules of a dataset, from the file in ``folder`` or from local data.

    Nothing is downloaded. None without molecules, and if the data are neither here nor shipped, or not those of the
    results.
    """
    base = dataset.name.partition("@")[0]
    spec = known_spec(base)
    if spec is None or not spec.smiles:
        return None
    there = shipped(folder).get(base)
    return there if there is not None and _matches(there, dataset) else local(spec)


def of_tests(dataset: Dataset) -> dict[str, str]:
    """Return the SMILES of all test examples by id; empty where ``molecules`` returns None."""
    if (known := molecules(dataset)) is None:
        return {}
    tests = _tests(dataset)
    return {i: smiles for i, smiles in zip(known.ids.tolist(), known.smiles.tolist(), strict=True) if i in tests}


@lru_cache(maxsize=128)
def local(spec: DatasetSpec) -> Molecules | None:
    """Return the molecules of a dataset whose raw file is on this machine and unaltered, otherwise None."""
    from benchmark.data.downloads import intact  # pooch
    from benchmark.data.problem import labels  # RDKit
    from benchmark.data.rows import load_rows

    if not spec.smiles or not intact(spec):
        return None
    try:
        used = load_rows(spec).used
        return Molecules(used["id"].to_numpy(str), used["smiles"].to_numpy(str), labels(spec, used))
    except UserError:
        return None


@cache
def shipped(folder: Path) -> Mapping[str, Molecules]:
    """Return the molecules in the file of ``folder`` by dataset; none without the file, or from one that is damaged."""
    import pandas as pd  # what reads no structures starts without it

    from benchmark.data.rows import example_ids  # RDKit

    try:
        table = pd.read_parquet(folder / FILE, columns=["dataset", "smiles", "y"])
    except (OSError, ValueError):
        return {}
    by_dataset = {}
    for name, rows in table.groupby("dataset", sort=False):
        smiles = rows["smiles"].to_numpy(str)
        y = rows["y"].to_numpy(np.float32 if load_spec(str(name)).task == "regression" else np.int64)
        by_dataset[str(name)] = Molecules(example_ids(smiles.tolist(), hashed=True), smiles, y)
    return by_dataset


def to_ship(names: Sequence[str]) -> Iterator[tuple[str, Molecules]]:
    """Yield the molecules, by name, of those datasets whose licence and ids allow it and that can be had here."""
    for name in sorted({name.partition("@")[0] for name in names}):
        spec = known_spec(name)
        if spec is None or spec.id or withheld(spec.licence):
            continue
        if (known := local(spec) or shipped(PUBLISHED).get(name)) is not None:
            yield name, known


def _matches(known: Molecules, dataset: Dataset) -> bool:
    """Return whether the results are of these molecules: the tests' ids and all labels."""
    from benchmark.data.problem import digest

    prints = {cell.facts.fingerprints.get("labels") for cell in dataset.cells} - {None}
    return _tests(dataset) <= known.rows.keys() and prints <= {digest(known.y)}


def _tests(dataset: Dataset) -> set[str]:
    return {i for cell in dataset.cells for p in cell.predictions.values() for i in p.ids.tolist()}
