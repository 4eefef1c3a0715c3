"""Intervals for the performance of a score in finding flips; see ``benchmark.measure.triage``."""

from collections.abc import Sequence

import numpy as np

from benchmark.measure.intervals import FEWEST_EXAMPLES, Estimate, jackknife
from benchmark.measure.triage import measured
from benchmark.types import Predictions


def estimates(splits: Sequence[Predictions]) -> dict[str, Estimate]:
    """Return the numbers of ``measured``, mean over splits, with the jackknife over runs.

    There is no interval below four runs or ``FEWEST_EXAMPLES`` test examples.

    A score uses all runs jointly, so each number is recomputed without each run (Tukey's pseudo-values).
    """
    whole = [measured(p) for p in splits]
    values = {key: float(np.mean([numbers[key] for numbers in whole])) for key in whole[0]}
    if min(len(p.seeds) for p in splits) < 4 or sum(len(p.ids) for p in splits) < FEWEST_EXAMPLES:
        return {key: Estimate(value, np.nan, np.nan) for key, value in values.items()}
    without = [
        [measured(p.only([r for r in range(len(p.seeds)) if r != run])) for run in range(len(p.seeds))] for p in splits
    ]

    def spread(key: str) -> Estimate:
        pseudo = [
            np.array([len(parts) * numbers[key] - (len(parts) - 1) * part[key] for part in parts])
            for numbers, parts in zip(whole, without, strict=True)
        ]
        around = jackknife(pseudo)
        return Estimate(values[key], *(values[key] + end - around.value for end in (around.low, around.high)))

    return {key: spread(key) for key in values}
