"""Numbers and phrases for the sentences of a report."""

from collections.abc import Sequence

import numpy as np

from benchmark.measure.catalogue import find
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import Estimate
from benchmark.measure.measure import Measure
from benchmark.settings import parse_splits
from benchmark.store.cell import Cell
from benchmark.types import Task


def measure_of(key: str, task: Task) -> Measure:
    """Return the measure of a task with this key in the catalogue, which must have it."""
    measure = find(key, task)
    assert measure is not None, f"no measure of a {task} is called {key}"
    return measure


def mean(key: str, cells: Sequence[Cell]) -> float:
    """Return the mean over splits of a measure in the catalogue, on the ID test."""
    tests = [cell.predictions["id"] for cell in cells]
    return float(np.mean([measure_of(key, p.task).mean(p) for p in tests]))


def percent(share: float, digits: int = 0) -> str:
    """Format a share as a percentage.

    >>> percent(0.287), percent(0.287, 1)
    ('29 %', '28.7 %')
    """
    return f"{100 * share:.{digits}f} %"


def points(difference: float) -> str:
    """Format a difference of shares in percentage points.

    >>> points(-0.0312)
    '−3.1 pp'
    """
    return f"{100 * difference:+.1f} pp".replace("-", "−")


def in_points(change: Estimate) -> str:
    """Format a difference of shares with its interval.

    >>> in_points(Estimate(-0.021, -0.03, -0.012)), in_points(Estimate(0.01, float("nan"), float("nan")))
    ('−2.1 pp [−3.0, −1.2]', '+1.0 pp, without an interval')
    """
    if np.isnan(change.low):
        return f"{points(change.value)}, without an interval"
    return f"{points(change.value)} [{100 * change.low:.1f}, {100 * change.high:.1f}]".replace("-", "−")


def change(key: str, cells: Sequence[Cell], versus: Sequence[Cell]) -> Estimate:
    """Return the mean difference of a measure on the ID test between cells and others at equal train seeds."""
    pairs = [(cell.predictions["id"], other.predictions["id"]) for cell, other in zip(cells, versus, strict=True)]
    return estimate(measure_of(key, pairs[0][0].task), pairs)


def summary(cells: Sequence[Cell]) -> str:
    """Return churn and accuracy (or MAE) on the ID test, for a sentence."""
    if cells[0].predictions["id"].task == "regression":
        return f"churn {mean('churn', cells):.3f}, MAE {mean('mae', cells):.3f}"
    return f"churn {percent(mean('churn', cells), 1)}, accuracy {percent(mean('accuracy', cells), 1)}"


def over(canonical_seed: str) -> str:
    """Name the canonical splits that a number is averaged over, for a caption."""
    splits = parse_splits(canonical_seed)
    return f"{'split' if len(splits) == 1 else 'mean over splits'} {', '.join(map(str, splits))}"
