"""All figures of the site, drawn from results."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from pydantic_core import to_json

from benchmark.files import named, program
from benchmark.types import TASKS, Sampling
from leaderboard.figures import charts, factors, pareto, ranks, triage
from leaderboard.figures.cases import cases
from leaderboard.figures.contrast import contrast, heat_map
from leaderboard.figures.expected import churn_against, panels
from leaderboard.figures.figure import Drawing, Figure
from leaderboard.figures.forest import forest
from leaderboard.figures.style import Style, look, styles
from leaderboard.read.jobs import Job, made
from leaderboard.read.results import Results, unit_weights
from leaderboard.tables import studies
from leaderboard.tables.boards import Board, boards
from leaderboard.tables.builders import comparisons
from leaderboard.tables.builders.factors import grid
from leaderboard.tables.summary import summary_of

Structures = Callable[[], Mapping[str, Mapping[str, str]]]
DRAWN: TypeAdapter[Figure | None] = TypeAdapter(Figure | None)


def drawn(drawings: Iterable[Drawing]) -> Iterator[Figure]:
    """Return the figures in order, taken from the cache or drawn by other processes, which start at once."""
    contents = made(Job(_name(drawing), _drawn, (drawing,)) for drawing in drawings)
    return (figure for content in contents if (figure := DRAWN.validate_json(content)) is not None)


def draw(drawing: Drawing) -> Figure | None:
    """Draw a figure in this process."""
    with look():
        figure = drawing.draw(*drawing.given)
    return figure and replace(figure, caption=f"{figure.caption} {drawing.terms}".strip())


def _drawn(drawing: Drawing) -> bytes:
    return DRAWN.dump_json(draw(drawing))


def _name(drawing: Drawing) -> str:
    function = f"{drawing.draw.__module__}.{drawing.draw.__qualname__}"
    given = to_json((drawing.given, drawing.terms), inf_nan_mode="constants", fallback=_spelled).decode()
    return named("figure", [function, program("benchmark", "leaderboard"), *_libraries(), given], ".json")


@cache
def _libraries() -> tuple[str, ...]:
    return version("matplotlib"), version("rdkit")


def _spelled(value: object) -> Any:
    return (value.dtype.str, value.shape, value.tolist()) if isinstance(value, np.ndarray | np.generic) else repr(value)


SHOWN = ("churn", "delta_churn")
"""Keys of the estimates of boards that figures show."""


def _shown(board: Board) -> Board:
    """Return only what figures show of a board, so that nothing else redraws them."""
    shown = [{key: row.estimates[key] for key in SHOWN if key in row.estimates} for row in board.rows]
    rows = (replace(row, estimates=of, differs=()) for row, of in zip(board.rows, shown, strict=True))
    return replace(board, rows=tuple(rows), notes=())


def of_studies(finished: Iterable[studies.Rendered]) -> Iterator[Drawing]:
    for study in finished:
        for chart in study.report.charts:
            yield charts.drawing(f"study-{study.slug}-{chart.key}", chart)


def _reference(results: Results) -> str:
    """Return the title of ERM; "" without it."""
    return next((d.reference.title for part in results.every for d in part.datasets if d.reference), "")


def styles_of(whole: Results) -> dict[str, Style]:
    """Return the look of each method of a site, in all its figures and pages, under all samplings."""
    return styles((title for part in whole.every for title in part.methods()), _reference(whole))


TRAINED_ON: Mapping[Sampling, str] = {
    "halves": "the two halves of the training rows",
    "nested": "bootstraps of the training rows and saw nothing else",
    "paper": "bootstraps of the training rows",
    "update": "the same rows",
}
TERMS = {
    "classification": "ERM: one plain network. Churn: share of predictions that differ between two models that were "
    "trained on {}; matched: if both call equally many examples positive.",
    "regression": "ERM: one plain network. Churn: mean difference between the predictions of two models that were "
    "trained on {}; 1 − ICC: share of the variance of predictions that comes from retraining.",
}
"""Definitions without which no caption of a paper stands alone."""


def of_results(
    results: Results, structures: Structures = dict, method_styles: Mapping[str, Style] | None = None
) -> Iterator[Drawing]:
    """Yield every figure that ``results`` supports, with the ``method_styles``, by default those of ``styles_of``.

    ``structures`` returns known SMILES by dataset and example id (see ``molecules``). The slowest to prepare come last,
    so that the others are drawn in the meantime.
    """
    board_of = {board.dataset: _shown(board) for board in boards(results) if board.evalset == "id"}
    reference = _reference(results)
    method_styles = method_styles or styles_of(results)
    compared = [method for method in results.methods() if method != reference]
    curves = {d.name: captured for d in results.datasets if (captured := comparisons.curves(d))}
    contrasts = {d.name: pair for d in results.datasets if (pair := contrast(d, board_of[d.name]))}
    terms = {task: text.format(TRAINED_ON[results.sampling]) for task, text in TERMS.items()}
    of_classes = partial(Drawing, terms=terms["classification"])
    for dataset in results.datasets:
        if dataset.name in curves:
            yield of_classes(triage.triage, (dataset.name, curves[dataset.name]))
        if dataset.name in contrasts:
            yield of_classes(heat_map, (contrasts[dataset.name],))
    if headline := [board_of[d.name] for d in results.headline()]:
        yield of_classes(forest, (headline, method_styles, compared))
    if summary := summary_of(results, "classification"):
        on_boards = [board_of[dataset.name] for dataset in summary.datasets]
        yield of_classes(pareto.overall, (summary.rows, summary.over, on_boards, method_styles, reference))
        if summary.ranking:
            yield of_classes(ranks.critical_difference, (summary.ranking, method_styles))
    if reviewed := [dataset for dataset in results.headline() if dataset.name in curves]:
        yield of_classes(triage.overall, ([curves[dataset.name] for dataset in reviewed], unit_weights(reviewed)))
    for task in TASKS:
        if against := panels(results, task):
            yield Drawing(churn_against, (task, against), terms[task])
        if (whole := grid(results, "runs", task)) and whole.varied.shares:
            yield Drawing(factors.draw, (task, whole.varied.shares), terms[task])
    for name, smiles in structures().items():
        if pair := contrasts.get(name):
            yield of_classes(cases, (pair, {i: smiles[i] for i in pair.ids.tolist() if i in smiles}))
