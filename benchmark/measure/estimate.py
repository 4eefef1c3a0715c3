"""Estimates of measures: their means, or paired differences, with intervals."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from benchmark.measure.catalogue import Drift
from benchmark.measure.intervals import (
    FEWEST_EXAMPLES,
    Estimate,
    IntervalKind,
    difference,
    jackknife,
    on_log_scale,
    over_both,
    over_examples,
    pair_bootstrap,
)
from benchmark.measure.measure import Measure, Of
from benchmark.types import Predictions

Splits = Sequence[tuple[Predictions, Predictions | None]]
"""For each canonical split, a method's predictions and those to subtract, if any."""


def estimate(measure: Measure, splits: Splits, kind: IntervalKind = "runs") -> Estimate:
    """Return the mean of a measure, or of its paired difference, over ``splits``, with its interval.

    The interval of a ``Drift`` over retrainings is on the log scale; its difference, which may be negative, is not.
    """

    def of(part: Of) -> list[np.ndarray]:
        return [part(a) if b is None else difference(part(a), part(b)) for a, b in splits]

    examples = measure.of_examples
    n = sum(len(a.ids) if measure.rows is None else int(measure.rows(a).sum()) for a, _ in splits)
    estimated = interval(kind, partial(of, measure.of_runs), partial(of, examples) if examples else None, n)
    positive = isinstance(measure, Drift) and all(b is None for _, b in splits)
    return on_log_scale(estimated) if positive and kind != "paper" else estimated


Arrays = Callable[[], Sequence[np.ndarray]]


def interval(kind: IntervalKind, runs: Arrays, examples: Arrays | None, n: int) -> Estimate:
    """Return the mean over splits with an interval of ``kind``, which falls back to runs if ``examples`` is None.

    ``n`` is the number of test examples of all splits; below ``FEWEST_EXAMPLES`` there is no interval. The arrays are
    given as functions so that only those that ``kind`` needs are computed.
    """
    if n < FEWEST_EXAMPLES:
        return jackknife(runs()).bare()
    if kind == "paper":
        return pair_bootstrap(runs())
    if kind == "runs" or examples is None:
        return jackknife(runs())
    return over_examples(examples()) if kind == "examples" else over_both(runs(), examples())
