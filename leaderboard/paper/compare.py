"""Our numbers beside those of a published table, value by value.

A file of published numbers is a CSV with the columns ``table, dataset, method, canonical_seed, metric, unit, value,
low, high``; ``published.csv`` of the paper is one. Ours are of the canonical split that the row names. Every value of
the paper's main table equals its value for split 99 in the table of seed sensitivity, although the caption says that
it is a mean over three splits: it is compared with our split 99. The paper's table of ChemBERTa is not in the file: its
text says that its numbers are means over canonical splits, its caption that they are of ten pairs, those of one split.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leaderboard.paper.counterparts import Counterparts, Ours
from leaderboard.paper.read import SCALES, Published, read
from leaderboard.read.results import Results
from leaderboard.stats.intervals import Estimate

RULE = (
    "A published value agrees with ours if it lies within √2 times the half-width of our 95 % interval over "
    "retrainings, plus half a unit of its last digit. Ours and theirs are two replications of one protocol with as "
    "many retrainings, each with that uncertainty: their difference has √2 times the standard error of either. The "
    "published intervals are not used, being too narrow. Of true replications on the same test examples one in twenty "
    "disagrees; test sets that differ add to that, which the interval over retrainings and examples allows for."
)


@dataclass(frozen=True)
class Comparison:
    """Our number, in the published unit, beside the published one; None where we have none, for the reason ``why``.

    ``agrees`` follows ``RULE``; it is None where there is nothing to compare or no interval to judge by.
    ``agrees_wider``, for what does not agree, is the same with the interval over retrainings and test examples.
    """

    published: Published
    ours: Estimate | None
    agrees: bool | None
    agrees_wider: bool | None = None
    why: str = ""


def compare(results: Results, published_csv: Path) -> list[Comparison]:
    """Our number for every row of the file. Raises UserError for a file that is not as described, naming the line."""
    rows = read(published_csv)
    ours = Counterparts(results, rows)
    return [_compared(row, ours.of(row)) for row in rows]


def _compared(row: Published, ours: Ours | str) -> Comparison:
    if isinstance(ours, str):
        return Comparison(row, None, None, why=ours)
    agrees = _agree(row, ours.estimate)
    wider = _agree(row, ours.wider()) if agrees is False and ours.wider else None
    e, scale = ours.estimate, SCALES[row.unit]
    why = "no interval to judge by" if agrees is None else ""
    return Comparison(row, Estimate(e.value * scale, e.low * scale, e.high * scale), agrees, wider, why)


def _agree(row: Published, ours: Estimate) -> bool | None:
    scale = SCALES[row.unit]
    allowed = np.sqrt(2) * (ours.high - ours.low) / 2 * scale + row.last_place / 2
    return None if np.isnan(allowed) else bool(abs(ours.value * scale - row.value) <= allowed + 1e-9)
