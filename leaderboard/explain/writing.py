"""Write explanations into a tracking store: those of changed experiments, and with all datasets the board."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from benchmark.errors import UserError
from benchmark.files import program
from benchmark.measure.intervals import described
from benchmark.store import views
from benchmark.store.describe import SAMPLED
from benchmark.store.explaining import Explained, Explanation
from benchmark.store.tracking import Store
from leaderboard.explain import cells, methods
from leaderboard.explain.flips import Flips, flips, to_csv, to_html
from leaderboard.read.results import Dataset, Entry, Results, collect
from leaderboard.read.structures import of_tests
from leaderboard.site.explorer import drawings
from leaderboard.tables.boards import Board, board
from leaderboard.tables.columns import COMPUTE, absolute, versus
from leaderboard.tables.summary import Summary
from leaderboard.tables.table import Table, Value
from leaderboard.write.formats import markdown, to_markdown

MOST = 60
"""Methods in the table of an experiment's description; MLflow refuses one of more than 20,000 characters."""


@dataclass
class Written:
    """Outcome of ``explain``: numbers of runs, addresses of boards in the UI, and lines about cells left out."""

    runs: int = 0
    """Finished cells that were looked at."""
    changed: int = 0
    boards: list[str] = field(default_factory=list)
    unreadable: Sequence[str] = ()


def explain(store: Store, datasets: Collection[str] = (), report: Callable[[str], None] = lambda line: None) -> Written:
    """Give the runs of all cells, or of those on ``datasets``, their explanations; without ``datasets``, the board too.

    Predictions are only read if something has changed since the last time. ``report`` is called with a line for each
    dataset that is written. Raises UserError for a dataset without a run.
    """
    explained = Explained(store, datasets)
    if datasets and not explained.runs:
        raise UserError(
            f"{store.uri} has no finished run on {', '.join(datasets)}: datasets are named as in the experiments "
            "churn/NAME"
        )
    code = program("benchmark", "leaderboard")
    outdated, done = explained.pending(code), Written(len(explained.runs))
    with_board = not datasets and bool(explained.runs) and not explained.board_is_current(code)
    if not (outdated or with_board):
        return done
    known = [cell for cell in store.cells(datasets=datasets) if cell.run_id in explained.runs]  # others are newer
    results = collect(known, store.uri, store.unreadable)
    done.unreadable = results.unreadable
    for part in results.by_sampling:
        for dataset in part.datasets:
            experiment = _experiment(explained, dataset)
            if experiment in outdated:
                changed = _dataset(explained, dataset, experiment, code)
                done.changed += changed
                report(f"explained {dataset.title}, sampling {part.sampling}: {changed} runs written")
        if with_board and (found := methods.groups(part)):
            done.boards.append(_board(explained, part, found, code))
    for experiment in outdated:  # also those whose cells cannot be read: they are not tried again and again
        explained.finish(experiment, code)
    return done


def _experiment(explained: Explained, dataset: Dataset) -> str:
    cell = next(iter(dataset.entries[0].cells.values()))
    return str(explained.runs[cell.run_id].info.experiment_id)


def _dataset(explained: Explained, dataset: Dataset, experiment: str, code: str) -> int:
    """Explain the cells of one dataset and sampling, and its experiment; return the number of runs written."""
    source = explained.source(experiment, code)
    smiles = of_tests(dataset)
    found = {
        cell.run_id: _flips(dataset, entry, split) for entry in dataset.entries for split, cell in entry.cells.items()
    }
    wanted = {i for one in found.values() if one for i in one.shown if i in smiles}
    drawn = drawings({i: smiles[i] for i in sorted(wanted)})
    of_dataset = dict(cells.forest(dataset))
    table = views.address(experiment, view=views.TABLE)
    changed = 0
    for entry in dataset.entries:
        for split, cell in entry.cells.items():
            flipped = found[cell.run_id]
            files = of_dataset | dict(cells.pictures(dataset, entry, split))
            if flipped is not None:
                files |= {"flips.csv": to_csv(flipped, smiles).encode(), "flips.html": to_html(flipped, drawn).encode()}
            links = [f"[All methods on {markdown(dataset.title)}]({table})"]
            if launcher := explained.launched_by(cell.run_id):
                links.append(f"[The `mlflow run` that recorded this]({launcher})")
            text = cells.note(dataset, entry, split, flipped, links, smiles)
            metrics = cells.metrics(cells.pair_of(dataset, entry, split))
            changed += explained.explain(cell.run_id, Explanation(source, text, metrics, files))
    tests = dataset.evalsets
    explained.describe(experiment, _about(dataset, experiment), views.of_cells(dataset.task, tests))
    return changed


def _flips(dataset: Dataset, entry: Entry, split: int) -> Flips | None:
    cell, erm = cells.pair_of(dataset, entry, split)
    return flips(cell, erm)


def _about(dataset: Dataset, experiment: str) -> str:
    """Return the description of a dataset's experiment in Markdown: its board in brief, with links to its runs."""
    whole = board(dataset)
    table, charts = (views.address(experiment, view=v, charts=v == views.CHARTS) for v in (views.TABLE, views.CHARTS))
    return "\n\n".join(
        [
            f"Cross-sample churn on **{markdown(dataset.title)}** ({dataset.facts.spelled_rows}): [all runs, lowest "
            f"churn first]({table}) · [charts of churn and cost]({charts})",
            to_markdown(_brief(whole, dataset)).strip(),
            f"ID test; Δ is the difference from ERM on the same samples. {described('runs', dataset.sampling)} "
            f"One run per method and canonical split; open it for its flips, figures and retrainings. "
            f"{SAMPLED[dataset.sampling]}",
            *(markdown(note) for note in whole.notes),
        ]
    )


def _brief(whole: Board, dataset: Dataset) -> Table:
    """Return churn, accuracy or MAE, their differences from ERM, and compute, lowest churn first."""
    columns = [make(measure) for measure in cells.measures(dataset.task) for make in (absolute, versus)] + [COMPUTE]
    rows: list[tuple[str | Value, ...]] = [
        (" ".join([row.title, *row.marks]), *(c.show(row.estimates[c.key], row.differs) for c in columns))
        for row in whole.rows[:MOST]
    ]
    if len(whole.rows) > MOST:
        rows.append((f"… and {len(whole.rows) - MOST} more", *("" for _ in columns)))
    return Table("brief", whole.title, "", ("Method", *(column.title for column in columns)), tuple(rows))


def _board(explained: Explained, results: Results, found: Mapping[str, Summary], code: str) -> str:
    """Write the board of one sampling and return its address."""
    titles = dict.fromkeys(row.title for summary in found.values() for row in summary.rows)
    of_methods = {
        title: Explanation(
            explained.board_source(code),
            methods.note(results, found, title, explained.address),
            methods.metrics(found, title),
            {},
        )
        for title in titles
    }
    text, saved = methods.board_note(results, found), methods.board_views(found)
    experiment = explained.write_board(results.sampling, code, text, saved, of_methods)
    return views.address(experiment, view=views.TABLE)
