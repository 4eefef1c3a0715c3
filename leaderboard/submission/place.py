"""The place of a submission among all methods, beside two reference methods."""

from collections.abc import Sequence
from dataclasses import replace

from benchmark.measure.catalogue import ORDER
from benchmark.store.cell import Cell
from leaderboard.read.results import Results
from leaderboard.tables.boards import board, to_table
from leaderboard.tables.table import Table
from leaderboard.write.formats import to_markdown

REFERENCES = ("erm", "twin")
"""The plain network, and the paper's proposal."""


def places(results: Results, cells: Sequence[Cell]) -> list[Table]:
    """Return a table for each sampling and dataset of ``cells``: the new row and the references, by the first page's
    measures.

    Other versions of the same method, and runs of its code, do not count.
    """
    tables = []
    parts = {part.sampling: part for part in results.every}
    for (sampling, name), title in {(cell.key.sampling, cell.key.dataset): cell.title for cell in cells}.items():
        dataset = parts[sampling].dataset(name)
        assert dataset is not None
        own = dataset.entry(title)
        assert own is not None
        rivals = tuple(other for other in dataset.entries if other is own or other.method != own.method)
        whole = board(replace(dataset, entries=rivals), "id", "runs")
        ranked = [row.title for row in whole.rows if not row.marks]
        place = f"place {ranked.index(title) + 1} of {len(ranked)}" if title in ranked else "no place"
        reason = f" by {ORDER[dataset.task].name}" if title in ranked else ", because of its marks"
        shown = tuple(row for row in whole.rows if row.title == title or row.method in REFERENCES)
        heading = f"{dataset.title}, {sampling}: {place}{reason}"
        tables.append(replace(to_table(replace(whole, rows=shown), whole.front), title=heading))
    return tables


def to_comment(table: Table) -> str:
    """Format a table as a GitHub comment, without links, mentions or HTML from the submission."""
    rows = tuple(tuple(_plain(cell) if isinstance(cell, str) else cell for cell in row) for row in table.rows)
    lines = [f"**{_plain(table.title)}**", "", to_markdown(replace(table, rows=rows))]
    return "\n".join([*lines, *map(_plain, table.notes)])


def _plain(text: str) -> str:
    """Escape text so that it cannot become a link, a mention, HTML or a table."""
    special = "\\`*_{}[]()<>#+!|@&~:/"
    return "".join(f"&#{ord(c)};" if c in special else c for c in " ".join(text.split()))
