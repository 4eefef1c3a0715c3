"""Published results as files, from which the leaderboard is rebuilt without training.

A folder holds ``manifest.json`` and, for each dataset and canonical split, ``predictions/DATASET-SEED.parquet``, or
``predictions/SAMPLING/DATASET-SEED.parquet`` under another sampling than the paper's. It has a row per test example
(``evalset, example_id, y_true``) and a float32 column ``CELL/SEED/OUTPUT`` per cell (``column_of``), train seed and
output. Of two classes, the smaller probability is stored, with a minus sign if it is that of class 0: close to one,
float32 lacks the digits that sym-KL and rankings depend on. ``leaderboard.write.published`` writes such folders.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmark import __version__
from benchmark.errors import UserError
from benchmark.store.cell import Cell, CellKey, Record, decode, decode_key
from benchmark.types import PAPER, Predictions, Task
from leaderboard.read.results import Results, collect

FORMAT = 2
PUBLISHED = Path(str(files("leaderboard"))) / "published" / __version__
"""Folder of the results shipped with this version of the suite."""


def gather(folder: Path) -> Results:
    """Return the results in ``folder``. Raises UserError as ``read`` does."""
    return collect(read(folder), str(folder), records=records(folder))


def records(folder: Path) -> list[Record]:
    """Return the records of studies in ``folder``. Raises UserError as ``read`` does."""
    return [Record(**record) for record in _manifest(folder).get("records", [])]


def read(folder: Path) -> list[Cell]:
    """Return the cells in ``folder``. Raises UserError, naming the file, if one was changed after it was written."""
    manifest = _manifest(folder)
    tables = {}
    for name, expected in manifest["files"].items():
        content = (folder / name).read_bytes() if (folder / name).is_file() else b""
        digest = hashlib.sha256(content).hexdigest()
        if digest != expected:
            raise UserError(f"{folder / name}: sha256 {digest}, expected {expected}: restore the file, or export again")
        tables[name] = pd.read_parquet(folder / name)
    cells = []
    for head in manifest["cells"]:
        try:
            cells.append(_cell(head, tables))
        except (KeyError, TypeError, ValueError) as error:
            title = head.get("title", "a cell") if isinstance(head, Mapping) else "a cell"
            message = f"{folder / 'manifest.json'}: {title}: {error}: restore the file, or export again"
            raise UserError(message) from error
    return cells


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as published results: {error}") from error
    if manifest.get("format") != FORMAT:
        raise UserError(f"{path}: format {manifest.get('format')!r}, expected {FORMAT}: use the version that wrote it")
    return dict(manifest)


def file_of(key: CellKey) -> str:
    """Return the path of the file that holds the predictions of a cell."""
    folder = "predictions" if key.sampling == PAPER else f"predictions/{key.sampling}"
    return f"{folder}/{key.dataset}-{key.canonical_seed}.parquet"


def column_of(key: CellKey) -> str:
    """Return the name of a cell among those of its file: a new version of the code alone leaves the file as it is."""
    parts = [key.method, key.params, key.seeds, key.device]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def shipped() -> list[Cell]:
    """Return the cells shipped with this version of the suite; none before they are published."""
    return read(PUBLISHED) if (PUBLISHED / "manifest.json").is_file() else []


def among(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """Return ``cells`` followed by the shipped cells of their datasets, and a message for each cell left out.

    A cell is left out if the shipped cell of the same kind and data has all of its train seeds and more: a reference of
    three retrainings is worse than the ten that everyone else is compared with.
    """
    names = {cell.key.dataset for cell in cells}
    added = [cell for cell in shipped() if cell.key.dataset in names]
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


def _cell(head: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Cell:
    key = decode_key(head["key"])
    column = column_of(key)
    table = tables[file_of(key)]
    task: Task = "regression" if head["n_outputs"] == 1 else "classification"
    n_outputs, predictions = head["n_outputs"], {}
    for evalset, rows in table.groupby("evalset", sort=False):
        columns = range(1 if n_outputs == 2 else n_outputs)
        packed = [[rows[f"{column}/{seed}/{c}"].to_numpy() for c in columns] for seed in key.seeds]
        values = _unpacked(np.moveaxis(np.array(packed), 1, -1), n_outputs)
        ids = rows["example_id"].to_numpy(dtype=str)
        predictions[str(evalset)] = Predictions(key.seeds, ids, rows["y_true"].to_numpy(), values, task)
    return decode(head, predictions)
