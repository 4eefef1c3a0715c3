"""Numbers and phrases for the sentences of a report."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.measure.basics import mean_over_pairs, pseudo_values
from benchmark.measure.catalogue import find
from benchmark.measure.measure import Measure
from benchmark.store.cell import Cell
from benchmark.types import Task


def measure_of(key: str, task: Task) -> Measure:
    """Return the measure of a task with this key in the catalogue, which must have it."""
    measure = find(key, task)
    assert measure is not None, f"no measure of a {task} is called {key}"
    return measure


def mean(key: str, cells: Sequence[Cell], evalset: str = "id") -> float:
    """Return the mean over splits of a measure in the catalogue."""
    parts = [cell.predictions[evalset] for cell in cells]
    return float(np.mean([measure_of(key, p.task).mean(p) for p in parts]))


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


@dataclass(frozen=True)
class Change:
    """A difference of shares with its 95 % interval; the ends are nan if there is none.

    >>> str(Change(-0.021, -0.03, -0.012)), str(Change(0.01, float("nan"), float("nan")))
    ('−2.1 pp [−3.0, −1.2]', '+1.0 pp, without an interval')
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if np.isnan(self.low):
            return f"{points(self.value)}, without an interval"
        return f"{points(self.value)} [{100 * self.low:.1f}, {100 * self.high:.1f}]".replace("-", "−")


def change(key: str, cells: Sequence[Cell], versus: Sequence[Cell], evalset: str = "id") -> Change:
    """Return the mean difference of a measure between cells and others at equal train seeds, for a sentence.

    Its interval is the jackknife over retrainings that a sheet shows beside the same difference.
    """
    parts = []
    for cell, other in zip(cells, versus, strict=True):
        p, q = cell.predictions[evalset], other.predictions[evalset]
        of_runs = measure_of(key, p.task).of_runs
        parts.append(_by_run(of_runs(p) - of_runs(q)))
    return student(*parts)


def student(*parts: np.ndarray) -> Change:
    """Return the mean of the means of independent ``parts``, each of independent values (R,), with Student's interval.

    Degrees of freedom are Welch's; there is no interval if a part has one value, or all values of each are equal.
    """
    from scipy.special import stdtrit  # Student's quantile

    value = float(np.mean([part.mean() for part in parts]))
    if any(len(part) < 2 for part in parts):
        return Change(value, np.nan, np.nan)
    variances = np.array([part.var(ddof=1) / len(part) for part in parts]) / len(parts) ** 2
    total = float(variances.sum())
    if total < 1e-20:  # all give one value, but for rounding
        return Change(value, np.nan, np.nan)
    df = total**2 / sum(v**2 / (len(part) - 1) for v, part in zip(variances, parts, strict=True))
    half = float(stdtrit(df, 0.975)) * total**0.5
    return Change(value, value - half, value + half)


def _by_run(values: np.ndarray) -> np.ndarray:
    """Return a value for each run, (R,): of pairs of runs (R, R), the jackknife's pseudo-values."""
    if values.ndim == 1:
        return values
    return pseudo_values(lambda runs: mean_over_pairs(values[np.ix_(runs, runs)]), len(values))


def summary(cells: Sequence[Cell]) -> str:
    """Return churn and accuracy (or MAE) on the ID test, for a sentence."""
    if cells[0].predictions["id"].task == "regression":
        return f"churn {mean('churn', cells):.3f}, MAE {mean('mae', cells):.3f}"
    return f"churn {percent(mean('churn', cells), 1)}, accuracy {percent(mean('accuracy', cells), 1)}"


def over(splits: Sequence[int]) -> str:
    """Name the canonical splits that a number is averaged over, for a caption."""
    return f"{'split' if len(splits) == 1 else 'mean over splits'} {', '.join(map(str, splits))}"
