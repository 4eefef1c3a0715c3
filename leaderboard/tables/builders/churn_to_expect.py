"""Tables on the churn to expect: properties that go with churn, and how well it can be predicted."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from benchmark.data.checks.expected_churn import PREDICTORS, link, predict
from benchmark.measure.intervals import Estimate, IntervalKind
from benchmark.types import Task
from leaderboard.read.results import PLURAL, Dataset, Results
from leaderboard.stats.least_squares import spearman
from leaderboard.tables.churn_lines import FEWEST, Check, Point, best, check, methods_of, models, points, with_method
from leaderboard.tables.layouts import Body, TableCell
from leaderboard.tables.table import MISSING, Value

EXAMPLES: Mapping[Task, tuple[float, ...]] = {
    "classification": (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4),
    "regression": (0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6),
}
"""Churns of a k-NN for which a table says what to expect, if families have smaller and larger ones."""


class Shown(NamedTuple):
    """A property as tables and figures show it, by ``name`` of its field; ``scale`` is for display."""

    name: str
    title: str
    scale: float = 1
    digits: int = 2
    log: bool = False


def scale_of(task: Task) -> tuple[float, int, str]:
    """Return scale, digits and unit of churn: % of predictions, or standard deviations of the target."""
    return (100.0, 1, "%") if task == "classification" else (1.0, 2, "SD")


def shown(task: Task) -> list[Shown]:
    """Return the properties of a task, ERM's own accuracy last: it takes a training."""
    share, digits, unit = scale_of(task)
    quality = "ERM accuracy" if task == "classification" else "ERM MAE"
    return [
        Shown("rows", "Training rows", digits=0, log=True),
        *[Shown("minority", "Rarer class (%)", 100, 1)] * (task == "classification"),
        Shown("scaffolds", "Scaffolds per row"),
        Shown("similarity", "Similarity"),
        Shown("conflicts", "Rows in conflict (%)", 100, 1),
        Shown("disagreement", f"Neighbours' disagreement ({unit})", share, digits),
        Shown("knn_churn", f"k-NN churn ({unit})", share, digits),
        Shown("quality", f"{quality} ({unit})", share, digits),
    ]


def correlation(families: list[Point], name: str, title: str) -> Estimate:
    """Return the rank correlation over families of a property with the churn of a method."""
    pairs = np.array([(point.value(name), point.churns[title]) for point in families]).reshape(-1, 2)
    known = pairs[~np.isnan(pairs).any(axis=1)]
    return spearman(known[:, 0], known[:, 1])


def correlations(task: Task, results: Results, kind: IntervalKind) -> Body | None:
    families, titles = points(results, task), methods_of(results, task)
    if len(families) < FEWEST:
        return None
    rows: list[tuple[TableCell, ...]] = []
    for prop in shown(task):
        estimates = [correlation(with_method(results, task, title), prop.name, title) for title in titles]
        known = sum(not np.isnan(point.value(prop.name)) for point in families)
        rows.append((prop.title, Value.of(known, digits=0), *(Value.of(e, 1, 2, True) for e in estimates)))
    return Body(("Property", "Families", *titles), tuple(rows), _datasets(families))


def readings(task: Task, results: Results, kind: IntervalKind) -> Body | None:
    """Return the churn to expect at some churns of a k-NN, if that is what predictions are from."""
    fitted = [line for line in models(results) if (line.task, line.predictor) == (task, "knn")]
    if not fitted:
        return None
    scale, digits, unit = scale_of(task)
    families = points(results, task)
    measured = [point.value("knn_churn") for point in families]
    rows: list[tuple[TableCell, ...]] = []
    for churn in (churn for churn in EXAMPLES[task] if min(measured) <= churn <= max(measured)):
        ends = [predict(line, np.array([1, link(churn, task)])) for line in fitted]
        values = (Value.of(Estimate(e.value, e.low, e.high), scale, digits) for e in ends)
        rows.append((f"{churn * scale:g} {unit}", *values))
    header = ("k-NN's churn", *(line.method for line in fitted))
    return Body(header, tuple(rows), _datasets(families), (), (("", 1), (f"Churn to expect ({unit})", len(fitted))))


def checks(task: Task, results: Results, kind: IntervalKind) -> Body | None:
    """Return predictions for families, and for groups of families, that were left out."""
    if (chosen := best(results, task)) is None:
        return None
    rows: list[tuple[TableCell, ...]] = []
    for title in methods_of(results, task):
        families = with_method(results, task, title)
        none = [check(families, title, "mean", unit) for unit in PLURAL]
        for predictor, words in PREDICTORS.items():
            each = [check(families, title, predictor, unit) for unit in PLURAL]
            cells = [cell for checked, mean in zip(each, none, strict=True) for cell in _checked(checked, mean, task)]
            rows.append((f"{title}: {words}", *cells))
    unit = scale_of(task)[2].replace("%", "pp")
    header = (f"Error ({unit})", f"Difference from the mean's ({unit})", "Within", f"Width ({unit})")
    note = (
        "The health report uses the predictor with the smallest error for ERM's churn, by family: "
        f"{PREDICTORS[chosen]}. Within: families whose churn is in their 95 % prediction interval. Width: the "
        "median one of these intervals. The interval of a difference takes the errors of families as independent, "
        "although each is predicted from most of the others."
    )
    over = (("", 1), ("One family left out", 4), ("Its whole group left out", 4))
    every = points(results, task)
    return Body(("Predicted from", *header, *header), tuple(rows), _datasets(every), (note,), over)


def _checked(checked: Check | None, mean: Check | None, task: Task) -> Iterator[TableCell]:
    if checked is None or mean is None:
        yield from [Value(MISSING)] * 4
        return
    scale, digits, _ = scale_of(task)
    yield Value.of(float(checked.errors.mean()), scale, digits)
    yield Value.of(checked.gain(mean), scale, digits, True) if checked.predictor != "mean" else Value(MISSING)
    yield Value(f"{checked.covered} of {len(checked.truth)}", checked.covered / len(checked.truth))
    yield Value.of(checked.width, scale, digits)


def _datasets(families: tuple[Point, ...]) -> tuple[Dataset, ...]:
    return tuple(dataset for point in families for dataset in point.datasets)
