"""Where a submission stands: its rows among all others, against two reference methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmark.measure.catalogue import churn
from benchmark.store.cell import Cell
from leaderboard.read.results import Dataset, Entry, Results
from leaderboard.tables.boards import Board, BoardRow, board
from leaderboard.tables.columns import common, estimate
from leaderboard.tables.table import Table, Value

REFERENCES = ("erm", "twin")
"""The plain network, and the paper's proposal."""


def places(results: Results, cells: Sequence[Cell]) -> list[Table]:
    """A table for each dataset of ``cells``: the new row and the references, with the difference of churn to each.

    Other versions of the same method, and runs of its code, do not count.
    """
    names = list(dict.fromkeys(cell.key.dataset for cell in cells))
    found = []
    for name in names:
        dataset = results.dataset(name)
        title = next(cell.title for cell in cells if cell.key.dataset == name)
        entry = dataset.entry(title) if dataset else None
        if dataset is not None and entry is not None:
            others = tuple(other for other in dataset.entries if other is entry or other.method != entry.method)
            found.append(_table(replace(dataset, entries=others), entry))
    return found


def to_comment(table: Table) -> str:
    """A table for a comment on GitHub: the texts of a submission can be no link, mention or HTML there."""
    lines = [f"**{_plain(table.title)}**", "", _line(table.header), _line(["---"] * len(table.header))]
    lines += [_line([cell.text if isinstance(cell, Value) else cell for cell in row]) for row in table.rows]
    return "\n".join([*lines, "", *(_plain(note) for note in table.notes)])


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(map(_plain, texts)) + " |"


def _plain(text: str) -> str:
    """Text as text: no link, no mention, no HTML, no table."""
    special = "\\`*_{}[]()<>#+!|@&~:/"
    return "".join(f"&#{ord(c)};" if c in special else c for c in " ".join(text.split()))


def _table(dataset: Dataset, entry: Entry) -> Table:
    whole = board(dataset)
    rank, unmarked = _rank(whole, entry)
    rows = []
    for row in whole.rows:
        if row.title == entry.title or row.method in REFERENCES:
            shown = [column.show(row.estimates[column.key]) for column in whole.columns if not column.versus]
            rows.append((" ".join([row.title, *row.marks]), *shown, _versus(dataset, entry, row, whole)))
    where = f"place {rank} of {unmarked} by churn" if rank else "no place, because of its marks"
    return Table(
        key=f"place-{dataset.name}",
        title=f"{dataset.title}: {where}",
        caption="",
        header=("Method", *(c.title for c in whole.columns if not c.versus), "Churn of the submission, less this"),
        rows=tuple(rows),
        notes=whole.notes,
    )


def _rank(whole: Board, entry: Entry) -> tuple[int, int]:
    titles = [row.title for row in whole.rows if not row.marks]
    return (titles.index(entry.title) + 1 if entry.title in titles else 0), len(titles)


def _versus(dataset: Dataset, entry: Entry, row: BoardRow, whole: Board) -> str | Value:
    other = dataset.entry(row.title)
    if other is None or other is entry:
        return "–"
    splits = [
        (common(cell, theirs).predictions["id"], common(theirs, cell).predictions["id"])
        for seed, cell in entry.cells.items()
        if (theirs := other.cells.get(seed)) is not None and set(theirs.key.seeds) & set(cell.key.seeds)
    ]
    column = next(column for column in whole.columns if column.key == "delta_churn")
    return column.show(estimate(churn(dataset.task), splits)) if splits else "–"
