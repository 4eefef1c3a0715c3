"""The figures: matplotlib, as SVG for pages and PDF for papers, from ``Results`` only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from leaderboard import studies
from leaderboard.results import Results, family_weights


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
    """Every figure that ``results`` support, each group from the headline datasets to the single ones.

    ``structures`` are SMILES by dataset and example id (see ``leaderboard.molecules``); molecules are drawn where they
    are known.
    """
    from leaderboard.figures.style import look

    with look():
        return list(_figures(results, structures or {}))


def of_studies(found: Sequence[studies.Told]) -> list[Figure]:
    """The charts of studies."""
    from leaderboard.figures.charts import draw
    from leaderboard.figures.style import look

    with look():
        return [draw(f"study-{one.slug}-{chart.key}", chart) for one in found for chart in one.report.charts]


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
    reference = next((d.reference.title for d in results.datasets if d.reference), "")
    styles = style.styles(results.methods(), reference)
    compared = [method for method in results.methods() if method != reference]
    curves = {dataset.name: found for dataset in results.datasets if (found := triage.curves(dataset))}
    headline = next((s for s in summaries(results, all_boards) if s.key == "classification/headline"), None)

    made: list[Figure | None] = [*forests(results, board_of, styles, compared)]
    if headline:
        made.append(pareto.overall(headline, board_of, styles, reference))
    made += [pareto.pareto(d, board_of[d.name], styles, reference) for d in results.datasets]
    if headline:
        made.append(ranks.rank_intervals(headline, styles))
        made.append(ranks.critical_difference(headline.ranking, styles) if headline.ranking else None)
    if some := [dataset for dataset in results.headline() if dataset.name in curves]:
        made.append(triage.overall([curves[dataset.name] for dataset in some], family_weights(some)))
    for dataset in results.datasets:
        if found := curves.get(dataset.name):
            made.append(triage.triage(dataset, found))
        if pair := contrast(dataset, board_of[dataset.name]):
            made.append(heat_map(dataset, pair))
            made.append(cases(dataset, pair, structures.get(dataset.name, {})))
    yield from (figure for figure in made if figure)
