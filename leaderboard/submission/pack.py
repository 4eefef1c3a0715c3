"""Packing of recorded runs as a submission, for a method with code in ``methods/``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.run.protocol import CANONICAL_SEEDS, TRAIN_SEEDS, bootstrap_fingerprint
from benchmark.store.cell import Cell
from benchmark.store.tables import to_table
from leaderboard.read.results import Entry, Results
from leaderboard.submission import manifest
from leaderboard.submission.check import suite_methods
from leaderboard.submission.spec import NAME


def pack(results: Results, name: str, version: str, submissions: Path, published: Iterable[Cell] = ()) -> Path:
    """Write the results of the method ``name`` to ``submissions``/METHOD/``version`` and return that folder.

    Only datasets with all required seeds are packed. The author completes ``submission.yml``. Raises UserError for an
    unknown method, for a method of the suite (see ``published``), for one without such a dataset, and if the folder
    exists.
    """
    if not re.fullmatch(NAME, version):
        raise UserError(f"version {version!r}: expected lower-case letters, digits, '.', '_' and '-', e.g. 1.0")
    entries = results.called(name)
    ready = {dataset: cells for dataset, entry in entries.items() if (cells := _complete(entry))}
    if not ready:
        raise UserError(
            f"{name!r} has no dataset with canonical seed {', '.join(map(str, CANONICAL_SEEDS))} and train seeds "
            f"{TRAIN_SEEDS[0]} to {TRAIN_SEEDS[-1]}; it has results on {', '.join(entries)}: run these with --seeds 10"
        )
    first = next(iter(ready.values()))[0]
    if first.key.method in suite_methods(published):
        raise UserError(f"{name!r} is the suite's method {first.key.method!r}: pack a method of your own")
    folder = submissions / first.key.method / version
    if folder.exists():
        raise UserError(f"{folder} exists: remove it, or choose another --version")
    (folder / "predictions").mkdir(parents=True)
    fingerprints = {}
    for dataset, cells in ready.items():
        table = pd.concat([_table(cell) for cell in cells])
        table.to_parquet(folder / "predictions" / f"{dataset}.parquet", index=False, compression="zstd")
        fingerprints[dataset] = {
            str(cell.key.canonical_seed): {
                "problem": cell.key.problem,
                "bootstraps": bootstrap_fingerprint(load_problem(dataset, cell.key.canonical_seed), TRAIN_SEEDS),
            }
            for cell in cells
        }
    seconds = np.mean([cell.fit_seconds for cells in ready.values() for cell in cells])
    description = {
        "name": first.title,
        "authors": [],
        "version": version,
        "description": "",
        "licence": "CC-BY-4.0",
        "compute": f"{seconds:.2g} s per retraining on average, on {first.facts.device}",
        "training_data": "none",
    }
    text = yaml.safe_dump(description, sort_keys=False, allow_unicode=True, width=120)
    (folder / "submission.yml").write_text(text, encoding="utf-8")
    manifest.write(folder, fingerprints)
    return folder


def _complete(entry: Entry) -> list[Cell]:
    """Return the cells of an entry with all train seeds; none if a canonical seed is missing."""
    cells = {seed: cell for seed, cell in entry.cells.items() if set(TRAIN_SEEDS) <= set(cell.key.seeds)}
    return list(cells.values()) if set(CANONICAL_SEEDS) <= set(cells) else []


def _table(cell: Cell) -> pd.DataFrame:
    parts = {evalset: to_table(p).drop(columns="y_true") for evalset, p in cell.predictions.items()}
    table = pd.concat(parts, names=["evalset"]).reset_index("evalset")
    table.insert(0, "canonical_seed", cell.key.canonical_seed)
    return table[table["train_seed"].isin(TRAIN_SEEDS)]
