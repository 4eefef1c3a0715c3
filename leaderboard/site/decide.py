"""The data of the decision page: costs and benefits of the methods, for each dataset and set of datasets."""

import math
from collections.abc import Mapping, Sequence

from benchmark.measure.intervals import Estimate
from benchmark.types import REFERENCE, Sampling, Task
from leaderboard.my_data import LEAST, lacking, ranked
from leaderboard.read.results import Dataset, Results, slug
from leaderboard.tables.boards import SUSPICIONS, BoardRow, board, over_both
from leaderboard.tables.layouts import listed
from leaderboard.tables.order import means_of
from leaderboard.tables.summary import CONTROL, OWN, Summary, SummaryRow, summaries
from leaderboard.tables.table import spelled

Ends = list[float | None]
"""Value, low and high; None for a missing interval."""


NOTES: Mapping[Sampling, str] = {
    "halves": "These are changes between two models that were trained on the two halves of a dataset and share no "
    "molecule. A model that is retrained on mostly the same data changes less.",
    "nested": "These are changes between two models that were trained on bootstraps of a dataset (sampling nested).",
    "paper": "These are changes between two models that may have been trained on the same molecules (sampling paper).",
    "update": "These are changes, by chance alone, between two models that were trained on the same molecules "
    "(sampling update).",
}
COLLAPSES: Mapping[Task, str] = {
    "classification": "predicts one class for nearly all examples",
    "regression": "hardly better than a constant",
}


def choices(results: Results) -> list[dict[str, object]]:
    """Return the data for the page's script: sets of classification datasets, then single datasets, those with ERM.

    Sets are those of the first sampling; each dataset is under the sampling that decisions go by (``Results.leading``).

    Intervals are over retrainings and test examples: a decision is about new molecules as well as new retrainings.

    For each method, ``churn`` is matched churn or 1 − ICC, a fraction; ``loss`` is relative to ERM in pp of matched
    accuracy or % of MAE, negative for a gain, and None for ERM itself; ``compute`` is in multiples of ERM's. ``unfit``
    says why it is no choice, whatever is asked for, and ``lacking`` why there is none. ``low`` lists what an average
    hides: datasets with accuracy measured more than 5 pp below ERM's. ``mark`` is †, †? or "".
    """
    front = results.front
    rows = {dataset.name: {row.title: row for row in board(dataset, "id", "runs").rows} for dataset in front.datasets}
    choices = []
    for summary in summaries(front):
        if summary.task != "classification" or summary.group in ("variant", OWN):
            continue
        if len(summary.datasets) < 2 or summary.reference is None:
            continue
        methods = [
            _method(row, _mean(summary, row.title), -100.0, row.unranked, _low(row.title, summary, rows))
            for row in summary.rows
            if row.estimates and row.unranked != CONTROL and not row.suspicions
        ]
        once = f" ({'; '.join(summary.together)} count once)" if summary.together else ""
        note = f"Mean over {', '.join(dataset.title for dataset in summary.datasets)}{once}. {NOTES[front.sampling]}"
        title = f"{summary.title} classification"
        choices.append(
            _choice(summary.key, "A kind of dataset, on average", title, "classification", "", note, methods)
        )
    for dataset in (dataset for part in results.leading() for dataset in part.datasets):
        if dataset.reference is None:
            continue
        of_board = board(dataset, "id", "runs").rows
        mae = next(row for row in of_board if row.method == REFERENCE).estimates.get("mae")
        scale = -100.0 if mae is None else 100 / (mae.value or math.nan)
        rivals = [row for row in of_board if not {"control", *SUSPICIONS} & set(row.marks)]
        own = dataset.group == OWN
        doubtful = own or ranked(dataset.reference) < LEAST[dataset.task][1]
        unfit = _unfit(dataset, of_board, doubtful)
        methods = [_method(row, over_both(dataset)[row.title], scale, unfit.get(row.title, "")) for row in rivals]
        unit = dataset.unit if dataset.task == "regression" else ""  # flips have no unit
        choices.append(
            _choice(dataset.name, "One dataset", dataset.title, dataset.task, unit, NOTES[dataset.sampling], methods)
            | {"own": own, "rows": dataset.n_train, "lacking": lacking(dataset) if doubtful else ""}
        )
    return sorted(choices, key=lambda choice: not choice["own"])  # the page opens on the first


def _choice(
    key: str, kind: str, title: str, task: str, unit: str, note: str, methods: list[dict[str, object]]
) -> dict[str, object]:
    methods = [method for method in methods if method]
    about = {"key": key, "kind": kind, "title": title, "task": task, "unit": unit, "note": note}
    return {**about, "own": False, "rows": 0, "lacking": "", "methods": methods}


def _unfit(dataset: Dataset, rows: Sequence[BoardRow], doubtful: bool) -> dict[str, str]:
    """Say which methods are no choice: those that collapse where ERM does not or, if asked, hardly beat chance."""
    idle = next("collapsed" in row.marks for row in rows if row.method == REFERENCE)
    unfit = {row.title: COLLAPSES[dataset.task] for row in rows if "collapsed" in row.marks and not idle}
    if doubtful:
        measure, least = LEAST[dataset.task]
        chance = {entry.title: reached for entry in dataset.entries if (reached := ranked(entry)) < least}
        unfit |= {title: f"{measure.name} {reached:.2f}, less than {least:.2f}" for title, reached in chance.items()}
    return unfit


def _low(title: str, summary: Summary, rows: Mapping[str, Mapping[str, BoardRow]]) -> str:
    """List a method's losses on the datasets where it has a † or †?, e.g. ``6.9 pp on MOF-thermal``."""
    losses = []
    for dataset in summary.datasets:
        row = rows[dataset.name].get(title)
        change = row.estimates["delta_accuracy"] if row and {"†", "†?"} & {*row.marks} else None
        if change is not None:
            losses.append(f"{spelled(-100 * change.value)} pp on {dataset.title}")
    return listed(losses) if losses else ""


def _mean(summary: Summary, title: str) -> Mapping[str, Estimate | None]:
    """Return the means over the datasets of a set of what a decision goes by."""
    each = [over_both(dataset)[title] for dataset in summary.datasets]
    return dict.fromkeys(each[0]) | means_of(
        summary.datasets, {key: [of[key] for of in each] for key in each[0]}, "both"
    )


def _method(
    row: BoardRow | SummaryRow, both: Mapping[str, Estimate | None], scale: float, unfit: str, low: str = ""
) -> dict[str, object]:
    """Describe a method, or why it is ``unfit``.

    Empty if it shares no train seed with ERM, if it has one retraining, or if ERM has no error to compare with.
    """
    churn, change = both.values()
    loss = _ends(change, scale) if change else None
    if churn is None or churn.value != churn.value or ((loss or [None])[0] is None and row.method != REFERENCE):
        return {}
    compute = row.estimates.get("compute")
    return {
        "title": row.title,
        "slug": slug(row.title),
        "churn": _ends(churn),
        "loss": loss,
        "compute": compute.value if compute else None,
        "unfit": unfit,
        "low": low,
        "mark": next((m for m in ("†", "†?") if any(mark.split()[0] == m for mark in row.marks)), ""),
    }


def _ends(estimate: Estimate, scale: float = 1) -> Ends:
    low, high = sorted((estimate.low * scale, estimate.high * scale))
    return [None if x != x else x for x in (estimate.value * scale, low, high)]
