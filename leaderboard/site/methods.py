"""The page of a method, written by worker processes and kept in the cache."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from pydantic_core import to_json

from benchmark.files import named, program
from benchmark.store.cell import CellKey, Facts
from leaderboard.read.jobs import Job, digests, made
from leaderboard.read.results import Dataset, Results, slug
from leaderboard.site.frame import Frame
from leaderboard.tables.boards import Board, board
from leaderboard.write.templates import templates


class Run(NamedTuple):
    """What the page shows of a cell."""

    dataset: str
    key: CellKey
    facts: Facts
    run_id: str


def packed(results: Results, frame: Frame, words: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Return path and content of each method's page; other processes start to write them at once.

    ``words`` are the docstrings of methods by name.
    """
    boards = {dataset.name: board(dataset, "id", frame.kind) for dataset in results.datasets}
    rows = {(name, row.title): row for name, of in boards.items() for row in of.rows}
    cells = {(dataset.name, known[0]): known for dataset in results.datasets for known in digests(dataset)}

    def alone(dataset: Dataset, title: str) -> Board:
        """Return the board with nothing but what the page shows."""
        whole, row = boards[dataset.name], rows[dataset.name, title]
        shown = {column.key: row.estimates[column.key] for column in whole.front}
        return replace(whole, rows=(replace(row, estimates=shown),), notes=())

    def job(title: str) -> Job:
        entries = [(dataset, entry) for dataset in results.datasets if (entry := dataset.entry(title)) is not None]
        runs = [Run(d.title, cell.key, cell.facts, cell.run_id) for d, e in entries for cell in e.cells.values()]
        said = words.get(runs[0].key.method, "")
        own = frame.undated([title], [dataset for dataset, _ in entries])
        shown = [alone(dataset, title) for dataset, _ in entries]
        compared = [(dataset.name, e.title) for dataset, entry in entries for e in (entry, dataset.reference) if e]
        known = [cells[one] for one in compared], [run.run_id for run in runs]
        told = to_json((said, known, own), inf_nan_mode="constants").decode()
        name = named("method", [program("benchmark", "leaderboard"), templates(), told], ".html")
        return Job(name, _page, (title, said, shown, runs, own))

    contents = made(map(job, results.methods()))
    return ((_path(t), frame.dated(text.decode())) for t, text in zip(results.methods(), contents, strict=True))


def _path(title: str) -> str:
    return f"methods/{slug(title)}.html"


def _page(title: str, words: str, boards: Sequence[Board], runs: Sequence[Run], frame: Frame) -> bytes:
    about = {"title": title, "key": runs[0].key, "words": words, "boards": boards, "runs": runs}
    return frame.page("method.html", _path(title), tested=_tested, **about).encode()


def _tested(boards: Sequence[Board]) -> int:
    """Return the number of differences from ERM that have an interval."""
    shown = (row.estimates[column.key] for of in boards for row in of.rows for column in of.front if column.versus)
    return sum(estimate is not None and estimate.low == estimate.low for estimate in shown)
