"""Boards of all datasets, computed by worker processes and kept in the cache: a new cell changes those of its dataset.

Boards are the larger part of a build. Each depends on nothing but the cells of one dataset.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from benchmark.files import named
from benchmark.source import fingerprint
from leaderboard.read.jobs import Job, digest, made
from leaderboard.read.results import Dataset, Results
from leaderboard.stats.intervals import Estimate, IntervalKind
from leaderboard.tables.boards import Board, BoardRow, board, keep_board
from leaderboard.tables.columns import columns_of

Kinds = Sequence[IntervalKind]


def prepare(results: Results, kind: IntervalKind) -> None:
    """Provide all boards with intervals of ``kind``, and those that decisions go by with intervals over both."""
    of_kind = {id(dataset): (dataset, {kind: None}) for part in results.every for dataset in part.datasets}
    for dataset in (dataset for part in (results.front, *results.leading()) for dataset in part.datasets):
        of_kind[id(dataset)][1]["both"] = None
    wanted = [(dataset, tuple(kinds)) for dataset, kinds in of_kind.values()]
    jobs = [Job(_name(dataset, kinds), _boards, (_bare(dataset), kinds)) for dataset, kinds in wanted]
    for (dataset, _), content in zip(wanted, made(jobs), strict=True):
        for one in json.loads(content):
            keep_board(dataset, _decode(dataset, one))


def _name(dataset: Dataset, kinds: Kinds) -> str:
    cells = [[e.title, e.method, [[s, digest(cell)] for s, cell in e.cells.items()]] for e in dataset.entries]
    return named("boards", [fingerprint(_boards), kinds, dataset.name, dataset.notes, cells], ".json")


def _bare(dataset: Dataset) -> Dataset:
    """Return the dataset without what has been computed from it, to send it to another process."""
    entries = [replace(e, cells={s: replace(cell, reports={}) for s, cell in e.cells.items()}) for e in dataset.entries]
    return replace(dataset, entries=tuple(entries), groups={})


def _boards(dataset: Dataset, kinds: Kinds) -> bytes:
    found = [board(dataset, evalset, kind) for kind in kinds for evalset in dataset.evalsets]
    rows = [{"evalset": b.evalset, "kind": b.kind, "notes": b.notes, "rows": list(map(asdict, b.rows))} for b in found]
    return json.dumps(rows).encode()


def _decode(dataset: Dataset, content: dict[str, Any]) -> Board:
    columns = columns_of(dataset.task, dataset.sampling)
    rows = tuple(map(_row, content["rows"]))
    notes, evalset, kind = tuple(content["notes"]), content["evalset"], content["kind"]
    return Board(dataset.name, dataset.title, evalset, columns, rows, notes, kind, dataset.sampling)


def _row(fields: dict[str, Any]) -> BoardRow:
    estimates = {key: e and Estimate(**e) for key, e in fields.pop("estimates").items()}
    others: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return BoardRow(**others, estimates=estimates)
