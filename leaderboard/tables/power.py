"""Number of retrainings needed to distinguish two methods, estimated from existing cells."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from benchmark.errors import UserError, did_you_mean
from benchmark.lab.text import percent
from benchmark.measure.catalogue import churn
from benchmark.types import Sampling
from leaderboard.read.results import Dataset, Entry, Results
from leaderboard.stats import power as p
from leaderboard.stats.intervals import Estimate, difference, jackknife
from leaderboard.tables.columns import common
from leaderboard.tables.table import Table, Value

USUAL = 10
"""Number of retrainings in the paper's cells, and of halvings."""


def tables(results: Results, delta: float, methods: tuple[str, str], dataset: str = "") -> list[Table]:
    """Return a table for each sampling that decisions go by (``Results.leading``), on its datasets or on ``dataset``.

    Raises UserError as ``table`` does, if it does so for all of them.
    """
    parts = results.leading()
    built, errors = [], []
    for part in [part for part in parts if part.dataset(dataset)] or parts:
        try:
            built.append(table(part, delta, methods, dataset))
        except UserError as error:
            errors.append(error)
    if errors and not built:
        raise errors[0]
    return built


def table(results: Results, delta: float, methods: tuple[str, str], dataset: str = "") -> Table:
    """Return the retrainings that resolve a difference in churn of ``delta`` and the difference that ten resolve.

    There is a row for each dataset with both ``methods``. ``delta`` is in percentage points, or in target units for a
    regression. Raises UserError for an unknown dataset or method, for a ``delta`` that is not positive and finite, and
    if no dataset has both methods with four train seeds in common.
    """
    if not 0 < delta < math.inf:
        raise UserError(f"--delta {delta:g}: a finite difference above 0 expected")
    datasets = tuple(d for d in results.datasets if d.group != "variant" or d.name == dataset)
    chosen = [d for d in datasets if dataset in ("", d.name)]
    if dataset and not chosen:
        raise did_you_mean("dataset", dataset, [d.name for d in results.datasets])
    first, second = (replace(results, datasets=datasets).called(name) for name in methods)
    shared = [d for d in chosen if d.name in first and d.name in second]
    pilots = [(d, differences) for d in shared if (differences := _differences(first[d.name], second[d.name]))]
    if not pilots:
        raise UserError(
            f"no dataset has both {' and '.join(methods)} with four train seeds in common under "
            f"{results.sampling}: run them with --sampling {results.sampling}, or choose others with --methods"
        )
    rows = tuple(_row(d, delta, differences) for d, differences in pilots)
    titles = [
        " or ".join(dict.fromkeys(entries[d.name].title for d in chosen if d.name in entries))
        for entries in (first, second)
    ]
    unit = UNIT[results.sampling]
    caption = (
        f"Number of {unit} of {' and of '.join(titles)}, on the same samples of one split, after which the "
        f"95 % interval excludes 0 in {percent(p.POWER)} of cases if their churn truly differs by {delta:g}; "
        "in brackets, the range given the uncertainty of the variances. In percentage points for classification and "
        "target units for regression."
    )
    needed = f"{unit.partition(' (')[0].capitalize()} needed"
    header = ("Dataset", "Difference found", needed, f"Least difference that {USUAL} resolve", "Pilot")
    return Table("power", needed, caption, header, rows, notes=(NOTES[results.sampling],))


UNIT: Mapping[Sampling, str] = {
    "paper": "retrainings",
    "nested": "retrainings",
    "halves": "halvings (two retrainings each)",
}
_OF_RUNS = (
    "The variances come from the pilot's runs, split into the part that a run contributes to all its pairs and the "
    "rest of each pair; several canonical splits would divide them further and cover other data too."
)
NOTES: Mapping[Sampling, str] = {
    "paper": _OF_RUNS,
    "nested": _OF_RUNS,
    "halves": "The variance comes from the pilot's halvings of one training pool; it does not include the variance "
    "between pools.",
}


def _differences(first: Entry, second: Entry) -> list[np.ndarray]:
    """Return the difference in churn of each pair of runs (R, R), on each split with four shared train seeds."""
    differences = []
    for seed in sorted(set(first.cells) & set(second.cells)):
        a, b = (common(x.cells[seed], y.cells[seed]) for x, y in ((first, second), (second, first)))
        if len(a.key.seeds) >= 4:
            measure = churn(a.predictions["id"].task)
            differences.append(difference(*(measure.of_runs(cell.predictions["id"]) for cell in (a, b))))
    return differences


def _row(dataset: Dataset, delta: float, matrices: list[np.ndarray]) -> tuple[str | Value, ...]:
    scale, digits = (100.0, 1) if dataset.task == "classification" else (1.0, 3)
    pilot = p.components(matrices)
    low, high = pilot.range()
    needed, least, most = (p.needed(variances, delta / scale) for variances in (pilot, low, high))
    ends = [p.resolvable(variances, USUAL) for variances in (pilot, low, high)]
    runs = "halvings" if dataset.sampling == "halves" else "runs"
    text = f"{_count(needed)} [{_count(least)}, {_count(most)}]"
    number, from_, to = (float("nan") if x is None else float(x) for x in (needed, least, most))
    return (
        dataset.title,
        Value.of(jackknife(matrices), scale, digits, signed=True),
        Value(text, number, from_, to),
        Value.of(Estimate(*ends), scale, digits + 1),
        f"{pilot.runs} {runs}, {pilot.splits} split{'s' if pilot.splits > 1 else ''}",
    )


def _count(runs: int | None) -> str:
    return f"over {p.MOST}" if runs is None else str(runs)
