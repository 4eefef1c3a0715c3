"""Retrainings needed to tell two methods apart, from the cells that are there."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from benchmark.errors import UserError, did_you_mean
from benchmark.measure.catalogue import churn
from leaderboard.read.results import Dataset, Entry, Results
from leaderboard.stats import power as p
from leaderboard.stats.intervals import Estimate, difference, jackknife
from leaderboard.tables.columns import common
from leaderboard.tables.table import Table, Value

USUAL = 10
"""The retrainings of the paper's cells."""


def table(results: Results, delta: float, methods: tuple[str, str], dataset: str = "") -> Table:
    """For each dataset with both ``methods``: how many retrainings resolve a difference in churn of ``delta``, and what
    ten can resolve. ``delta`` is in percentage points, of a regression in target units.

    Raises UserError for an unknown dataset or method, for a ``delta`` that is not above 0 and finite, or where no
    dataset has both with four train seeds in common.
    """
    if not 0 < delta < math.inf:
        raise UserError(f"--delta {delta:g}: a finite difference above 0 expected")
    asked = tuple(d for d in results.datasets if d.group != "variant" or d.name == dataset)
    chosen = asked
    if dataset:
        chosen = tuple(d for d in asked if d.name == dataset)
        if not chosen:
            raise did_you_mean("dataset", dataset, [d.name for d in results.datasets])
    first, second = (replace(results, datasets=asked).called(name) for name in methods)
    rows = []
    for of in chosen:
        if of.name in first and of.name in second and (found := _differences(first[of.name], second[of.name])):
            rows.append(_row(of, delta, found))
    if not rows:
        raise UserError(
            f"no dataset has both {' and '.join(methods)} with four train seeds in common: run them with --seeds 10, "
            "or name others with --methods"
        )
    here = [d.name for d in chosen]
    titles = [" or ".join(dict.fromkeys(some[name].title for name in here if name in some)) for some in (first, second)]
    caption = (
        f"Retrainings of {' and of '.join(titles)}, at equal bootstraps on one split, after which the 95 % interval "
        f"over runs excludes 0 in {p.POWER:.0%} of cases if their churn truly differs by {delta:g}; in brackets, what "
        "the uncertainty of the variances allows. A percentage point for classes, target units for values."
    )
    header = ("Dataset", "Difference found", "Retrainings needed", f"Least difference that {USUAL} resolve", "Pilot")
    return Table("power", "Retrainings needed", caption, header, tuple(rows), notes=(NOTE,))


NOTE = (
    "The variances come from the pilot's runs, split into what a run brings to all its pairs and what is left of a "
    "pair; several canonical splits would divide them further, and show other data too."
)


def _differences(first: Entry, second: Entry) -> list[np.ndarray]:
    """The difference in churn of each pair of runs (R, R), on each split with four train seeds of both."""
    found = []
    for seed in sorted(set(first.cells) & set(second.cells)):
        a, b = (common(x.cells[seed], y.cells[seed]) for x, y in ((first, second), (second, first)))
        if len(a.key.seeds) >= 4:
            measure = churn(a.predictions["id"].task)
            found.append(difference(*(measure.of_runs(cell.predictions["id"]) for cell in (a, b))))
    return found


def _row(of: Dataset, delta: float, matrices: list[np.ndarray]) -> tuple[str | Value, ...]:
    scale, digits = (100.0, 1) if of.task == "classification" else (1.0, 3)
    pilot = p.components(matrices)
    low, high = pilot.range()
    needed, least, most = (p.needed(variances, delta / scale) for variances in (pilot, low, high))
    ends = [p.resolvable(variances, USUAL) for variances in (pilot, low, high)]
    text = f"{_count(needed)} [{_count(least)}, {_count(most)}]"
    number, from_, to = (float("nan") if x is None else float(x) for x in (needed, least, most))
    return (
        of.title,
        Value.of(jackknife(matrices), scale, digits, signed=True),
        Value(text, number, from_, to),
        Value.of(Estimate(*ends), scale, digits + 1),
        f"{pilot.runs} runs, {pilot.splits} split{'s' if pilot.splits > 1 else ''}",
    )


def _count(runs: int | None) -> str:
    return f"over {p.MOST}" if runs is None else str(runs)
