"""Triage with one extra retraining: which examples to review before the second model replaces the first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmark.errors import UserError
from leaderboard.scoring.runs import Runs
from leaderboard.scoring.score import Score, score


@dataclass(frozen=True)
class Review:
    """``table`` has a row per example, most fragile first; the first ``n`` are to be reviewed, and ``captured`` of the
    flips between the two runs lie there (nan without a flip).
    """

    table: pd.DataFrame
    n: int
    captured: float
    score: Score


def join(first: Runs, second: Runs) -> Runs:
    """Two sets of runs of the same examples, in the order of the first, as one.

    Raises UserError if the kind of prediction, the classes, the examples or their true values differ.
    """
    where = f"{first.source} and {second.source}"
    if first.kind != second.kind:
        raise UserError(f"{where}: {first.kind} and {second.kind}; the same kind expected, see --kind")
    position = {name: i for i, name in enumerate(second.ids.tolist())}
    lacking = [name for name in first.ids.tolist() if name not in position]
    if lacking or len(first.ids) != len(second.ids):
        other = lacking or sorted(set(position) - set(first.ids.tolist()))
        raise UserError(
            f"{where}: {len(first.ids)} and {len(second.ids)} examples; the same ones expected, but {other[0]!r} is in "
            f"{first.source if lacking else second.source} only"
        )
    order = np.array([position[name] for name in first.ids.tolist()])
    classes = first.classes
    if first.kind == "probabilities" and first.classes != second.classes:
        raise UserError(f"{where}: {len(first.classes)} and {len(second.classes)} classes; the same expected")
    if first.kind == "labels":
        classes = tuple(dict.fromkeys((*first.classes, *second.classes)))
    moved = [_moved(runs, classes) for runs in (first, second)]
    y, other_y = (truth for _, truth in moved)
    other_y = None if other_y is None else other_y[order]
    if y is not None and other_y is not None and (y != other_y).any():
        name = str(first.ids[int((y != other_y).argmax())])
        raise UserError(f"{where}: the true value of example {name!r} differs: the same expected")
    values = np.concatenate([moved[0][0], moved[1][0][:, order]])
    names = tuple(f"{side} {name}" for side, runs in (("a", first), ("b", second)) for name in runs.names)
    truth = other_y if y is None else y
    return Runs(names, first.ids, first.kind, values, classes, truth, where)


def _moved(runs: Runs, classes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray | None]:
    """The labels and true classes of ``runs`` as indices of ``classes``; other predictions as they are."""
    if runs.kind != "labels" or runs.classes == classes:
        return runs.values, runs.y
    index = np.array([classes.index(name) for name in runs.classes], dtype=np.uint16)
    return index[runs.values], None if runs.y is None else index[runs.y].astype(np.int64)


def review(first: Runs, second: Runs, share: float) -> Review:
    """What to review of two retrainings, one run each: the first ``share`` (0 to 1) of examples of their ranking.

    Raises UserError for more than one run in either, and for what ``join`` refuses.
    """
    for runs in (first, second):
        if len(runs.names) != 1:
            raise UserError(f"{runs.source}: one run expected, found {len(runs.names)}; for many see score")
    found = score(join(first, second))
    n = int(np.ceil(share * len(first.ids) - 1e-9))
    churn = found.example_churn[found.ranking]
    captured = float(churn[:n].sum() / churn.sum()) if churn.any() else float("nan")
    table = fragile(found)
    table.insert(1, "review", np.arange(len(table)) < n)
    return Review(table, n, captured, found)


def fragile(of: Score, first: int | None = None) -> pd.DataFrame:
    """The examples of a score, most fragile first, as a table: rank, example, its churn, what each of two runs says or
    how many runs predict each class, the margin of the mean probability, and the truth where it is known.
    """
    runs, rows = of.runs, of.ranking[:first]
    churn = of.example_churn[rows]
    table = pd.DataFrame({"rank": np.arange(1, len(rows) + 1), "example_id": runs.ids[rows].astype(object)})
    name = "churn" if runs.task == "classification" else "mean_difference"
    table[name] = churn
    if runs.task == "regression":
        table["lowest"], table["highest"] = runs.values[:, rows].min(axis=0), runs.values[:, rows].max(axis=0)
    else:
        classes = np.array(runs.classes, dtype=object)
        said = (runs.values[:, rows] if runs.kind == "labels" else runs.values[:, rows].argmax(axis=-1)).astype(int)
        if len(runs.names) == 2:
            table["flips"] = churn > 0
            table["class_a"], table["class_b"] = classes[said[0]], classes[said[1]]
        else:
            votes = [dict(zip(*np.unique(of_one, return_counts=True), strict=True)) for of_one in said.T]
            table["votes"] = [" ".join(f"{classes[c]}:{n}" for c, n in sorted(found.items())) for found in votes]
    if of.margin is not None:
        table["margin"] = of.margin[rows]
    if runs.y is not None:
        table["y_true"] = runs.y[rows] if runs.task == "regression" else np.array(runs.classes, object)[runs.y[rows]]
    return table
