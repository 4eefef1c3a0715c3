"""Examination of a dataset for faults and for overlaps with others; ``health_text`` formats the report."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from rdkit import Chem, rdBase

from benchmark.data.checks.expected_churn import Properties
from benchmark.data.checks.families import comparable, pairs
from benchmark.data.checks.nearest import bits, nearest
from benchmark.data.checks.properties import MOST_PAIRS, properties
from benchmark.data.features import FEATURES, Parsed
from benchmark.data.problem import digest, labels, split_rows
from benchmark.data.rows import REASONS, Rows, load_rows, parent
from benchmark.data.spec import DatasetSpec, as_written, dataset_names
from benchmark.data.splits import Split
from benchmark.data.values import meant
from benchmark.errors import UserError

NEAR = 0.95
"""Lowest Tanimoto similarity (Morgan, 2048 bits, radius 2) of near-duplicates."""
TELLING = ("morgan_chiral:2048:2", "morgan_counts:4096:2", "atom_pairs:4096")
"""Features that may tell molecules apart which those of the dataset do not."""
TRIED = 200
"""Molecules on which they are tried."""


@dataclass(frozen=True)
class Left:
    """A row that is excluded: its line in the file, its id in the file, the reason, and its SMILES or the complaint."""

    line: int
    reason: str
    text: str
    name: str = ""


@dataclass(frozen=True)
class Repeat:
    """Rows with the same molecule (or, without molecules, the same features), and whether their targets differ."""

    what: str
    lines: tuple[int, ...]
    targets: tuple[str, ...]
    conflict: bool


@dataclass(frozen=True)
class Alike:
    """Different molecules that have the same features: how many, how many of them beside one with another target, and
    the share of a sample of them that other features (``TELLING``) tell apart."""

    molecules: int
    conflicting: int
    telling: Mapping[str, float]


@dataclass(frozen=True)
class Salts:
    """Rows whose molecule has several parts, and those whose parent has another target on another row."""

    rows: int
    conflicting: int
    lines: tuple[int, ...]
    """Lines of the first of these."""


@dataclass(frozen=True)
class Part:
    """A part of the split: its rows, the share of class 1 (or those of three or more classes, or mean and standard
    deviation of the target), and the numbers of rows whose molecules are in the training pool, exactly or as
    near-duplicates (``NEAR``; estimated from a sample if there are more than ``MOST_PAIRS`` pairs)."""

    rows: int
    positive: float | None = None
    classes: Mapping[str, float] | None = None
    mean: float | None = None
    sd: float | None = None
    in_train: int | None = None
    near_train: int | None = None


@dataclass(frozen=True)
class Overlap:
    """Another dataset with some of the molecules: how many are shared, of how many, and how their labels agree."""

    dataset: str
    shared: int
    of: int
    of_other: int
    agreement: float | None
    """Part of the shared molecules with equal classes; None for numbers."""
    one: str
    """``family`` or ``group`` if the two must be one (``benchmark.data.checks.families.one``)."""


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
    class_names: tuple[str, ...]
    left_out: tuple[Left, ...]
    repeats: tuple[Repeat, ...]
    alike: Alike
    salts: Salts | None
    parts: dict[str, Part]
    target: str = ""
    features: str = ""
    unit: str = ""
    properties: Properties | None = None
    """What tells the churn to come; None for images and tiny tables."""
    overlaps: tuple[Overlap, ...] | None = None
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
    repeats = tuple(_repeats(spec, rows))
    conflicting = sum(len(repeat.lines) for repeat in repeats if repeat.conflict)
    return Health(
        dataset=spec.name,
        title=spec.title,
        family=spec.family,
        canonical_seed=canonical_seed,
        rdkit=rdBase.rdkitVersion,
        rows=len(rows.table),
        expected_rows=spec.rows,
        parsable=int((rows.table["canonical"] != "").sum()) if spec.smiles else None,
        expected_parsable=spec.parsable,
        used=len(rows.used),
        class_names=spec.class_names,
        left_out=tuple(left_out(rows.table)),
        repeats=repeats,
        alike=_alike(spec, rows, y),
        salts=_salts(rows, y) if spec.smiles else None,
        parts=_parts(spec, rows, split, y),
        target=spec.target,
        features=", ".join(spec.features),
        unit=spec.unit,
        properties=properties(spec, rows, split, y, conflicting) if expectation and not spec.classes else None,
        overlaps=shared,
        not_compared=tuple(unread),
    )


def left_out(table: pd.DataFrame) -> list[Left]:
    """Return the rows of ``Rows.table`` that cannot be used, one entry for each reason."""
    lines = []
    for row in table[~table["used"] & ~table["not_sampled"]].to_dict("records"):
        smiles = str(row["smiles"])
        for reason in REASONS:
            if row[reason]:
                text = f"{smiles}: {_complaint(smiles)}" if reason == "unparsable" else smiles
                lines.append(Left(int(row["line"]), reason, text[:200], str(row["name"])))
    return lines


def _complaint(smiles: str) -> str:
    if smiles.count(">") > 1:
        return "a reaction, which is not supported"
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles, sanitize=False)
        problems = Chem.DetectChemistryProblems(molecule) if molecule else []
    return "; ".join(problem.Message() for problem in problems) or "not a SMILES"


def _repeats(spec: DatasetSpec, rows: Rows) -> Iterable[Repeat]:
    molecules = bool((rows.used["smiles"] != "").any())
    used = rows.table[rows.table["used"] | rows.table["not_sampled"]] if molecules else rows.used
    learned = meant(used["target"], spec)
    if spec.cut == "median":
        learned = learned >= meant(rows.used["target"], spec).astype(float).median()
    used = used.assign(key=used["canonical"] if molecules else [digest(row) for row in rows.x], learned=learned)
    for key, group in used[used["key"].duplicated(keep=False)].groupby("key", sort=False):
        what = str(key) if molecules else ", ".join(group["id"])
        lines, targets = tuple(map(int, group["line"])), tuple(group["target"])
        yield Repeat(what, lines, targets, group["learned"].nunique() > 1)


def _alike(spec: DatasetSpec, rows: Rows, y: np.ndarray) -> Alike:
    """Return which molecules have the features of another; none where the features are not of molecules."""
    if not spec.smiles or "smiles" in spec.features:
        return Alike(0, 0, {})
    table = rows.used[["smiles", "canonical"]].assign(features=[hash(row.tobytes()) for row in rows.x], y=y)
    same = table.groupby("features", sort=False)
    several = same["canonical"].transform("nunique") > 1
    table = table.assign(conflict=same["y"].transform("nunique") > 1)[several].drop_duplicates(
        ["features", "canonical"]
    )
    tried = table[table["conflict"]] if table["conflict"].any() else table
    told: Counter[str] = Counter()
    number = 0
    for _, group in tried.groupby("features", sort=False):
        if number >= TRIED:
            break
        molecules = Parsed(group["smiles"].tolist()[:TRIED])
        number += len(molecules)
        for name in TELLING:
            kind, *numbers = name.split(":")
            found = Counter(row.tobytes() for row in FEATURES[kind](molecules, *map(int, numbers)))
            told[name] += sum(count == 1 for count in found.values())
    telling = {name: told[name] / number for name in TELLING} if number else {}
    return Alike(len(table), int(table["conflict"].sum()), telling)


def _salts(rows: Rows, y: np.ndarray) -> Salts:
    used = rows.used
    salts = used["canonical"].str.contains(".", regex=False).to_numpy()
    if not salts.any():
        return Salts(0, 0, ())
    keys = used["canonical"].to_numpy(dtype=object, copy=True)
    keys[salts] = [Chem.MolToSmiles(parent(molecule)) for molecule in Parsed(keys[salts].tolist())]
    different = pd.Series(y).groupby(keys).transform("nunique").to_numpy() > 1
    conflicting = salts & different
    return Salts(int(salts.sum()), int(conflicting.sum()), tuple(map(int, used["line"][conflicting][:20])))


def _parts(spec: DatasetSpec, rows: Rows, split: Split, y: np.ndarray) -> dict[str, Part]:
    key = rows.used["canonical"].tolist() if spec.smiles else [digest(row) for row in rows.x]
    pool = {key[row] for row in split.train}
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
            about["in_train"] = sum(key[row] in pool for row in index)
            if spec.smiles:
                most = max(1, MOST_PAIRS // len(split.train))
                some = index if len(index) <= most else np.random.default_rng(0).permutation(index)[:most]
                near = nearest(bits(spec, rows, some), bits(spec, rows, split.train)) >= NEAR
                about["near_train"] = round(float(near.mean()) * len(index))
        parts[name] = Part(len(index), **about)
    return parts


def _overlaps(
    spec: DatasetSpec, through: Callable[[list[str]], Iterable[str]]
) -> tuple[tuple[Overlap, ...], Sequence[str]]:
    """Return the overlaps with registered datasets on this machine, and the names of those that cannot be read."""
    if not spec.smiles:
        return (), ()
    itself = spec.path, spec.name.partition("@")[0]
    others, invalid = [], []
    for name in dataset_names():
        try:
            of = as_written(name)
        except UserError:  # one that is not asked for may be half edited
            invalid.append(name)
        else:
            others += [of] if of.smiles and (of.path, of.name) != itself and of.name != spec.name else []
    table, unread = pairs([spec, *comparable(others)], through, only_first=True)
    found = (
        Overlap(row["second"], row["shared"], row["of_first"], row["of_second"], row["agreement"], row["one"])
        for row in table.sort_values("share", ascending=False).replace({np.nan: None}).to_dict("records")
    )
    return tuple(found), [*invalid, *unread]
