"""Number of retrainings needed to distinguish two methods, estimated from existing cells."""

import math
from dataclasses import replace

import numpy as np

from benchmark.errors import UserError, did_you_mean, number_of
from benchmark.measure.catalogue import ORDER, churn
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import Estimate, difference
from benchmark.study.text import percent
from benchmark.types import Predictions
from leaderboard.read.results import Dataset, Entry, Results, once
from leaderboard.stats import power as p
from leaderboard.tables.columns import shared
from leaderboard.tables.table import MISSING, Table, Value

DELTA = 1.0
"""Difference in percentage points to resolve by default."""
USUAL = 10
"""Number of retrainings in the paper's cells, and of halvings."""
COUNTS = (5, 10, 20, 50)


def tables(results: Results, delta: float | None, methods: tuple[str, str], dataset: str = "") -> list[Table]:
    """Return a table for each sampling that decisions go by (``Results.leading``), on its datasets or on ``dataset``.

    The notes of the first say if regressions are left out. Raises UserError as ``table`` does, if it does so for all
    of them, and if there are no results.
    """
    parts = results.leading()
    if not parts:
        raise UserError(f"{results.source} has no finished cell: add some with churn run")
    built, errors = [], []
    for part in [part for part in parts if part.dataset(dataset)] or parts:
        try:
            built.append(table(part, delta, methods, dataset))
        except UserError as error:
            errors.append(error)
    if errors and not built:
        raise errors[0]
    if not dataset and any(d.task == "regression" for part in parts for d in part.datasets):
        built[0] = replace(built[0], notes=(*built[0].notes, LEFT_OUT))
    return built


def table(results: Results, delta: float | None, methods: tuple[str, str], dataset: str = "") -> Table:
    """Return the retrainings that resolve a difference in churn of ``delta`` and the difference that ten resolve.

    There is a row for each classification dataset with both ``methods``, or for ``dataset`` alone. ``delta`` is in
    percentage points (``DELTA`` if None), or for a regression in units of its target. Raises UserError for an unknown
    dataset or method, for the same method twice, for a ``delta`` that is not positive and finite or is missing for a
    regression, and if no dataset has both methods with four train seeds in common.
    """
    if delta is not None and not 0 < delta < math.inf:
        raise UserError(f"--delta {delta:g}: expected a finite difference above 0")
    datasets = tuple(d for d in results.datasets if d.group != "variant" or d.name == dataset)
    chosen = [d for d in datasets if (d.name == dataset if dataset else d.task == "classification")]
    if dataset and not chosen:
        raise did_you_mean("dataset", dataset, [d.name for d in results.datasets])
    first, second = (replace(results, datasets=datasets).called(name) for name in methods)
    both = [d for d in chosen if d.name in first and d.name in second]
    if any(first[d.name] is second[d.name] for d in both):
        raise UserError(f"--methods {','.join(methods)}: the same method twice: expected two different ones")
    pilots = [(d, splits) for d in both if (splits := _pilot(second[d.name], first[d.name]))]
    if not pilots:
        also = f". {LEFT_OUT}" if not dataset and any(d.task == "regression" for d in datasets) else ""
        raise UserError(
            f"no {'' if dataset else 'classification '}dataset has both {' and '.join(methods)} with four train seeds "
            f"in common under {results.sampling}: run them with --sampling {results.sampling}, or choose others with "
            f"--methods{also}"
        )
    regression = chosen[0].task == "regression"
    unit = (chosen[0].unit or "target units") if regression else "pp"
    if delta is None and regression:
        raise UserError(f"--dataset {dataset} is a regression: give --delta in its unit, {unit}")
    delta = DELTA if delta is None else delta
    rows = tuple(_row(d, delta, splits) for d, splits in pilots)
    titles = [
        " or ".join(dict.fromkeys(entries[d.name].title for d in chosen if d.name in entries))
        for entries in (first, second)
    ]
    counted, source = "retrainings", OF_RUNS
    if results.sampling == "halves":
        counted, source = "halvings (two retrainings each)", OF_HALVINGS
    caption = (
        f"Number of {counted} of {' and of '.join(titles)}, on the same samples of one split, after which the "
        f"95 % interval excludes 0 in {percent(p.POWER)} of cases if their churn truly differs by {delta:g} {unit}; "
        "in brackets, the 95 % range given the uncertainty of the variances, which a pilot without any variance does "
        "not give."
    )
    needed = f"{counted.partition(' (')[0].capitalize()} needed"
    least = f"Least difference that {USUAL} resolve ({unit})"
    header = ("Dataset", f"Difference found ({unit})", needed, least, "Pilot")
    sign = f"Differences are {titles[1]} − {titles[0]}, as on the board: below 0, {titles[1]} churns less."
    return Table("power", needed, caption, header, rows, notes=(_summary(rows, delta, unit), sign, source))


def _summary(rows: tuple[tuple[str | Value, ...], ...], delta: float, unit: str) -> str:
    """Say on how many datasets the usual number of retrainings resolves the difference."""
    least = [cell.number for row in rows if isinstance(cell := row[3], Value)]
    known = [number for number in least if not math.isnan(number)]
    enough = sum(number <= delta for number in known)
    return f"{USUAL} resolve a difference of {delta:g} {unit} on {enough} of {len(rows)} datasets."


@once
def typical(dataset: Dataset) -> list[tuple[int, float]]:
    """Return which difference from ERM, in what orders the board, ``COUNTS`` of retrainings (halvings) would find.

    It is that of the method with the median variance, with a power of 80 %; none without a method to compare.
    """
    erm, measure = dataset.reference, ORDER[dataset.task]
    pilots = [_pilot(entry, erm) for entry in dataset.entries if erm is not None and entry is not erm]
    found = [[difference(measure.of_runs(a), measure.of_runs(b)) for a, b in splits] for splits in pilots if splits]
    known = [p.components(values) for values in found if not any(np.isnan(part).any() for part in values)]
    if not known:
        return []
    median = sorted(known, key=lambda variances: variances.of_jackknife(USUAL))[len(known) // 2]
    return [(n, p.resolvable(median, n)) for n in COUNTS]


LEFT_OUT = "Regressions are left out, as each has its own unit: name one with --dataset, and give --delta in its unit."
OF_RUNS = (
    "The variances come from the pilot's runs, split into the part that a run contributes to all its pairs and the "
    "rest of each pair; several canonical splits would divide them further and cover other data too."
)
OF_HALVINGS = (
    "The variance comes from the pilot's halvings of one training pool; it does not include the variance between pools."
)


Pilot = list[tuple[Predictions, Predictions]]
"""The predictions of two methods at their shared train seeds, on each split with four of these."""


def _pilot(first: Entry, second: Entry) -> Pilot:
    return [both for both in shared(first, second) if len(both[0].seeds) >= 4]


def _row(dataset: Dataset, delta: float, splits: Pilot) -> tuple[str | Value, ...]:
    scale, digits = (100.0, 1) if dataset.task == "classification" else (1.0, 3)
    measure = churn(dataset.task)
    difference_found = estimate(measure, splits)
    pilot = p.components([difference(measure.of_runs(a), measure.of_runs(b)) for a, b in splits])
    runs = "halvings" if dataset.sampling == "halves" else "runs"
    source = f"{pilot.runs} {runs}, {number_of(pilot.splits, 'split')}"
    shown = Value.of(difference_found, scale, digits, signed=True)
    if math.isnan(difference_found.low):
        return (dataset.title, shown, Value(MISSING), Value(MISSING), source)
    low, high = pilot.range()
    needed, least, most = (p.needed(variances, delta / scale) for variances in (pilot, low, high))
    ends = [p.resolvable(variances, USUAL) for variances in (pilot, low, high)]
    text = f"{_count(needed)} [{_count(least)}, {_count(most)}]"
    number, from_, to = (float("nan") if x is None else float(x) for x in (needed, least, most))
    return (dataset.title, shown, Value(text, number, from_, to), Value.of(Estimate(*ends), scale, digits + 1), source)


def _count(runs: int | None) -> str:
    return f"over {p.MOST}" if runs is None else str(runs)
