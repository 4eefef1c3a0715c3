"""The page of a dataset and the tables that it offers, written by worker processes and kept in the cache."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from benchmark.data.checks import families
from benchmark.files import named, program
from benchmark.measure.catalogue import KEPT, ORDER
from leaderboard.figures.figure import Figure
from leaderboard.read.jobs import Job, digests, made
from leaderboard.read.results import Dataset
from leaderboard.site import cite
from leaderboard.site.frame import Frame
from leaderboard.tables.boards import board, to_table
from leaderboard.tables.builders import scorecard
from leaderboard.tables.groups import by_group
from leaderboard.write import formats
from leaderboard.write.templates import templates

SHOWN = ("board", "card")
"""What is computed already of what the page shows, by the first part of its key."""


def packed(
    datasets: Sequence[Dataset], frame: Frame, figures: Sequence[Figure], health: Mapping[str, str]
) -> Iterator[list[tuple[str, str]]]:
    """Return the ``files`` of each dataset, in order; other processes start to write them at once."""

    def job(dataset: Dataset) -> Job:
        own = frame.undated([entry.title for entry in dataset.entries], [dataset])
        drawn = [figure for figure in figures if figure.dataset == dataset.name]
        related = families.listed(dataset.name).to_dict("records")
        about = own, drawn, related, health.get(dataset.name, ""), "\n".join(cite.sources([dataset]))
        runs = [cell.run_id for cell in dataset.cells]
        told = to_json((about, dataset.notes, dataset.groups, runs), inf_nan_mode="constants").decode()
        code = [program("benchmark", "leaderboard"), templates(), dataset.name, digests(dataset), told]
        boards = {key: known for key, known in dataset.computed.items() if isinstance(key, tuple) and key[0] in SHOWN}
        return Job(named("dataset", code, ".json"), _packed, (dataset, boards, *about))

    contents = made(map(job, datasets))
    return ([(path, frame.dated(text)) for path, text in json.loads(c)] for c in contents)


def _packed(dataset: Dataset, computed: Mapping[object, Any], *about: Any) -> bytes:
    dataset.computed.update(computed)
    return json.dumps([*files(dataset, *about)]).encode()


def files(
    dataset: Dataset,
    frame: Frame,
    figures: Sequence[Figure],
    related: Sequence[Mapping[str, Any]],
    health: str,
    bibtex: str,
) -> Iterator[tuple[str, str]]:
    """Yield the path and content of a dataset's page, and of the CSV of each of its tables.

    The page has ``figures``, the datasets ``related`` by molecules, a report on the ``health`` of the data, and their
    sources.
    """
    kind = frame.kind
    boards = [board(dataset, evalset, kind) for evalset in dataset.evalsets]
    others = [*scorecard.of_dataset(dataset, kind), *([by_group(dataset, kind)] if dataset.groups else [])]
    for table in (*map(to_table, boards), *others):
        yield f"tables/{table.key}.csv", formats.to_csv(table)
    path = f"datasets/{dataset.name}.html"
    page = frame.page(
        "dataset.html",
        path,
        dataset=dataset,
        tables=[*(to_table(board, board.front) for board in boards), *others],
        figures=figures,
        kept=KEPT[dataset.task],
        order=ORDER[dataset.task],
        bibtex=bibtex,
        health=health,
        related=related,
    )
    yield path, page
