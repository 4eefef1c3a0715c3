"""The place of a submission among all methods, compared with two reference methods."""

from collections.abc import Sequence
from dataclasses import replace

from benchmark.measure.catalogue import ORDER
from benchmark.measure.estimate import estimate
from benchmark.store.cell import Cell
from leaderboard.read.results import Dataset, Entry, Results
from leaderboard.tables.boards import Board, BoardRow, board, meanings
from leaderboard.tables.columns import common
from leaderboard.tables.table import Table, Value

REFERENCES = ("erm", "twin")
"""The plain network, and the paper's proposal."""


def places(results: Results, cells: Sequence[Cell]) -> list[Table]:
    """Return a table for each sampling and dataset of ``cells``: the new row and the references, with the differences
    in what orders it.

    Other versions of the same method, and runs of its code, do not count.
    """
    tables = []
    parts = {part.sampling: part for part in results.every}
    for (sampling, name), title in {(cell.key.sampling, cell.key.dataset): cell.title for cell in cells}.items():
        dataset = parts[sampling].dataset(name) if sampling in parts else None
        entry = dataset.entry(title) if dataset else None
        if dataset is not None and entry is not None:
            rivals = tuple(other for other in dataset.entries if other is entry or other.method != entry.method)
            tables.append(_table(replace(dataset, entries=rivals), entry))
    return tables


def to_comment(table: Table) -> str:
    """Format a table as a GitHub comment, without links, mentions or HTML from the submission."""
    lines = [f"**{_plain(table.title)}**", "", _line(table.header), _line(["---"] * len(table.header))]
    lines += [_line([cell.text if isinstance(cell, Value) else cell for cell in row]) for row in table.rows]
    return "\n".join([*lines, "", *(_plain(note) for note in table.notes)])


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(map(_plain, texts)) + " |"


def _plain(text: str) -> str:
    """Escape text so that it cannot become a link, a mention, HTML or a table."""
    special = "\\`*_{}[]()<>#+!|@&~:/"
    return "".join(f"&#{ord(c)};" if c in special else c for c in " ".join(text.split()))


def _table(dataset: Dataset, entry: Entry) -> Table:
    whole = board(dataset)
    columns = [column for column in whole.columns if not column.versus]
    titles = [row.title for row in whole.rows if not row.marks]
    shown = [row for row in whole.rows if row.title == entry.title or row.method in REFERENCES]
    rows = []
    for row in shown:
        values = [column.show(row.estimates[column.key]) for column in columns]
        rows.append((" ".join([row.title, *row.marks]), *values, _versus(dataset, entry, row, whole)))
    place = "no place, because of its marks"
    if entry.title in titles:
        place = f"place {titles.index(entry.title) + 1} of {len(titles)} by {ORDER[dataset.task].name}"
    return Table(
        key=f"place-{dataset.name}",
        title=f"{dataset.title}, {dataset.sampling}: {place}",
        caption="",
        header=(
            "Method",
            *(column.title for column in columns),
            f"{ORDER[dataset.task].name[:1].upper()}{ORDER[dataset.task].name[1:]} of the submission, minus this",
        ),
        rows=tuple(rows),
        notes=(*whole.notes, *meanings({mark for row in shown for mark in row.marks})),
    )


def _versus(dataset: Dataset, entry: Entry, row: BoardRow, whole: Board) -> str | Value:
    other = dataset.entry(row.title)
    if other is None or other is entry:
        return "–"
    splits = [
        (common(cell, theirs).predictions["id"], common(theirs, cell).predictions["id"])
        for seed, cell in entry.cells.items()
        if (theirs := other.cells.get(seed)) is not None and set(theirs.key.seeds) & set(cell.key.seeds)
    ]
    column = next(column for column in whole.columns if column.key == f"delta_{ORDER[dataset.task].key}")
    return column.show(estimate(ORDER[dataset.task], splits)) if splits else "–"
