"""The data of the view of one molecule: its nearest training rows, and those that its flips depend on."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmark.data.checks.neighbours import similarities
from benchmark.files import named, program
from benchmark.store.cell import Record
from leaderboard.read.jobs import Job, made
from leaderboard.read.results import Dataset
from leaderboard.read.structures import Molecules

NEAREST = 5
"""Nearest training rows that are shown of a test molecule."""
STUDY = "flip-rows"
"""The study whose records name rows."""


def content(
    dataset: Dataset, evalset: str, split: int, molecules: Molecules | None, records: Sequence[Record]
) -> dict[str, Any]:
    """Return what the view shows of the test examples, by their positions.

    ``near`` are the nearest rows of each example as [row, similarity]; there are none without structures, or if the
    training rows are unknown. ``influential`` has the finding of each study of this split: its method, its number of
    halvings, and for examples that flip the rows named, as in its record, with their similarity. ``rows`` are the
    training rows that the others refer to by position: [id, SMILES, label], or [id] without structures.
    """
    cell = next(entry.cells[split] for entry in dataset.entries if split in entry.cells)
    ids = cell.predictions[evalset].ids.tolist()
    places: dict[str, int] = {}

    def place(identity: str) -> int:
        return places.setdefault(identity, len(places))

    near: list[list[tuple[int, float]]] = []
    if molecules is not None and len(pool := molecules.pool(dataset, split)):
        (found,) = made(_jobs(dataset, split, molecules))
        order, values = (np.array(part[evalset]) for part in json.loads(found))
        for rows, similar in zip(molecules.ids[pool][order].tolist(), values.tolist(), strict=True):
            near.append([(place(row), value) for row, value in zip(rows, similar, strict=True)])
    influential = []
    for about in (record.content for record in records if record.study == STUDY):
        if (about.get("dataset"), about.get("split")) != (dataset.name, split):
            continue
        named = {}
        for molecule in about["molecules"]:
            if (test := molecule["id"]) in ids:
                alike = [_similarity(molecules, test, row["row"]) for row in molecule["named"]]
                named_rows = zip(molecule["named"], alike, strict=True)
                named[ids.index(test)] = [row | {"row": place(row["row"]), "similarity": s} for row, s in named_rows]
        influential.append({"method": about["method"], "halvings": about["halvings"], "of": named})
    return {"rows": [_row(dataset, molecules, i) for i in places], "near": near, "influential": influential}


def search(datasets: Iterable[tuple[Dataset, Molecules | None]]) -> Iterator[bytes]:
    """Search the nearest rows of all test molecules at once, for ``content`` to find in the cache when all are done."""
    known = ((dataset, molecules) for dataset, molecules in datasets if molecules is not None)
    return made(
        job for dataset, molecules in known for split in dataset.splits for job in _jobs(dataset, split, molecules)
    )


def _jobs(dataset: Dataset, split: int, molecules: Molecules) -> Iterator[Job]:
    """Yield the search for the test molecules of a split, if its training rows are known."""
    from rdkit import rdBase  # what reads results starts without it

    if not len(pool := molecules.pool(dataset, split)):
        return
    cell = next(entry.cells[split] for entry in dataset.entries if split in entry.cells)
    tests = {name: [molecules.rows[i] for i in p.ids.tolist()] for name, p in cell.predictions.items()}
    given = molecules.smiles[pool].tolist(), {name: molecules.smiles[rows].tolist() for name, rows in tests.items()}
    yield Job(
        named("nearest", [rdBase.rdkitVersion, program("benchmark.data"), NEAREST, given], ".json"), _nearest, given
    )


def _nearest(rows: Sequence[str], tests: Mapping[str, Sequence[str]]) -> bytes:
    """Return for each test set the positions (T, K) of the ``NEAREST`` of the SMILES ``rows`` to each of its molecules,
    the most similar first, and their similarities (T, K)."""
    from benchmark.data.checks.nearest import first  # RDKit

    every = similarities([smiles for part in tests.values() for smiles in part], rows)
    parts = dict(zip(tests, np.split(every, np.cumsum([len(part) for part in tests.values()])[:-1]), strict=True))
    order = {name: first(part, NEAREST) for name, part in parts.items()}
    values = {name: np.take_along_axis(part, order[name], axis=1).round(2).tolist() for name, part in parts.items()}
    return json.dumps([{name: part.tolist() for name, part in order.items()}, values]).encode()


def _similarity(molecules: Molecules | None, test: str, row: str) -> float | None:
    if molecules is None or not {test, row} <= molecules.rows.keys():
        return None
    first, second = (molecules.smiles[molecules.rows[i]] for i in (test, row))
    return round(float(similarities([first], [second])[0, 0]), 2)


def _row(dataset: Dataset, molecules: Molecules | None, identity: str) -> list[Any]:
    if molecules is None or identity not in molecules.rows:
        return [identity]
    at = molecules.rows[identity]
    label = float(f"{molecules.y[at]:.4g}")
    return [identity, str(molecules.smiles[at]), label if dataset.task == "regression" else int(label)]
