"""Published results as files, from which the leaderboard is rebuilt without training.

A folder holds ``manifest.json``, in which cells name the facts that they share, and for each dataset and canonical
split ``predictions/DATASET-SEED.parquet``, or ``predictions/SAMPLING/DATASET-SEED.parquet`` under another sampling than
the paper's. It has a row per test example: ``evalset, example_id, y_true``, and ``outputs``, a vector of float32 with
the outputs of all cells, one cell after another, and of a cell's train seeds. The metadata ``widths`` names the cells
(``column_of``) with the lengths of their parts; in files of format 3, each is a column of its own, which takes a
fifteenth more. Of two classes, the smaller probability is stored, with a minus sign if it is that of class 0: close to
one, float32 lacks the digits that sym-KL and rankings depend on. ``leaderboard.write.published`` writes such folders,
with numbers rounded to what statistics need (``packed_outputs`` there).
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from benchmark.errors import UserError
from benchmark.files import published_results
from benchmark.store.cell import Cell, CellKey, Record, decode, decode_key, decode_record
from benchmark.store.tables import read_table
from benchmark.types import PAPER, REFERENCE, Predictions, Task
from leaderboard.read.results import LEADING, Results, collect

FORMATS = (3, 4)
"""Those that can be read; the last is written, whose cells share facts."""
EXAMPLE = ("evalset", "example_id", "y_true")
"""The columns that describe an example."""
WIDTHS = b"widths"
"""The metadata of a file with the cells in a row, by name, and how many numbers each has there."""
MALFORMED = (AttributeError, LookupError, TypeError, ValueError)
"""What a cell raises that is not as it was written."""
PUBLISHED = published_results()
"""Folder of the results shipped with this version of the suite."""


class Manifest(BaseModel):
    """``manifest.json``; each of its cells and records is checked when it is read."""

    files: dict[str, Any]
    shared: dict[str, dict[str, Any]] = {}
    """Facts that many cells have, by the name in them."""
    cells: list[Any]
    records: list[Any] = []


class Contents(NamedTuple):
    """The content of a folder, with a line for each cell and record that cannot be read."""

    cells: list[Cell]
    records: list[Record]
    unreadable: list[str]


def gather(folder: Path) -> Results:
    """Return the results in ``folder``. Raises UserError if it holds none."""
    cells, records, unreadable = contents(folder)
    source = f"the published results {folder.name}" if folder == PUBLISHED else str(folder)
    return collect(cells, source, unreadable, records)


def read(folder: Path, leading: bool = False, datasets: Collection[str] = (), reference: bool = False) -> list[Cell]:
    """Return the cells in ``folder``, or some of them: see ``contents``.

    Raises UserError, naming the first cell or file that cannot be read.
    """
    cells, _, unreadable = contents(folder, leading, datasets, reference)
    if unreadable:
        raise UserError(unreadable[0])
    return cells


def contents(folder: Path, leading: bool = False, datasets: Collection[str] = (), reference: bool = False) -> Contents:
    """Return what can be read in ``folder``. Raises UserError if it holds no results.

    ``leading`` restricts it to the cells that ``Results.leading`` keeps, without variants, ``datasets`` to those of
    datasets with these names, and ``reference`` to those of ERM; a cell whose key is damaged may be any of them.
    """
    path, remedy = folder / "manifest.json", "restore the file, or export again"
    manifest = _manifest(path)
    readable = Contents([], [], [])
    heads: list[_Head] = []
    left_out: dict[str, list[str]] = {}

    def leave_out(number: int, head: Any, error: Exception) -> None:
        title = head.get("title") if isinstance(head, dict) else None
        name = f"cell {number}" + (f" ({' '.join(title.split())[:80]})" if isinstance(title, str) else "")
        left_out.setdefault(str(error) if isinstance(error, ValueError) else repr(error), []).append(name)

    @cache
    def tests(name: str) -> dict[str, _Test]:
        if name not in manifest.files:
            raise ValueError(f"the manifest lists no file {name}")
        return _tests(folder, name, manifest.files[name])

    for number, head in enumerate(manifest.cells, 1):
        try:
            heads.append(_head(number, head, manifest.shared))
        except MALFORMED as error:
            key = head["key"] if isinstance(head, dict) and isinstance(head.get("key"), dict) else {}
            others = bool(datasets) and isinstance(of := key.get("dataset"), str) and of not in datasets
            if not (others or (reference and key.get("method", REFERENCE) != REFERENCE)):
                leave_out(number, head, error)
    own = [head for head in heads if not (head.variant or head.study)]
    first = {head.key.dataset: head.rank for head in sorted(own, key=lambda head: -head.rank)}
    for head in heads:
        if leading and (head.variant or head.rank != first.get(head.key.dataset)):
            continue
        if (reference and head.key.pipeline != REFERENCE) or (datasets and head.key.dataset not in datasets):
            continue
        try:
            readable.cells.append(_cell(head, tests))
        except MALFORMED as error:
            leave_out(head.number, head.content, error)
    for reason, names in left_out.items():  # a damaged file has many cells
        readable.unreadable.append(f"{path}: {', '.join(names)} cannot be read: {reason}: {remedy}")
    for number, content in enumerate(manifest.records, 1):
        try:
            readable.records.append(decode_record(content))
        except ValueError as error:
            readable.unreadable.append(f"{path}: record {number} cannot be read: {error}: {remedy}")
    return readable


def _manifest(path: Path) -> Manifest:
    try:
        content = from_json(path.read_bytes())
        if isinstance(content, dict) and (version := content.get("format")) not in FORMATS:
            raise UserError(
                f"{path}: format {str(version)[:80]!r}, expected {' or '.join(map(str, FORMATS))}: use the version "
                "that wrote it"
            )
        return Manifest.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        reason = f"{'.'.join(map(str, first['loc']))[:80]}: {first['msg']}, found {str(first.get('input'))[:80]!r}"
        raise UserError(f"{path}: cannot be read as published results: {reason}") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as published results: {error}") from error


class _Head(NamedTuple):
    """The ``number``-th cell of a manifest without its predictions; ``content`` has the shared facts, too."""

    number: int
    key: CellKey
    variant: bool
    study: bool
    content: dict[str, Any]

    @property
    def rank(self) -> int:
        return LEADING.index(self.key.sampling)


def _head(number: int, content: Any, shared: Mapping[str, Any]) -> _Head:
    """Return a cell as a manifest has it. Raises ``MALFORMED``."""
    if not isinstance(content, dict):
        raise ValueError(f"expected key, title, fit_seconds, facts and n_outputs, found {str(content)[:80]!r}")
    if missing := {"key", "title", "fit_seconds", "facts", "n_outputs"} - content.keys():
        raise ValueError(f"{sorted(missing)[0]} is missing")
    facts = content["facts"]
    if not isinstance(facts, dict):
        raise ValueError(f"facts: expected a table, found {str(facts)[:80]!r}")
    if "shared" in content:
        if (name := str(content["shared"])) not in shared:
            raise ValueError(f"the manifest has no shared facts {name[:80]!r}")
        facts = shared[name] | facts
    variant = isinstance(of := facts.get("dataset"), dict) and of.get("group") == "variant"
    return _Head(number, decode_key(content["key"]), variant, bool(facts.get("study")), content | {"facts": facts})


class _Test(NamedTuple):
    """The rows of one test set in a file: ids and labels (T,), and outputs (T, S · C) of each cell by its column."""

    ids: np.ndarray
    y: np.ndarray
    outputs: dict[str, np.ndarray]


def _tests(folder: Path, name: str, expected: object) -> dict[str, _Test]:
    """Return the test sets in a file of ``folder`` whose sha256 is ``expected``, by name. Raises ValueError."""
    path = folder / name
    content = path.read_bytes() if path.is_file() else b""
    if (digest := hashlib.sha256(content).hexdigest()) != expected:
        actual = f"sha256 {digest}" if path.is_file() else "no such file"
        raise ValueError(f"{path}: {actual}, expected sha256 {str(expected)[:80]}")
    table = read_table(content, ("evalset", "example_id"))
    if missing := {*EXAMPLE} - {*table.column_names}:
        raise ValueError(f"{path}: it has no column {sorted(missing)[0]!r}")
    outputs = {name: _matrix(table, name) for name in table.column_names if name not in EXAMPLE}
    if widths := json.loads((table.schema.metadata or {}).get(WIDTHS, b"{}")):
        parts = np.split(outputs["outputs"], np.cumsum([*widths.values()])[:-1], axis=1)
        outputs = dict(zip(widths, parts, strict=True))
    tests, ids, y = (table[name].to_numpy() for name in EXAMPLE)
    return {
        str(test): _Test(
            ids[tests == test].astype(str), y[tests == test], {k: v[tests == test] for k, v in outputs.items()}
        )
        for test in dict.fromkeys(tests.tolist())
    }


def _matrix(table: pa.Table, name: str) -> np.ndarray:
    """Return a column of vectors as (T, N). Raises ValueError if it holds something else."""
    column = table[name].combine_chunks()
    if not pa.types.is_fixed_size_list(column.type) or column.null_count or column.flatten().null_count:
        raise ValueError(f"column {name[:80]!r}: expected vectors of numbers, all of them present")
    numbers = column.flatten().to_numpy().astype(np.float32, copy=False)
    return numbers.reshape(len(column), column.type.list_size)


def file_of(key: CellKey) -> str:
    """Return the path of the file that holds the predictions of a cell."""
    folder = "predictions" if key.sampling == PAPER else f"predictions/{key.sampling}"
    return f"{folder}/{key.dataset}-{key.canonical_seed}.parquet"


def column_of(key: CellKey) -> str:
    """Return the name of a cell among those of its file: a new version of the code alone leaves the file as it is."""
    parts = [key.method, key.params, key.seeds, key.device, *filter(None, (key.learner, key.features, key.tuning))]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def shipped(leading: bool = False, datasets: Collection[str] = (), reference: bool = False) -> list[Cell]:
    """Return the cells shipped with this version of the suite (see ``read``); none before they are published."""
    return read(PUBLISHED, leading, datasets, reference) if (PUBLISHED / "manifest.json").is_file() else []


@cache
def listed_methods() -> frozenset[tuple[str, str]]:
    """Return the published methods with their hyperparameters, as in ``CellKey.kind``; none if none are shipped."""
    path = PUBLISHED / "manifest.json"
    keys = [head["key"] for head in _manifest(path).cells] if path.is_file() else []
    elsewhere = {"dataset": "", "canonical_seed": 0, "problem": ""}  # one key is decoded for those that differ in these
    alike = {json.dumps({**key, **elsewhere}): key for key in keys}
    return frozenset(decode_key(key).kind[2:4] for key in alike.values())


def among(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """Return ``cells`` followed by the shipped cells of their datasets, and a message for each cell left out.

    A cell is left out if the shipped cell of the same kind and data has all of its train seeds and more: a reference of
    three retrainings is worse than the ten that everyone else is compared with.
    """
    names = {cell.key.dataset for cell in cells}
    added = shipped(datasets=names) if names else []
    references = {(cell.key.kind, cell.key.problem): cell for cell in added if not cell.facts.study}
    kept, messages = [], []
    for cell in cells:
        other = references.get((cell.key.kind, cell.key.problem))
        if other is None or not set(cell.key.seeds) < set(other.key.seeds):
            kept.append(cell)
            continue
        messages.append(
            f"{cell.title} on {cell.key.dataset}, split {cell.key.canonical_seed}: the published result, with train "
            f"seeds {other.key.spelled_seeds}, is shown instead of yours, with {cell.key.spelled_seeds}. To see yours, "
            "build without the published results"
        )
    return [*kept, *added], messages


def _unpacked(packed: np.ndarray, n_outputs: int) -> np.ndarray:
    if n_outputs != 2:
        return packed
    smaller = np.abs(packed)
    larger = 1 - smaller
    return np.where(np.signbit(packed), np.concatenate([smaller, larger], -1), np.concatenate([larger, smaller], -1))


def _cell(head: _Head, read: Callable[[str], dict[str, _Test]]) -> Cell:
    """Return a cell with its predictions; ``read`` returns the test sets in a file. Raises ``MALFORMED``."""
    key, n_outputs = head.key, head.content["n_outputs"]
    column, tests = column_of(key), read(file_of(key))
    task: Task = "regression" if n_outputs == 1 else "classification"
    stored = 1 if n_outputs == 2 else n_outputs
    predictions = {}
    for evalset, test in tests.items():
        if column not in test.outputs:
            raise ValueError(f"{file_of(key)} has no column {column!r}")
        packed = test.outputs[column].reshape(len(test.ids), len(key.seeds), stored)
        values = _unpacked(np.ascontiguousarray(packed.swapaxes(0, 1)), n_outputs)
        predictions[evalset] = Predictions(key.seeds, test.ids, test.y, values, task)
    return decode(head.content, predictions)
