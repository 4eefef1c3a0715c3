"""All figures of the site, drawn from results."""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version

from joblib import Parallel, cpu_count, delayed, hash

from benchmark.files import cached, keep, named
from benchmark.source import fingerprint
from leaderboard.figures import charts, pareto, ranks, triage
from leaderboard.figures.cases import cases
from leaderboard.figures.contrast import contrast
from leaderboard.figures.figure import Drawing, Figure
from leaderboard.figures.forest import forests
from leaderboard.figures.heatmap import heat_map
from leaderboard.figures.style import look, styles
from leaderboard.read.results import Results, family_weights
from leaderboard.tables import studies
from leaderboard.tables.boards import boards
from leaderboard.tables.summary import headline

Structures = Callable[[], Mapping[str, Mapping[str, str]]]


def drawn(drawings: Iterable[Drawing]) -> Iterator[Figure]:
    """Return the figures in order, taken from the cache or drawn and cached.

    Other processes start drawing at once, before the caller consumes the figures.
    """
    figures: dict[str, Figure | None] = {}

    def missing() -> Iterator[tuple[str, Drawing]]:
        for drawing in drawings:
            name = _name(drawing)
            content = cached(name)
            figures[name] = None if content is None else _decode(content)
            if content is None:
                yield name, drawing

    new = Parallel(cpu_count(), return_as="generator", pre_dispatch="all")(delayed(_draw)(*each) for each in missing())

    def take() -> Iterator[Figure]:
        for name, figure in new:
            keep(name, _encode(figure))
            figures[name] = figure
        yield from (figure for figure in figures.values() if figure is not None)

    return take()


def draw(drawing: Drawing) -> Figure | None:
    """Draw a figure in this process."""
    with look():
        return drawing.draw(*drawing.given)


def _draw(name: str, drawing: Drawing) -> tuple[str, Figure | None]:
    return name, draw(drawing)


def _name(drawing: Drawing) -> str:
    return named("figure", [version("matplotlib"), fingerprint(drawing.draw, look), hash(drawing.given)], ".json")


def _encode(figure: Figure | None) -> bytes:
    fields = figure and {**asdict(figure), "pdf": base64.b64encode(figure.pdf).decode()}
    return json.dumps(fields).encode()


def _decode(content: bytes) -> Figure | None:
    fields = json.loads(content)
    return fields and Figure(**{**fields, "pdf": base64.b64decode(fields["pdf"])})


def of_studies(finished: Iterable[studies.Told]) -> Iterator[Drawing]:
    """Yield the charts of studies."""
    for one in finished:
        for chart in one.report.charts:
            yield charts.drawing(f"study-{one.slug}-{chart.key}", chart)


def of_results(results: Results, structures: Structures = dict) -> Iterator[Drawing]:
    """Yield every figure that ``results`` supports.

    ``structures`` returns known SMILES by dataset and example id (see ``molecules``). The slowest to prepare come last,
    so that the others are drawn in the meantime.
    """
    board_of = {board.dataset: board for board in boards(results) if board.evalset == "id"}
    reference = next((d.reference.title for d in results.datasets if d.reference), "")
    looks = styles(results.methods(), reference)
    compared = [method for method in results.methods() if method != reference]
    # Triage scores some retrainings and counts flips among others, which a halving, with its two, cannot give.
    scored = () if results.sampling == "halves" else results.datasets
    curves = {d.name: captured for d in scored if (captured := triage.curves(d))}
    contrasts = {d.name: pair for d in results.datasets if (pair := contrast(d, board_of[d.name]))}
    for dataset in results.datasets:
        yield Drawing(pareto.pareto, (board_of[dataset.name], dataset.task, dataset.unit, looks, reference))
        if dataset.name in curves:
            yield Drawing(triage.triage, (dataset.name, curves[dataset.name]))
        if dataset.name in contrasts:
            yield Drawing(heat_map, (contrasts[dataset.name],))
    yield from forests(results, board_of, looks, compared)
    if summary := headline(results):
        of_headline = [board_of[dataset.name] for dataset in summary.datasets]
        yield Drawing(pareto.overall, (summary.rows, summary.over, of_headline, looks, reference))
        n = summary.ranking.n if summary.ranking else len(summary.datasets)
        yield Drawing(ranks.rank_intervals, (summary.rows, n, looks))
        if summary.ranking:
            yield Drawing(ranks.critical_difference, (summary.ranking, looks))
    if reviewed := [dataset for dataset in results.headline() if dataset.name in curves]:
        yield Drawing(triage.overall, ([curves[dataset.name] for dataset in reviewed], family_weights(reviewed)))
    for name, smiles in structures().items():
        if pair := contrasts.get(name):
            yield Drawing(cases, (pair, {i: smiles[i] for i in pair.ids.tolist() if i in smiles}))
