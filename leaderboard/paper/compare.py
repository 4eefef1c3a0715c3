"""Comparison of our numbers with published ones, value by value.

A file of published numbers is a CSV with the columns ``table, dataset, method, canonical_seed, metric, unit, value,
low, high``, such as the paper's ``numbers.csv``. Our numbers are from the canonical split that the row names. What
the paper leaves open about its tables is in ``leaderboard.paper.reasons.MATCHES``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from benchmark.measure.intervals import Estimate
from leaderboard.paper.mapping import Missing, Ours, mapping
from leaderboard.paper.read import SCALES, Published
from leaderboard.read.results import Results

Verdict = Literal["agrees", "disagrees", "cannot tell", "not compared"]
RULE = (
    "A published value agrees with ours if the two differ by at most √2 times the half-width of our 95 % interval over "
    "retrainings, plus half a unit of the published value's last digit. Where this allowance is at least as large as "
    "the published value itself, zero and twice the value would pass too: there, a difference within the allowance "
    "cannot tell whether the two agree. The two are replications of one protocol with "
    "equally many retrainings and the same uncertainty, so their difference has √2 times the standard error of either. "
    "The published intervals are too narrow and are not used. One in twenty true replications on the same test "
    "examples disagrees; with different test examples more do, which the interval over retrainings and examples "
    "allows for."
)


@dataclass(frozen=True)
class Comparison:
    """A published number and ours in the same unit, which is None if we have none, for the reason ``why``.

    ``verdict`` follows ``RULE``; without a number of ours, or an interval to judge by, the two are not compared.
    ``wider``, for numbers that disagree, is the verdict by the interval over retrainings and test examples.
    """

    published: Published
    ours: Estimate | None
    verdict: Verdict
    wider: Verdict = "not compared"
    why: str = ""


def compare(results: Results, rows: Sequence[Published]) -> list[Comparison]:
    find = mapping(results, rows)
    return [_compared(row, find) for row in rows]


def _compared(row: Published, find: Callable[[Published], Ours]) -> Comparison:
    try:
        ours = find(row)
    except Missing as reason:
        return Comparison(row, None, "not compared", why=str(reason))
    verdict = _verdict(row, ours.estimate)
    wider = _verdict(row, ours.wider()) if verdict == "disagrees" and ours.wider else "not compared"
    e, scale = ours.estimate, SCALES[row.unit]
    why = "no interval to judge by" if verdict == "not compared" else ""
    others = (replace(row, value=row.value * f, last_place=row.last_place * f) for f in (100, 0.01))
    if verdict == "disagrees" and any(_verdict(other, ours.estimate) == "agrees" for other in others):
        why = "disagrees, and would agree if it were a fraction for a percentage, or the reverse: check its unit"
    return Comparison(row, Estimate(e.value * scale, e.low * scale, e.high * scale), verdict, wider, why)


def _verdict(row: Published, ours: Estimate) -> Verdict:
    scale = SCALES[row.unit]
    allowed = np.sqrt(2) * (ours.high - ours.low) / 2 * scale + row.last_place / 2
    if np.isnan(allowed):
        return "not compared"
    if abs(ours.value * scale - row.value) > allowed + 1e-9:
        return "disagrees"
    return "cannot tell" if ours.low < ours.high and allowed >= abs(row.value) else "agrees"
