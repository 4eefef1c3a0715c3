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
    from leaderboard.figures import pareto, ranks, style, triage
    from leaderboard.figures.cases import cases
    from leaderboard.figures.contrast import contrast
    from leaderboard.figures.forest import forests
    from leaderboard.figures.heatmap import heat_map
    from leaderboard.site.summary import summaries

    all_boards = boards(results)
    board_of = {board.dataset: board for board in all_boards if board.evalset == "id"}
    methods = results.methods()[: style.MOST]
    styles = style.styles(methods)
    curves = {dataset.name: found for dataset in results.datasets if (found := triage.curves(dataset))}
    made: list[Figure | None] = [*forests(results, board_of, styles, methods)]
    for summary in summaries(results, all_boards):
        if summary.key == "classification/headline":
            made.append(pareto.overall(summary, styles, methods[0]))
            made.append(ranks.rank_intervals(summary, styles))
            made.append(ranks.critical_difference(summary.ranking, styles) if summary.ranking else None)
    if headline := [curves[dataset.name] for dataset in results.headline() if dataset.name in curves]:
        made.append(triage.overall(headline))
    for dataset in results.datasets:
        made.append(pareto.pareto(dataset, board_of[dataset.name], styles, methods))
        if found := curves.get(dataset.name):
            made.append(triage.triage(dataset, found))
        if shown := contrast(dataset, board_of[dataset.name]):
            made.append(heat_map(dataset, shown))
            made.append(cases(dataset, shown, structures.get(dataset.name, {})))
    yield from (figure for figure in made if figure)
