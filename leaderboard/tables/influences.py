"""What comparisons take of each method on the ID tests of a dataset: means, each run's influence on them, and flips.

The jackknife of a paired difference follows from each method's own values (``benchmark.measure.intervals.influence``).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic_core import to_json

from benchmark.measure.catalogue import example_churn, scorecard
from benchmark.measure.intervals import FEWEST_EXAMPLES, influence
from benchmark.measure.measure import Measure
from benchmark.types import Predictions
from leaderboard.read.results import Dataset, once

Influences = Mapping[str, Mapping[str, str]]
"""By the key of a measure and the title of a method, as JSON for each canonical split: the mean, null if there is none,
and the influence of each run on it, scaled so that its squares add up to the variance. All have six digits, and are
texts because a board has millions of them, which are only passed on.
"""


@once
def influences(dataset: Dataset) -> Influences:
    """Return the influences on all measures of the scorecard."""
    return {
        measure.key: {e.title: to_json([_split(p, measure) for p in e.tests]).decode() for e in dataset.entries}
        for measure in scorecard(dataset.task)
    }


@once
def flipping(dataset: Dataset) -> Mapping[str, list[str]]:
    """Return by method and canonical split which examples flip between some retrainings.

    They are hexadecimal digits, the first example in the highest bit; "" for a regression.
    """
    return {entry.title: [*map(_flipping, entry.tests)] for entry in dataset.entries}


def _flipping(p: Predictions) -> str:
    if p.task != "classification" or len(p.seeds) < 2:
        return ""
    return np.packbits(example_churn(p) > 0).tobytes().hex()


def _split(p: Predictions, measure: Measure) -> list[Any]:
    value, (runs,) = influence([measure.of_runs(p)])
    if len(p.ids) < FEWEST_EXAMPLES:
        runs = np.full(len(runs), np.nan)
    return [_rounded(value), [_rounded(x) for x in runs.tolist()]]


def _rounded(x: float) -> float | None:
    return None if np.isnan(x) else float(f"{x:.6g}")
