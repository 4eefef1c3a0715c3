"""The figures: matplotlib, as SVG for pages and PDF for papers, from ``Results`` only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from leaderboard.results import Results


@dataclass(frozen=True)
class Figure:
    """A figure, ready to be written to ``key``.svg and ``key``.pdf.

    ``dataset`` is empty for an overall figure. ``alt`` says in one or two sentences what is to be seen, with the main
    numbers. ``svg`` is an element without XML header, transparent, in the colour of the text around it, and shares no
    ids with other figures; ``pdf`` is black on transparent. Equal results give equal bytes.
    """

    key: str
    title: str
    caption: str
    alt: str
    dataset: str
    svg: str
    pdf: bytes


def build(results: Results, structures: Mapping[str, Mapping[str, str]] | None = None) -> list[Figure]:
    """Every figure that ``results`` support, overall ones first.

    ``structures`` are SMILES by dataset and example id (see ``leaderboard.molecules``); molecules are drawn where they
    are known.
    """
    from leaderboard.figures.style import look

    with look():
        return list(_figures(results, structures or {}))


def _figures(results: Results, structures: Mapping[str, Mapping[str, str]]) -> Iterator[Figure]:
    from leaderboard.boards import boards
    from leaderboard.figures import style
    from leaderboard.figures.cases import cases
    from leaderboard.figures.contrast import contrast
    from leaderboard.figures.forest import forests
    from leaderboard.figures.heatmap import heat_map
    from leaderboard.figures.pareto import pareto

    methods = results.methods()[: style.MOST]
    styles = style.styles(methods)
    found = {board.dataset: board for board in boards(results) if board.evalset == "id"}
    yield from forests(results, found, styles, methods)
    for dataset in results.datasets:
        board = found[dataset.name]
        made = [pareto(dataset, board, styles, methods)]
        if shown := contrast(dataset, board):
            made += [heat_map(dataset, shown), cases(dataset, shown, structures.get(dataset.name, {}))]
        yield from (figure for figure in made if figure)
