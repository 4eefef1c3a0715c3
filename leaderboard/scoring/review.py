"""Examples to review, ranked by one extra retraining, and tables of what changes between runs."""

import numpy as np
import pandas as pd

from benchmark.errors import UserError
from leaderboard.scoring.runs import Runs
from leaderboard.scoring.score import Score


def to_review(score: Score, share: float) -> pd.DataFrame:
    """Tabulate all examples as ``fragile`` does, the first ``share`` (0 to 1) of them with True as ``review``.

    Raises UserError unless they are ranked by two runs.
    """
    runs = score.runs
    if len(runs.names) != 2:
        raise UserError(f"{runs.source}: --review takes two runs, found {len(runs.names)}")
    table = fragile(score)
    table.insert(1, "review", np.arange(len(table)) < np.ceil(share * len(table) - 1e-9))
    return table


def changed(both: Runs) -> pd.DataFrame:
    """Tabulate the examples for which the second of two runs predicts another class or value than the first.

    Columns: example_id, baseline, candidate, the truth if known, and flip (bad, good, or wrong to wrong) or, for a
    regression, the difference, largest first.
    """
    regression = both.task == "regression"
    old, new = both.values if regression else both.predicted_classes()
    shown = {"baseline": old, "candidate": new} | ({} if both.y is None else {"y_true": both.y})
    if not regression:
        shown = {name: np.array(both.classes, dtype=object)[codes] for name, codes in shown.items()}
    table = pd.DataFrame({"example_id": both.ids.astype(object), **shown})
    if regression:
        table["difference"] = new - old
        table = table.sort_values("difference", key=abs, ascending=False, kind="stable")
    elif both.y is not None:
        table["flip"] = np.select([old == both.y, new == both.y], ["bad", "good"], "wrong to wrong")
    return table[table["baseline"] != table["candidate"]].reset_index(drop=True)


def fragile(score: Score, first: int | None = None) -> pd.DataFrame:
    """Tabulate the examples of a score, most fragile first.

    Columns: rank, example, churn, the class of each of two runs or the votes of several runs for each class, the margin
    of the mean probability, and the truth if known.
    """
    return tabulate(score.runs, score.example_churn, score.margin, score.ranking[:first])


def tabulate(runs: Runs, example_churn: np.ndarray, margin: np.ndarray | None, rows: np.ndarray) -> pd.DataFrame:
    """Tabulate the examples at positions ``rows`` as ``fragile`` does, by their churn and margin (T,)."""
    values, churn, regression = runs.values[:, rows], example_churn[rows], runs.task == "regression"
    table = pd.DataFrame({"rank": np.arange(1, len(rows) + 1), "example_id": runs.ids[rows].astype(object)})
    table["mean_difference" if regression else "churn"] = churn
    classes = np.array(runs.classes, dtype=object)
    if regression:
        table["lowest"], table["highest"] = values.min(axis=0), values.max(axis=0)
    else:
        labels = (values if runs.kind == "labels" else values.argmax(axis=-1)).astype(int)
        if len(runs.names) == 2:
            table["flips"] = churn > 0
            table["class_a"], table["class_b"] = classes[labels]
        else:
            counts = [zip(*np.unique(votes, return_counts=True), strict=True) for votes in labels.T]
            table["votes"] = [" ".join(f"{classes[c]}:{n}" for c, n in votes) for votes in counts]
    if margin is not None:
        table["margin"] = margin[rows]
    if runs.y is not None:
        table["y_true"] = runs.y[rows] if regression else classes[runs.y[rows]]
    return table
