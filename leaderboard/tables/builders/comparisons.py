"""Builders of tables with several measures per dataset or method: triage, regression and compute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from benchmark.measure.intervals import FEWEST_EXAMPLES, Estimate, IntervalKind, jackknife
from benchmark.measure.triage import REVIEWED, RUNS, by_churn, by_entropy, mean_recall, measured
from benchmark.types import Predictions
from leaderboard.read.results import Dataset, Results, once, unit_weights
from leaderboard.tables.boards import board
from leaderboard.tables.columns import COMPUTE
from leaderboard.tables.layouts import Body, TableCell, averaged, by_method, explained, name, with_reference
from leaderboard.tables.table import MISSING, Value, spelled

TRIAGE = (
    ("Flips in the top 10 % (%)", "churn", "recall of churn", 100, 1, False),
    ("Flips in the top 10 % (%)", "entropy", "recall of entropy", 100, 1, False),
    ("Flips in the top 10 % (%)", "difference", "recall, difference", 100, 1, True),
    ("AuPC", "churn", "area of churn", 1, 3, False),
    ("AuPC", "entropy", "area of entropy", 1, 3, False),
    ("AuPC", "difference", "area, difference", 1, 3, True),
    ("Seen flips, top 10 % (%)", "churn", "recall of churn, seen", 100, 1, False),
    ("Seen flips, top 10 % (%)", "entropy", "recall of entropy, seen", 100, 1, False),
    ("Seen flips, AuPC", "churn", "area of churn, seen", 1, 3, False),
    ("Seen flips, AuPC", "entropy", "area of entropy, seen", 1, 3, False),
)
"""Columns: upper header, header, key in ``benchmark.measure.triage.measured``, scale, digits and whether signed."""
SHARES = np.linspace(0, 1, 101)


@dataclass(frozen=True)
class Curves:
    """Share of ERM's flips captured at each of ``SHARES``, mean over splits.

    ``churn`` is by the number of runs behind the score, with those in ``seen`` evaluated on flips that the score has
    seen; ``entropy`` is that of a single run.
    """

    title: str
    churn: Mapping[int, Sequence[float]]
    seen: frozenset[int]
    entropy: Sequence[float]

    def recall(self, k: int) -> float:
        """Return the share of flips captured by the review."""
        return float(np.interp(REVIEWED, SHARES, self.churn[k]))


def triage(results: Results, kind: IntervalKind) -> Body:
    """Return a row per dataset: how well scores of ERM's predictions find the examples that flip.

    A score takes two retrainings, and others to count flips among, which a halving does not have.
    """
    rows: list[tuple[TableCell, ...]] = []
    datasets = with_reference(results.headline() if results.sampling != "halves" else ())
    for dataset in datasets:
        by_key = flips_found(dataset)
        values = [Value.of(by_key.get(key), scale, digits, signed) for _, _, key, scale, digits, signed in TRIAGE]
        rows.append((name(dataset), *values))
    over = tuple((text, len(list(columns))) for text, columns in groupby(column[0] for column in TRIAGE))
    notes = (
        "The score is the churn of two runs or the entropy of one, and flips are counted among the other runs; "
        "mean over choices of runs. Seen flips, as in the paper: score from all runs, flips among the same runs.",
        "Intervals: 95 %, jackknife over retrainings.",
    )
    header = ("Dataset", *(column[1] for column in TRIAGE))
    return Body(header, tuple(rows), datasets, (*notes, *averaged(datasets)), (("", 1), *over))


@once
def flips_found(dataset: Dataset) -> Mapping[str, Estimate]:
    """Return the ``estimates`` of ERM on a headline dataset; none of a single retraining, and under halvings."""
    if not dataset.headline or dataset.reference is None or dataset.sampling == "halves":
        return {}
    tests = dataset.reference.tests
    return estimates(tests) if min(len(p.seeds) for p in tests) > 1 else {}


@once
def curves(dataset: Dataset) -> Curves | None:
    """Return ERM's curves on a classification.

    There are none without ERM, under halvings, or if a split lacks flips or has a single run.
    """
    if dataset.task != "classification" or dataset.reference is None or dataset.sampling == "halves":
        return None
    tests = dataset.reference.tests
    fewest = min(len(p.seeds) for p in tests)
    if fewest < 2:
        return None
    counts = [k for k in RUNS if k <= fewest]
    churn = {k: np.mean([mean_recall(by_churn(p, k), SHARES) for p in tests], axis=0).tolist() for k in counts}
    entropy = np.mean([mean_recall(by_entropy(p), SHARES) for p in tests], axis=0).tolist()
    if np.isnan([*churn.values(), entropy]).any():
        return None
    return Curves(dataset.title, churn, frozenset(k for k in counts if k > fewest - 2), entropy)


def estimates(splits: Sequence[Predictions]) -> dict[str, Estimate]:
    """Return the numbers of ``measured``, mean over splits, with the jackknife over runs.

    A score uses all runs jointly, so each number is recomputed without each run (Tukey's pseudo-values). There is no
    interval below four runs or ``FEWEST_EXAMPLES`` test examples.
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


def regression(results: Results, kind: IntervalKind) -> Body:
    """Return a row for each regression of the paper and each method; the boards of datasets have all others."""
    datasets = tuple(dataset for dataset in results.regressions() if dataset.group == "regression")
    rows: list[tuple[TableCell, ...]] = []
    for dataset in datasets:
        first = f"{dataset.title} ({dataset.unit})" if dataset.unit else dataset.title
        of_dataset = board(dataset, "id", kind)
        columns = {column.key: column for column in of_dataset.columns}
        churns = {row.title: churn for row in of_dataset.rows if (churn := row.estimates["churn"])}
        lowest = min((churns[row.title].value for row in of_dataset.rows if not row.marks), default=np.nan)
        erm = churns.get(dataset.reference.title) if dataset.reference else None
        for row in of_dataset.rows:
            churn, mae, delta = (row.estimates[key] for key in ("churn", "mae", "delta_churn"))
            assert churn is not None
            assert mae is not None
            cells = {key: column.show(row.estimates[key], row.differs) for key, column in columns.items()}
            share = Value.of(churn.divided(mae.value).value * 100, digits=0)
            share_of_erm = delta.divided(erm.value).value * 100 if delta and erm else None
            change = Value.of(share_of_erm, digits=0, signed=True)
            best = cells["churn"].but(mark="best" if churn.value == lowest else "", flags=" ".join(row.marks))
            start = first if row is of_dataset.rows[0] else ""
            rows.append((start, row.title, cells["mae"], cells["delta_mae"], best, share, cells["delta_churn"], change))
    header = ("Dataset", "Method", "MAE", "Δ MAE", "Churn", "Churn (% of MAE)", "Δ churn", "Δ churn (% of ERM's)")
    return Body(header, tuple(rows), datasets, (*explained(rows), *averaged(datasets)), explained=True)


def compute_times(results: Results, kind: IntervalKind) -> Body:
    """Return a row for each method: its CPU time in multiples of ERM's."""
    rows: list[tuple[TableCell, ...]] = []
    for title in results.methods():
        known = ((dataset, by_method(dataset, COMPUTE, kind).get(title)) for dataset in results.datasets)
        measured = [(dataset, estimate.value) for dataset, estimate in known if estimate]
        time = Value(MISSING)
        if measured:
            datasets, ratios = zip(*measured, strict=True)
            mean = float(unit_weights(datasets) @ ratios)
            spread = f" ({spelled(min(ratios))} to {spelled(max(ratios))})" if max(ratios) > min(ratios) else ""
            time = Value(spelled(mean) + spread, mean)
        rows.append((title, time))
    return Body(("Method", "CPU time (× ERM)"), tuple(rows), results.datasets)
