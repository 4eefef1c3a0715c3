"""Results as files in the repository: from them the leaderboard is made again without training anything.

A folder holds ``manifest.json`` and, for each dataset and canonical split, ``predictions/DATASET-SEED.parquet``: a row
per test example (``evalset, example_id, y_true``) and a float32 column ``DIGEST/SEED/OUTPUT`` per cell, train seed and
output. Of two classes the smaller probability is kept, with a minus if it is that of class 0: next to one, float32
has no room for what sym-KL and rankings depend on.
``tables/`` are made from these alone.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmark import __version__
from benchmark.errors import UserError
from benchmark.types import STUDY, Cell, CellKey, Predictions, Record, Task
from leaderboard import studies
from leaderboard.latex import to_latex
from leaderboard.results import Results, collect
from leaderboard.tables import build, stamp
from leaderboard.writers import to_csv, to_json

FORMAT = 1
PUBLISHED = Path(str(files("leaderboard"))) / "published" / __version__
"""The results that come with this version of the suite."""


def write(results: Results, folder: Path) -> None:
    """Write the cells of ``results`` to ``folder``, which is replaced: whole or not at all.

    Raises UserError if ``folder`` holds something else.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / "manifest.json").is_file():
        raise UserError(f"{folder} exists and holds no published results: choose another folder")
    cells = [cell for d in results.datasets for entry in d.entries for cell in entry.cells.values()]
    # A file keeps no order in time, hence one cell of a kind.
    asked = {_kind(cell.key): set(cell.key.seeds) for cell in cells}
    cells += [c for c in results.of_studies if not set(c.key.seeds) <= asked.get(_kind(c.key), set())]
    temporary, old = folder.with_name(f".{folder.name}.new"), folder.with_name(f".{folder.name}.old")
    for left in (temporary, old):
        shutil.rmtree(left, ignore_errors=True)
    (temporary / "predictions").mkdir(parents=True)
    hashes = {}
    for (dataset, seed), some in sorted(_by_split(cells).items()):
        name = f"predictions/{dataset}-{seed}.parquet"
        _table(some).to_parquet(temporary / name, index=False, compression="zstd")
        hashes[name] = hashlib.sha256((temporary / name).read_bytes()).hexdigest()
    common = dict(set.intersection(*(set(cell.about.items()) for cell in cells))) if cells else {}
    manifest = {
        "format": FORMAT,
        "suite": __version__,
        "files": hashes,
        "about": dict(sorted(common.items())),
        "cells": [_head(cell, common) for cell in sorted(cells, key=lambda cell: _order(cell.key))],
        "records": sorted((asdict(record) for record in results.records), key=lambda r: (r["study"], r["key"], str(r))),
    }
    (temporary / "manifest.json").write_text(json.dumps(manifest, indent=1, default=dict) + "\n", encoding="utf-8")
    (temporary / "tables").mkdir()
    kept = gather(temporary)
    of_studies = [studies.table(one, sheet) for one in studies.told(kept)[0] for sheet in one.report.sheets]
    for table in [*build(kept), *of_studies]:
        texts = {"csv": to_csv(table), "json": to_json(table), "tex": to_latex(table, stamp(kept, table))}
        for suffix, text in texts.items():
            (temporary / "tables" / f"{table.key}.{suffix}").write_text(text, encoding="utf-8")
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        folder.rename(old)
    temporary.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def gather(folder: Path) -> Results:
    """The results in ``folder``. Raises UserError as ``read`` does."""
    return collect(read(folder), str(folder), records=records(folder))


def records(folder: Path) -> list[Record]:
    """The records of studies in ``folder``. Raises UserError as ``read`` does."""
    return [Record(**record) for record in _manifest(folder).get("records", [])]


def read(folder: Path) -> list[Cell]:
    """The cells in ``folder``. Raises UserError for a folder that is not as ``write`` left it, naming the file."""
    manifest = _manifest(folder)
    tables = {}
    for name, expected in manifest["files"].items():
        content = (folder / name).read_bytes() if (folder / name).is_file() else b""
        found = hashlib.sha256(content).hexdigest()
        if found != expected:
            raise UserError(f"{folder / name}: sha256 {found}, expected {expected}: restore the file, or export again")
        tables[name] = pd.read_parquet(folder / name)
    return [_cell(head, tables, manifest["about"]) for head in manifest["cells"]]


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as published results: {error}") from error
    if manifest.get("format") != FORMAT:
        raise UserError(f"{path}: format {manifest.get('format')!r}, expected {FORMAT}: use the suite that wrote it")
    return dict(manifest)


def shipped() -> list[Cell]:
    """The cells that come with this version of the suite; none before they are published."""
    return read(PUBLISHED) if (PUBLISHED / "manifest.json").is_file() else []


def among(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """``cells``, then the shipped ones of their datasets, and in words which of ``cells`` are left out for these.

    One with some of the train seeds of the same kind's shipped cell, on the same data, is: a reference of three
    retrainings is a worse one than the ten that everybody else is compared with.
    """
    names = {cell.key.dataset for cell in cells}
    added = [cell for cell in shipped() if cell.key.dataset in names]
    known = {(*_kind(cell.key), cell.key.problem): cell for cell in added if STUDY not in cell.about}
    kept, said = [], []
    for cell in cells:
        other = known.get((*_kind(cell.key), cell.key.problem))
        if other is None or not set(cell.key.seeds) < set(other.key.seeds):
            kept.append(cell)
            continue
        said.append(
            f"{cell.title} on {cell.key.dataset}, split {cell.key.canonical_seed}: shown is the published one, of "
            f"train seeds {other.key.spelled_seeds}, not yours of {cell.key.spelled_seeds}. To see yours, build "
            "without the published results"
        )
    return [*kept, *added], said


def _by_split(cells: Sequence[Cell]) -> dict[tuple[str, int], list[Cell]]:
    found: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.key.dataset, cell.key.canonical_seed), []).append(cell)
    return found


def _kind(key: CellKey) -> tuple[str, int, str, str]:
    return key.dataset, key.canonical_seed, key.method, repr(sorted(key.params.items()))


def _order(key: CellKey) -> tuple[str, int, str, str]:
    return key.dataset, key.canonical_seed, key.method, key.digest


def _table(cells: Sequence[Cell]) -> pd.DataFrame:
    """All cells of one split side by side; they share their examples, or the data would differ."""
    columns: dict[str, np.ndarray] = {}
    first = cells[0].predictions
    columns["evalset"] = np.concatenate([np.full(len(p.ids), name, dtype=object) for name, p in first.items()])
    columns["example_id"] = np.concatenate([p.ids.astype(object) for p in first.values()])
    columns["y_true"] = np.concatenate([p.y for p in first.values()])
    for cell in sorted(cells, key=lambda cell: _order(cell.key)):
        for i, seed in enumerate(cell.key.seeds):
            packed = _packed(np.concatenate([p.values[i] for p in cell.predictions.values()]).astype(np.float32))
            for c in range(packed.shape[1]):
                columns[f"{cell.key.digest}/{seed}/{c}"] = packed[:, c]
    return pd.DataFrame(columns)


def _packed(values: np.ndarray) -> np.ndarray:
    """Of two outputs the smaller, negative for class 0; else all."""
    if values.shape[1] != 2:
        return values
    zero, one = values.T
    return np.where(one <= zero, one, -zero)[:, None]


def _unpacked(packed: np.ndarray, n_outputs: int) -> np.ndarray:
    if n_outputs != 2:
        return packed
    smaller = np.abs(packed)
    larger = 1 - smaller
    return np.where(np.signbit(packed), np.concatenate([smaller, larger], -1), np.concatenate([larger, smaller], -1))


def _head(cell: Cell, common: dict[str, str]) -> dict[str, Any]:
    own = {name: value for name, value in cell.about.items() if name not in common}
    n_outputs = next(iter(cell.predictions.values())).values.shape[2]
    head = {"digest": cell.key.digest, "key": asdict(cell.key), "title": cell.title, "n_outputs": n_outputs}
    return head | {"fit_seconds": cell.fit_seconds, "about": own}


def _cell(head: dict[str, Any], tables: dict[str, pd.DataFrame], common: dict[str, str]) -> Cell:
    key = CellKey(**{**head["key"], "seeds": tuple(head["key"]["seeds"])})
    table = tables[f"predictions/{key.dataset}-{key.canonical_seed}.parquet"]
    task: Task = "regression" if head["n_outputs"] == 1 else "classification"
    predictions = {}
    for evalset, rows in table.groupby("evalset", sort=False):
        n_outputs = head["n_outputs"]
        columns = range(1 if n_outputs == 2 else n_outputs)
        packed = [[rows[f"{head['digest']}/{seed}/{c}"].to_numpy() for c in columns] for seed in key.seeds]
        values = _unpacked(np.moveaxis(np.array(packed), 1, -1), n_outputs)
        ids = rows["example_id"].to_numpy(dtype=str)
        predictions[str(evalset)] = Predictions(key.seeds, ids, rows["y_true"].to_numpy(), values, task)
    return Cell(key, head["title"], predictions, head["fit_seconds"], {**common, **head["about"]})
