"""The data of the decision page: for each dataset, and each set of them, what the methods would cost and bring."""

from __future__ import annotations

from collections.abc import Mapping

from benchmark.types import REFERENCE
from leaderboard.read.results import Results, slug
from leaderboard.stats.intervals import Estimate
from leaderboard.tables.boards import BoardRow, boards
from leaderboard.tables.layouts import listed
from leaderboard.tables.summary import Summary, summaries
from leaderboard.tables.table import spelled

Ends = list[float | None]
"""Value, low and high; None where there is no interval."""


def choices(results: Results) -> list[dict[str, object]]:
    """What the page's script needs: sets of classification datasets first, then single datasets, those with ERM.

    Intervals are over retrainings and test examples: a decision is about new molecules as well as new retrainings.

    Of each method ``churn`` is a fraction, or in target units; ``loss`` what it loses against ERM in pp of accuracy or
    % of MAE, negative where it gains, and None for ERM itself; ``compute`` is in multiples of ERM's. ``low`` says what
    an average hides: where its accuracy is more than 5 pp below ERM's.
    """
    found = []
    shown = [board for board in boards(results, "both") if board.evalset == "id"]
    of = {board.dataset: {row.title: row for row in board.rows} for board in shown}
    for summary in summaries(results, "both"):
        if summary.task != "classification" or summary.group == "variant":
            continue
        if len(summary.datasets) < 2 or summary.reference is None:
            continue
        methods = [
            _method(row.title, row.method, row.estimates, -100.0, bool(row.unranked), _low(row.title, summary, of))
            for row in summary.rows
            if row.estimates
        ]
        once = f" ({'; '.join(summary.together)} count once)" if summary.together else ""
        note = f"Mean over {', '.join(dataset.title for dataset in summary.datasets)}{once}."
        title = f"{summary.title} classification"
        found.append(_choice(summary.key, "A kind of dataset, on average", title, "classification", "", note, methods))
    for board in shown:
        dataset = results.dataset(board.dataset)
        if dataset is None or dataset.reference is None:
            continue
        erm = next(row for row in board.rows if row.method == REFERENCE)
        mae = erm.estimates.get("mae")
        scale = -100.0 if mae is None else 100 / mae.value
        methods = [
            _method(row.title, row.method, row.estimates, scale, "collapsed" in row.marks, "") for row in board.rows
        ]
        unit = dataset.unit if dataset.task == "regression" else ""  # flips have none
        found.append(_choice(dataset.name, "One dataset", dataset.title, dataset.task, unit, "", methods))
    return found


def _choice(
    key: str, kind: str, title: str, task: str, unit: str, note: str, methods: list[dict[str, object]]
) -> dict[str, object]:
    of = [method for method in methods if method]
    return {"key": key, "kind": kind, "title": title, "task": task, "unit": unit, "note": note, "methods": of}


def _low(title: str, summary: Summary, of: Mapping[str, Mapping[str, BoardRow]]) -> str:
    """The datasets of a set on which a method carries a †, with what it loses there: ``6.9 pp on MOF-thermal``."""
    found = []
    for dataset in summary.datasets:
        row = of[dataset.name].get(title)
        change = row.estimates["delta_accuracy"] if row and "†" in row.marks else None
        if change is not None:
            found.append(f"{spelled(-100 * change.value)} pp on {dataset.title}")
    return listed(found) if found else ""


def _method(
    title: str, method: str, estimates: Mapping[str, Estimate | None], scale: float, collapsed: bool, low: str
) -> dict[str, object]:
    """Empty for a method that shares no train seed with ERM, or has one retraining only."""
    churn = estimates["churn"]
    change = estimates.get("delta_accuracy") or estimates.get("delta_mae")
    if churn is None or churn.value != churn.value or (change is None and method != REFERENCE):
        return {}
    compute = estimates.get("compute")
    return {
        "title": title,
        "slug": slug(title),
        "churn": _ends(churn),
        "loss": _ends(change, scale) if change else None,
        "compute": compute.value if compute else None,
        "collapsed": collapsed,
        "low": low,
    }


def _ends(estimate: Estimate, scale: float = 1) -> Ends:
    low, high = sorted((estimate.low * scale, estimate.high * scale))
    return [None if x != x else x for x in (estimate.value * scale, low, high)]
