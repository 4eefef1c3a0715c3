"""Examination of a dataset for faults and for overlaps with others; ``health_text`` formats the report."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from rdkit import Chem, rdBase

from benchmark.data.checks.expected_churn import Properties
from benchmark.data.checks.molecules import Molecules, molecules
from benchmark.data.checks.nearest import bits, nearest
from benchmark.data.checks.properties import properties
from benchmark.data.listing import how_to_get
from benchmark.data.problem import digest, labels, split_rows
from benchmark.data.rows import Rows, load_rows
from benchmark.data.spec import DatasetSpec, as_written, dataset_names
from benchmark.data.splits import Split
from benchmark.errors import UserError

NEAR = 0.95
"""Lowest Tanimoto similarity (Morgan, 2048 bits, radius 2) of near-duplicates."""
SHARED = 0.2
"""Smallest shared part of the smaller dataset's rows that is reported."""
SAME = 0.95
"""Two datasets count as one if they share at least this part of both their rows and of the labels of shared rows."""
REASONS = {
    "unparsable": "SMILES that RDKit cannot parse",
    "no_smiles": "no SMILES",
    "no_target": "no target",
    "repeated": "exact duplicate of an earlier row",
    "not_selected": "not selected by 'where' or 'limits'",
    "merged": "merged into another row of the same molecule, or in conflict with it",
}


@dataclass(frozen=True)
class Left:
    """A row that is excluded: its line in the file, and the reason."""

    line: int
    reason: str
    text: str


@dataclass(frozen=True)
class Repeat:
    """Rows with the same molecule (or, without molecules, the same features), and whether their targets differ."""

    what: str
    lines: tuple[int, ...]
    targets: tuple[str, ...]
    conflict: bool


@dataclass(frozen=True)
class Part:
    """A part of the split: its rows, the share of class 1 (or those of three or more classes, or mean and standard
    deviation of the target), and the numbers of rows whose molecules are in the training pool, exactly or as
    near-duplicates (``NEAR``)."""

    rows: int
    positive: float | None = None
    classes: Mapping[str, float] | None = None
    mean: float | None = None
    sd: float | None = None
    in_train: int | None = None
    near_train: int | None = None


@dataclass(frozen=True)
class SharedMolecules:
    """Overlap with another dataset: rows with the same molecule, and those of them with the same label."""

    dataset: str
    family: str
    rows: int
    of: int
    of_other: int
    same_label: int | None
    one_dataset: bool


@dataclass(frozen=True)
class Health:
    """Report on a dataset under one canonical split; ``overlaps`` is None if not requested."""

    dataset: str
    title: str
    family: str
    canonical_seed: int
    rdkit: str
    rows: int
    expected_rows: int | None
    parsable: int | None
    expected_parsable: int | None
    used: int
    left_out: tuple[Left, ...]
    repeats: tuple[Repeat, ...]
    parts: dict[str, Part]
    unit: str = ""
    properties: Properties | None = None
    """What tells the churn to come; None for images and tiny tables."""
    overlaps: tuple[SharedMolecules, ...] | None = None
    not_compared: tuple[str, ...] = ()
    """Registered datasets whose file is on this machine but cannot be read."""

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)


@lru_cache(maxsize=32)
def examine(
    spec: DatasetSpec,
    canonical_seed: int,
    *,
    overlaps: bool = False,
    expectation: bool = False,
    through: Callable[[list[str]], Iterable[str]] = iter,
) -> Health:
    """Return the report on ``spec`` split by ``canonical_seed``, with ``overlaps`` also compared with the registry, and
    with ``expectation`` the properties that say how much churn to expect, which takes seconds.

    ``through`` gets the names of the datasets to compare with, and yields them as it shows progress. Raises UserError
    if the dataset cannot be loaded or split.
    """
    rows = load_rows(spec)
    split = split_rows(spec, rows, canonical_seed)
    shared, unread = _overlaps(spec, through) if overlaps else (None, [])
    y = labels(spec, rows.used)
    repeats = tuple(_repeats(rows))
    conflicting = sum(len(repeat.lines) for repeat in repeats if repeat.conflict)
    return Health(
        dataset=spec.name,
        title=spec.title,
        family=spec.family or spec.name,
        canonical_seed=canonical_seed,
        rdkit=rdBase.rdkitVersion,
        rows=len(rows.table),
        expected_rows=spec.rows,
        parsable=int((rows.table["canonical"] != "").sum()) if spec.smiles else None,
        expected_parsable=spec.parsable,
        used=len(rows.used),
        left_out=tuple(_left_out(rows.table)),
        repeats=repeats,
        parts=_parts(spec, rows, split, y),
        unit=spec.unit,
        properties=properties(spec, rows, split, y, conflicting) if expectation and not spec.classes else None,
        overlaps=None if shared is None else tuple(shared),
        not_compared=tuple(unread),
    )


def _left_out(table: pd.DataFrame) -> Iterable[Left]:
    for row in table[~table["used"]].to_dict("records"):
        smiles = str(row["smiles"])
        for reason in REASONS:
            if row[reason]:
                text = f"{smiles}: {_complaint(smiles)}" if reason == "unparsable" else smiles
                yield Left(int(row["line"]), reason, text)


def _complaint(smiles: str) -> str:
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles, sanitize=False)
        problems = Chem.DetectChemistryProblems(molecule) if molecule else []
    return "; ".join(problem.Message() for problem in problems) or "not a SMILES"


def _identity(rows: Rows, molecules: bool) -> list[str]:
    """Return a key of each used row that equal rows share: the canonical SMILES, or a hash of the features."""
    return rows.used["canonical"].tolist() if molecules else [digest(row) for row in rows.x]


def _repeats(rows: Rows) -> Iterable[Repeat]:
    used = rows.used
    molecules = bool((used["smiles"] != "").any())
    used = used.assign(key=_identity(rows, molecules))
    for key, group in used[used["key"].duplicated(keep=False)].groupby("key", sort=False):
        targets = tuple(group["target"])
        numbers = pd.to_numeric(group["target"], errors="coerce")
        different = numbers.nunique() if numbers.notna().all() else len(set(targets))
        what = str(key) if molecules else ", ".join(group["id"])
        yield Repeat(what, tuple(map(int, group["line"])), targets, bool(different > 1))


def _parts(spec: DatasetSpec, rows: Rows, split: Split, y: np.ndarray) -> dict[str, Part]:
    key = np.array(_identity(rows, bool(spec.smiles)))
    fingerprints = bits(spec, rows)
    parts = {}
    for name, index in split.parts().items():
        values = y[index]
        about: dict[str, Any] = (
            {"classes": {name: float((values == c).mean()) for c, name in enumerate(spec.classes)}}
            if spec.classes
            else {"positive": float(values.mean())}
            if spec.task == "classification"
            else {"mean": float(values.mean()), "sd": float(values.std())}
        )
        if name != "train":
            about["in_train"] = int(np.isin(key[index], key[split.train]).sum())
            if fingerprints is not None:
                near = nearest(fingerprints[index], fingerprints[split.train]) >= NEAR
                about["near_train"] = int(near.sum())
        parts[name] = Part(len(index), **about)
    return parts


def _overlaps(
    spec: DatasetSpec, through: Callable[[list[str]], Iterable[str]]
) -> tuple[list[SharedMolecules], list[str]]:
    """Return the overlaps with registered datasets on this machine, and the names of those that cannot be read."""
    overlaps: list[SharedMolecules] = []
    unread: list[str] = []
    if not spec.smiles:
        return overlaps, unread
    mine = molecules(spec)
    counts, labelled = _counts(mine)
    itself = spec.path, spec.name.partition("@")[0]
    others = {name: as_written(name) for name in dataset_names()}
    here = [name for name, of in others.items() if (of.path, name) != itself and of.smiles and not how_to_get(of)]
    for name in through(here):
        other = others[name]
        try:
            theirs = molecules(other)
        except UserError:
            unread.append(name)
            continue
        if not np.isin(mine.exact, theirs.exact).any():
            continue
        their_counts, their_labelled = _counts(theirs)
        shared = (counts & their_counts).total()
        if shared < SHARED * min(counts.total(), their_counts.total()):
            continue
        same_label = (labelled & their_labelled).total() if other.task == spec.task else None
        both = min(shared / counts.total(), shared / their_counts.total())
        one = both >= SAME and (same_label or 0) >= SAME * shared
        family = other.family or other.name
        overlaps.append(SharedMolecules(name, family, shared, counts.total(), their_counts.total(), same_label, one))
    return overlaps, unread


def _counts(found: Molecules) -> tuple[Counter[int], Counter[tuple[int, float]]]:
    """Return the molecules, and the molecules with their labels, each with its number of rows."""
    exact = found.exact.tolist()
    return Counter(exact), Counter(zip(exact, found.y.tolist(), strict=True))
