"""Which examples to review, ranked by one extra retraining, and tables that hold runs on the same examples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmark.errors import UserError
from leaderboard.scoring.runs import Runs
from leaderboard.scoring.score import Score


@dataclass(frozen=True)
class Review:
    """The examples to review: the first ``n`` rows of ``table``, which has all examples, most fragile first.

    ``captured`` is the share of the flips between the two runs in these rows (nan without a flip).
    """

    table: pd.DataFrame
    n: int
    captured: float
    score: Score


def join(first: Runs, second: Runs) -> Runs:
    """Combine two sets of runs on the same examples, in the order of the first.

    Raises UserError if the kind of prediction, the classes, the examples or their true values differ.
    """
    names = [f"{side} {name}" for side, runs in (("a", first), ("b", second)) for name in runs.names]
    return together((first, second), names, f"{first.source} and {second.source}")


def together(tables: Sequence[Runs], names: Sequence[str], source: str) -> Runs:
    """Combine sets of runs on the same examples, in the order of the first, and call the runs by ``names``.

    Raises UserError if the kind of prediction, the classes, the examples or their true values differ.
    """
    first = tables[0]
    orders = [_order(first, second) for second in tables[1:]]
    classes = first.classes
    if first.kind == "labels":
        classes = tuple(dict.fromkeys(name for runs in tables for name in runs.classes))
    values, truth = _recoded(first, classes)
    parts = [values]
    for second, order in zip(tables[1:], orders, strict=True):
        more, other_y = _recoded(second, classes)
        other_y = None if other_y is None else other_y[order]
        if truth is not None and other_y is not None and (truth != other_y).any():
            name = str(first.ids[int((truth != other_y).argmax())])
            raise UserError(
                f"{first.source} and {second.source}: the true value of example {name!r} differs: expected the same "
                "in both"
            )
        truth = other_y if truth is None else truth
        parts.append(more[:, order])
    columns = " ".join(dict.fromkeys(runs.columns for runs in tables))
    return Runs(tuple(names), first.ids, first.kind, np.concatenate(parts), classes, truth, source, columns)


def _order(first: Runs, second: Runs) -> np.ndarray:
    """Return the positions of the first's examples in the second. Raises UserError for any other difference."""
    where = f"{first.source} and {second.source}"
    if first.kind != second.kind:
        raise UserError(f"{where}: {first.kind} and {second.kind}; expected the same kind in both; set it with --kind")
    position = {name: i for i, name in enumerate(second.ids.tolist())}
    missing = [name for name in first.ids.tolist() if name not in position]
    if missing or len(first.ids) != len(second.ids):
        name = (missing or sorted(set(position) - set(first.ids.tolist())))[0]
        raise UserError(
            f"{where}: {len(first.ids)} and {len(second.ids)} examples; expected the same ones, but {name!r} is in "
            f"{first.source if missing else second.source} only; to compare those in common, add --common-rows"
        )
    if first.kind == "probabilities" and first.classes != second.classes:
        raise UserError(f"{where}: {len(first.classes)} and {len(second.classes)} classes; expected the same")
    return np.array([position[name] for name in first.ids.tolist()])


def _recoded(runs: Runs, classes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the predictions and truth of ``runs``, labels as indices of ``classes``."""
    if runs.kind != "labels" or runs.classes == classes:
        return runs.values, runs.y
    index = np.array([classes.index(name) for name in runs.classes], dtype=np.uint16)
    return index[runs.values], None if runs.y is None else index[runs.y].astype(np.int64)


def select(result: Score, share: float) -> Review:
    """Select the first ``share`` (0 to 1) of examples for review, ranked by two retrainings. Raises UserError."""
    runs = result.runs
    if len(runs.names) != 2:
        raise UserError(f"{runs.source}: --review takes two runs, found {len(runs.names)}")
    n = int(np.ceil(share * len(runs.ids) - 1e-9))
    churn = result.example_churn[result.ranking]
    captured = float(churn[:n].sum() / churn.sum()) if churn.any() else float("nan")
    table = fragile(result)
    table.insert(1, "review", np.arange(len(table)) < n)
    return Review(table, n, captured, result)


def changed(both: Runs) -> pd.DataFrame:
    """Tabulate the examples for which the second of two runs predicts another class or value than the first.

    Columns: example_id, baseline, candidate, the truth if known, and flip (bad, good, or wrong to wrong) or, for a
    regression, the difference, largest first.
    """
    if both.task == "regression":
        old, new = both.values
        table = pd.DataFrame({"example_id": both.ids.astype(object), "baseline": old, "candidate": new})
        if both.y is not None:
            table["y_true"] = both.y
        table["difference"] = new - old
        return table[new != old].sort_values("difference", key=abs, ascending=False, kind="stable", ignore_index=True)
    old, new = both.predicted_classes()
    rows, classes = np.flatnonzero(old != new), np.array(both.classes, dtype=object)
    table = pd.DataFrame({"example_id": both.ids[rows].astype(object), "baseline": classes[old[rows]]})
    table["candidate"] = classes[new[rows]]
    if both.y is not None:
        y = both.y[rows]
        table["y_true"] = classes[y]
        table["flip"] = np.select([old[rows] == y, new[rows] == y], ["bad", "good"], "wrong to wrong")
    return table


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
