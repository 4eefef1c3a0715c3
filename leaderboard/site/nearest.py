"""The data of the view of one molecule: its nearest training rows, and those that its flips depend on."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from benchmark.data.checks.neighbours import similarities
from benchmark.store.cell import Record
from leaderboard.read.closest import closest
from leaderboard.read.results import Dataset
from leaderboard.read.structures import Molecules

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
    ids = dataset.cell(split).predictions[evalset].ids.tolist()
    places: defaultdict[str, int] = defaultdict(lambda: len(places))
    near: list[list[tuple[int, float]]] = []
    if molecules is not None and (found := closest(dataset, split, molecules)):
        order, values = found[evalset]
        for rows, similar in zip(molecules.ids[order].tolist(), values.tolist(), strict=True):
            near.append([(places[row], value) for row, value in zip(rows, similar, strict=True)])
    influential = []
    for about in (record.content for record in records if record.study == STUDY):
        if (about.get("dataset"), about.get("split")) != (dataset.name, split):
            continue
        named = {}
        for molecule in about["molecules"]:
            if (test := molecule["id"]) in ids:
                named[ids.index(test)] = [
                    row | {"row": places[row["row"]], "similarity": _similarity(molecules, test, row["row"])}
                    for row in molecule["named"]
                ]
        influential.append({"method": about["method"], "halvings": about["halvings"], "of": named})
    return {"rows": [_row(dataset, molecules, i) for i in places], "near": near, "influential": influential}


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
