"""Packing of recorded runs as a submission, for a method with code in ``methods/``."""

import re
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from benchmark.data.problem import load_problem
from benchmark.errors import UserError, did_you_mean
from benchmark.files import save
from benchmark.registry import find, make_method
from benchmark.run.code import code_of
from benchmark.run.isolation import method_file
from benchmark.run.protocol import CANONICAL_SEEDS, SUBMITTED, TRAIN_SEEDS, protocol_fingerprint
from benchmark.store.cell import Cell
from benchmark.store.staging import replacing
from benchmark.store.tables import to_table
from benchmark.types import REFERENCE, Sampling
from leaderboard.read.results import Entry, Results
from leaderboard.submission.read import file_of
from leaderboard.submission.spec import NAME


def pack(
    results: Results, name: str, version: str, submissions: Path, published: Collection[str] = ()
) -> tuple[Path, list[str]]:
    """Write the results of the method ``name`` to ``submissions``/METHOD/``version``.

    Only datasets with all required seeds are packed, with their results under every sampling of ``SUBMITTED``, and no
    variants; if there are results under halves, only datasets that have them. Return that folder, whose
    ``submission.yml`` the author completes, and a line for each dataset and sampling that was left out. Raises
    UserError for an unknown method, for one of the suite (``published`` are its names), for one without such a dataset,
    with another learner or other features than the dataset's or hyperparameters that are not its file's defaults, and
    if the folder exists.
    """
    if not re.fullmatch(NAME, version):
        raise UserError(f"version {version!r}: expected lower-case letters, digits, '.', '_' and '-', e.g. 1.0")
    entries = _called(results, name)
    whole = {key: _complete(entry, key[0]) for key, entry in entries.items()}
    halved = {key[1] for key, cells in whole.items() if cells and key[0] == "halves" and "@" not in key[1]}
    lacking = {key: _lacking(*key, bool(cells), halved) for key, cells in whole.items()}
    ready = {key: cells for key, cells in whole.items() if not lacking[key]}
    if not ready:
        given = ", ".join(f"{dataset} under {sampling}" for sampling, dataset in entries)
        raise UserError(
            f"{name!r} has no dataset with canonical seed {', '.join(map(str, CANONICAL_SEEDS))} and train seeds 1 to "
            f"20 under halves, or 1 to 10 under nested or paper; it has results on {given}: run these with "
            "--sampling halves, and not on a variant (NAME@…)"
        )
    every = [cell for cells in ready.values() for cell in cells]
    method, first = every[0].key.method, every[0]
    if other := next((cell.key for cell in every if cell.key.pipeline != method), None):
        raise UserError(
            f"{name!r} has another learner or other features than the dataset {other.dataset}, or tuned "
            "hyperparameters, which a submission does not name: register a method that trains this learner, or a "
            "learner that reads these features, and submit it"
        )
    if method in {REFERENCE, *published}:
        raise UserError(f"{name!r} is the suite's method {method!r}: pack a method of your own")
    _refuse_other_code(every)
    set_apart = sorted({entries[key].spelled for key in ready} - {method})
    if set_apart and method_file(method):
        raise UserError(
            f"{name!r} ran as {' and '.join(set_apart)}, but a submission is of {method!r} with the defaults of its "
            "file, which --verify trains: change the defaults there, or run it without hyperparameters"
        )
    folder = submissions / method / version
    if folder.exists():
        raise UserError(f"{folder} exists: submit it, remove it, or choose another version")
    protocols = {}
    for (sampling, dataset), cells in ready.items():
        problems = [load_problem(dataset, cell.key.canonical_seed) for cell in cells]
        protocols[f"{sampling}/{dataset}"] = protocol_fingerprint(problems, sampling, TRAIN_SEEDS[sampling])
    seconds = np.mean([cell.fit_seconds for cell in every])
    files = dict(find(method)[0].files) if method_file(method) else {}
    description = {
        "name": first.title,
        "authors": [],
        "version": version,
        "description": "",
        "licence": "CC-BY-4.0",
        "compute": f"{seconds:.2g} s per retraining on average, on {first.facts.device}",
        "training_data": f"see files: {', '.join(files)}" if files else "none",
        "files": files,
        "protocols": protocols,
    }
    text = yaml.safe_dump(description, sort_keys=False, allow_unicode=True, width=120)
    with replacing(folder) as new:
        for (sampling, dataset), cells in ready.items():
            path = new / file_of(sampling, dataset)
            path.parent.mkdir(parents=True, exist_ok=True)
            save(path, pd.concat([_table(cell) for cell in cells]).to_parquet(index=False, compression="zstd"))
        save(new / "submission.yml", text.encode())
    return folder, [f"{dataset} under {sampling}: {why}" for (sampling, dataset), why in lacking.items() if why]


def _refuse_other_code(cells: list[Cell]) -> None:
    """Raise UserError if cells come from several versions of the method's file, or from another than the present."""
    key, task = cells[0].key, cells[0].predictions["id"].task
    codes = {cell.key.code for cell in cells}
    now = {code_of(make_method(key.method, task))} if method_file(key.method) else set()
    trained, present = (
        {part for code in of for part in code.split() if part.startswith(f"{key.method}@")} for of in (codes, now)
    )
    if len(trained | present) > 1:
        now_is = f", but its file and those that it reads are now {' '.join(present)}" if present else ""
        raise UserError(
            f"{key.method!r} was trained with {' and '.join(sorted(trained))}{now_is}: run it again, so that all "
            "results and the code belong together"
        )


def _called(results: Results, name: str) -> dict[tuple[Sampling, str], Entry]:
    """Return the entries called ``name`` by sampling and dataset. Raises UserError as ``Results.called`` does."""
    listed = [(part, [entry for dataset in part.datasets for entry in dataset.entries]) for part in results.by_sampling]
    parts = [part for part, entries in listed if any(name in (e.title, e.slug, e.method) for e in entries)]
    if not parts:
        raise did_you_mean("method", name, sorted({entry.method for _, entries in listed for entry in entries}))
    return {(part.sampling, dataset): entry for part in parts for dataset, entry in part.called(name).items()}


def _complete(entry: Entry, sampling: Sampling) -> list[Cell]:
    """Return the cells of an entry with all train seeds; none if a canonical seed is missing."""
    cells = {seed: cell for seed, cell in entry.cells.items() if set(TRAIN_SEEDS[sampling]) <= set(cell.key.seeds)}
    return list(cells.values()) if set(CANONICAL_SEEDS) <= set(cells) else []


def _lacking(sampling: Sampling, dataset: str, complete: bool, halved: Collection[str]) -> str:
    """Return why results are left out, if those under halves are complete on the datasets ``halved``; or nothing."""
    if "@" in dataset:
        return "a submission has no variants"
    if sampling not in SUBMITTED:
        return f"a submission has no results under {sampling}"
    if not complete:
        return f"it needs canonical seed {CANONICAL_SEEDS[0]} with train seeds 1 to {TRAIN_SEEDS[sampling][-1]}"
    return "it has no such results under halves, as other datasets do" if halved and dataset not in halved else ""


def _table(cell: Cell) -> pd.DataFrame:
    parts = {evalset: to_table(p).drop(columns="y_true") for evalset, p in cell.predictions.items()}
    table = pd.concat(parts, names=["evalset"]).reset_index("evalset")
    table.insert(0, "canonical_seed", cell.key.canonical_seed)
    return table[table["train_seed"].isin(TRAIN_SEEDS[cell.key.sampling])]
