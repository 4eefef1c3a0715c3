"""What boards, scorecards and comparisons show of each dataset, computed by worker processes and kept in the cache.

This is the larger part of a build. It depends on nothing but the cells of one dataset.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from benchmark.files import named, program
from benchmark.measure.intervals import Estimate, IntervalKind
from leaderboard.read.jobs import Job, digest, made
from leaderboard.read.results import Dataset, Results
from leaderboard.tables.boards import Board, BoardRow, board, keep_board
from leaderboard.tables.builders.scorecard import card, keep_card
from leaderboard.tables.columns import columns_of
from leaderboard.tables.influences import influences, keep_influences

Kinds = Sequence[IntervalKind]


def prepare(results: Results, kind: IntervalKind) -> None:
    """Provide influences, boards and scorecards with intervals of ``kind``, and boards with intervals over both where
    decisions go by them."""
    of_kind = {id(dataset): (dataset, {kind: None}) for part in results.every for dataset in part.datasets}
    for dataset in (dataset for part in (results.front, *results.leading()) for dataset in part.datasets):
        of_kind[id(dataset)][1]["both"] = None
    wanted = [(dataset, tuple(kinds)) for dataset, kinds in of_kind.values()]
    jobs = [Job(_name(*one), _computed, (_bare(one[0]), *one[1:])) for one in wanted]
    for (dataset, _), content in zip(wanted, made(jobs), strict=True):
        found = json.loads(content)
        for one in found["boards"]:
            keep_board(dataset, _decode(dataset, one))
        keep_card(dataset, kind, {title: dict(_estimates(of)) for title, of in found["card"].items()})
        keep_influences(dataset, found["influences"])


def _name(dataset: Dataset, kinds: Kinds) -> str:
    cells = [[e.title, e.method, [[s, digest(cell)] for s, cell in e.cells.items()]] for e in dataset.entries]
    return named("boards", [program("benchmark", "leaderboard"), kinds, dataset.name, dataset.notes, cells], ".json")


def _bare(dataset: Dataset) -> Dataset:
    """Return the dataset without what has been computed from it, to send it to another process."""
    entries = [replace(e, cells={s: replace(cell, reports={}) for s, cell in e.cells.items()}) for e in dataset.entries]
    return replace(dataset, entries=tuple(entries), groups={})


def _computed(dataset: Dataset, kinds: Kinds) -> bytes:
    boards = [board(dataset, evalset, kind) for kind in kinds for evalset in dataset.evalsets]
    rows = [{"evalset": b.evalset, "kind": b.kind, "notes": b.notes, "rows": list(map(asdict, b.rows))} for b in boards]
    of_methods = card(dataset, kinds[0])
    shown = {title: {key: e and asdict(e) for key, e in of.items()} for title, of in of_methods.items()}
    return json.dumps({"boards": rows, "card": shown, "influences": influences(dataset)}).encode()


def _decode(dataset: Dataset, content: dict[str, Any]) -> Board:
    columns = columns_of(dataset.task, dataset.sampling)
    rows = tuple(map(_row, content["rows"]))
    notes, evalset, kind = tuple(content["notes"]), content["evalset"], content["kind"]
    return Board(dataset.name, dataset.title, evalset, columns, rows, notes, kind, dataset.sampling)


def _row(fields: dict[str, Any]) -> BoardRow:
    estimates = dict(_estimates(fields.pop("estimates")))
    others: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return BoardRow(**others, estimates=estimates)


def _estimates(fields: Mapping[str, Any]) -> Iterator[tuple[str, Estimate | None]]:
    return ((key, e and Estimate(**e)) for key, e in fields.items())
