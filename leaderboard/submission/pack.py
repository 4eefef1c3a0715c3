"""A submission from runs that the suite recorded itself: a method whose code is in ``methods/``."""

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

    Datasets count on which it has all the seeds that are asked for. ``submission.yml`` is begun, for the author to
    finish. Raises UserError for an unknown method, for one of the suite's own (see ``published``), for one without such
    a dataset, and if the folder exists.
    """
    if not re.fullmatch(NAME, version):
        raise UserError(f"version {version!r}: expected lower-case letters, digits, '.', '_' and '-', as in 1.0")
    entries = results.called(name)
    ready = {dataset: cells for dataset, entry in entries.items() if (cells := _whole(entry))}
    if not ready:
        raise UserError(
            f"{name!r} has no dataset with canonical seed {', '.join(map(str, CANONICAL_SEEDS))} and train seeds "
            f"{TRAIN_SEEDS[0]} to {TRAIN_SEEDS[-1]}, but {', '.join(entries)}: run it there with --seeds 10"
        )
    first = next(iter(ready.values()))[0]
    if first.key.method in suite_methods(published):
        raise UserError(f"{name!r} is the suite's own {first.key.method!r}: pack a method of yours, methods/NAME.py")
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
    begun = {
        "name": first.title,
        "authors": [],
        "version": version,
        "description": "",
        "licence": "CC-BY-4.0",
        "compute": f"{seconds:.2g} s for each retraining on average, on {first.facts.device}",
        "training_data": "none",
    }
    text = yaml.safe_dump(begun, sort_keys=False, allow_unicode=True, width=120)
    (folder / "submission.yml").write_text(text, encoding="utf-8")
    manifest.write(folder, fingerprints)
    return folder


def _whole(entry: Entry) -> list[Cell]:
    """The cells of an entry that have all train seeds; none if one of the canonical seeds is not among them."""
    found = {seed: cell for seed, cell in entry.cells.items() if set(TRAIN_SEEDS) <= set(cell.key.seeds)}
    return list(found.values()) if set(CANONICAL_SEEDS) <= set(found) else []


def _table(cell: Cell) -> pd.DataFrame:
    parts = {evalset: to_table(p).drop(columns="y_true") for evalset, p in cell.predictions.items()}
    table = pd.concat(parts, names=["evalset"]).reset_index("evalset")
    table.insert(0, "canonical_seed", cell.key.canonical_seed)
    return table[table["train_seed"].isin(TRAIN_SEEDS)]
