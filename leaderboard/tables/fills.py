"""How the tables are filled that are more than a measure of each dataset or method: see ``layouts``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from benchmark.measure.basics import bad_flips, good_flips
from benchmark.measure.catalogue import CHURN
from benchmark.types import Predictions
from leaderboard.read.results import Dataset, Entry, Results, family_weights
from leaderboard.stats.intervals import Estimate, IntervalKind
from leaderboard.tables import paper_filter
from leaderboard.tables.boards import board, marks
from leaderboard.tables.columns import Column, absolute, compute, interval, matched, pairs_of, versus
from leaderboard.tables.footprint import footprint
from leaderboard.tables.layouts import Body, Cell, Choice, Fill, averaged, explained, name, with_reference
from leaderboard.tables.summary import headline
from leaderboard.tables.table import MISSING, Value, spelled
from leaderboard.tables.triage import estimates

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
"""Columns: the header above, the header, the number of ``benchmark.measure.triage.measured``, and how it is written."""


def triage(choice: Choice) -> Fill:
    """A row for each dataset: how well scores of ERM's predictions find the examples that flip."""

    def fill(results: Results, kind: IntervalKind) -> Body | None:
        rows: list[tuple[Cell, ...]] = []
        datasets = with_reference(choice(results))
        for dataset in datasets:
            assert dataset.reference is not None
            tests = [cell.predictions["id"] for cell in dataset.reference.cells.values()]
            found = estimates(tests) if min(len(p.seeds) for p in tests) > 1 else {}
            shown = [Value.of(found.get(key), scale, digits, signed) for _, _, key, scale, digits, signed in TRIAGE]
            rows.append((name(dataset), *shown))
        if not rows:
            return None
        over = tuple((text, len(list(some))) for text, some in groupby(column[0] for column in TRIAGE))
        notes = (
            "The score is the churn of two runs, or the entropy of one, and flips are counted among the other runs; "
            "mean over choices of runs. Seen flips, as in the paper: a score of all runs, flips among the same runs.",
            "Intervals: 95 %, jackknife over retrainings.",
        )
        header = ("Dataset", *(column[1] for column in TRIAGE))
        return Body(header, tuple(rows), datasets, (*notes, *averaged(datasets)), (("", 1), *over))

    return fill


def split_by_split(choice: Choice) -> Fill:
    """A row for each dataset and canonical split, and one for the range over splits, where there are several."""
    churn, delta = absolute(CHURN), versus(CHURN)

    def fill(results: Results, kind: IntervalKind) -> Body | None:
        datasets = tuple(d for d in with_reference(choice(results)) if len(d.splits) > 1)
        shown = {entry.title for d in datasets for entry in d.entries}
        titles = [title for title in results.methods() if title in shown]
        rows: list[tuple[Cell, ...]] = []
        for dataset in datasets:
            reference = dataset.reference
            assert reference is not None
            table = [
                [
                    _on_split(dataset, title, split, churn if title == reference.title else delta, kind)
                    for title in titles
                ]
                for split in dataset.splits
            ]
            rows += [
                (name(dataset) if i == 0 else "", str(split), *cells)
                for i, (split, cells) in enumerate(zip(dataset.splits, table, strict=True))
            ]
            rows.append(("", "range", *map(_range, zip(*table, strict=True))))
        if not rows:
            return None
        header = [f"{title}, churn (%)" if i == 0 else f"{title}, Δ" for i, title in enumerate(titles)]
        return Body(("Dataset", "Split", *header), tuple(rows), datasets, explained(rows))

    return fill


def _on_split(dataset: Dataset, title: str, split: int, column: Column, kind: IntervalKind) -> Value:
    entry = dataset.entry(title)
    if entry is None or split not in entry.cells:
        return Value(MISSING)
    one = replace(entry, cells={split: entry.cells[split]})
    pairs = pairs_of(dataset, one)
    value = column.show(column.value(pairs, "id", kind)).but(flags=" ".join(marks(pairs)))
    return replace(value, text=value.text.partition(" [")[0])  # the interval is in the downloads: a column per method


def _range(values: Sequence[Value]) -> Value:
    numbers = [value.number for value in values if not np.isnan(value.number)]
    width = max(numbers) - min(numbers) if len(numbers) > 1 else np.nan
    return Value.of(Estimate(width, np.nan, np.nan))


def changes(choice: Choice) -> Fill:
    """A row for each dataset and two columns for each method: what replacing ERM by it mends and breaks."""

    def fill(results: Results, kind: IntervalKind) -> Body | None:
        datasets = with_reference(choice(results))
        shown = {e.title for d in datasets for e in d.entries if e is not d.reference and matched(pairs_of(d, e))}
        titles = [title for title in results.methods() if title in shown]
        if not titles:
            return None
        rows: list[tuple[Cell, ...]] = [
            (name(d), *(v for title in titles for v in _change(d, d.entry(title), kind))) for d in datasets
        ]
        header = ("Dataset", *("mended", "broken") * len(titles))
        return Body(header, tuple(rows), datasets, averaged(datasets), (("", 1), *((title, 2) for title in titles)))

    return fill


def _change(dataset: Dataset, entry: Entry | None, kind: IntervalKind) -> tuple[Value, Value]:
    both = matched(pairs_of(dataset, entry)) if entry else []
    if not both:
        return Value(MISSING), Value(MISSING)

    def value(flips: Callable[[Predictions, Predictions], np.ndarray]) -> Value:
        made = [flips(theirs, ours) for ours, theirs in both]  # (R, T) each
        estimate = interval(kind, lambda: [m.mean(axis=1) for m in made], lambda: [m.mean(axis=0) for m in made])
        shown = Value.of(estimate, 100)
        return replace(shown, text=shown.text.partition(" [")[0])

    return value(good_flips), value(bad_flips)


def outcomes(results: Results, kind: IntervalKind) -> Body | None:
    """The paper's filter on each classification dataset, beside what the paper says."""
    found = paper_filter.outcomes(results)
    rows = [
        (
            outcome.title,
            outcome.group,
            Value(str(outcome.n_train), outcome.n_train),
            Value(str(outcome.n_id), outcome.n_id),
            _plain(outcome.majority, 3),
            _plain(outcome.accuracy, 3),
            _plain(outcome.gap * 100, 1, signed=True),
            outcome.verdict,
            _plain(outcome.paper_majority, 3),
            _plain(outcome.paper_accuracy, 3),
        )
        for outcome in found
    ]
    header = ("Dataset", "Group", "Train", "ID test", "Majority", "ERM accuracy", "Gap (pp)", "Filter", "Majority")
    datasets = tuple(d for d in results.datasets if d.name in {outcome.dataset for outcome in found})
    over = (("", 8), ("Paper", 2))
    return Body((*header, "ERM accuracy"), tuple(rows), datasets, averaged(datasets), over) if rows else None


def _plain(number: float | None, digits: int, signed: bool = False) -> Value:
    return Value(MISSING) if number is None else Value(spelled(number, digits, signed), number)


def regression(results: Results, kind: IntervalKind) -> Body | None:
    """A row for each regression dataset and method."""
    datasets = results.of_task("regression")
    rows: list[tuple[Cell, ...]] = []
    for dataset in datasets:
        unit = dataset.unit
        first = f"{dataset.title} ({unit})" if unit else dataset.title
        made = board(dataset, "id", kind)
        shown = {column.key: column for column in made.columns}
        lowest = min(row.estimates["churn"].value for row in made.rows if row.estimates["churn"])
        erm = next(
            (row.estimates["churn"] for row in made.rows if row.title == getattr(dataset.reference, "title", "")), None
        )
        for row in made.rows:
            of = row.estimates
            churn, mae, delta = of["churn"], of["mae"], of["delta_churn"]
            assert churn is not None
            assert mae is not None
            rows.append(
                (
                    first if row is made.rows[0] else "",
                    row.title,
                    shown["mae"].show(mae),
                    shown["delta_mae"].show(of["delta_mae"]),
                    shown["churn"].show(churn).but(mark="best" if churn.value == lowest else ""),
                    _plain(churn.value / mae.value * 100, 0),
                    shown["delta_churn"].show(delta),
                    _plain(delta.value / erm.value * 100 if delta and erm else None, 0, signed=True),
                )
            )
    header = ("Dataset", "Method", "MAE", "Δ MAE", "Churn", "Churn (% of MAE)", "Δ churn", "Δ churn (% of ERM's)")
    return Body(header, tuple(rows), datasets, averaged(datasets)) if rows else None


def ranks(results: Results, kind: IntervalKind) -> Body | None:
    """A row for each method that ran on all headline datasets, by mean rank of its churn."""
    summary = headline(results, kind)
    if summary is None or (ranking := summary.ranking) is None:
        return None
    rows = [
        (row.title, Value.of(row.rank, digits=2), summary.ties(row.title), " ".join(row.marks))
        for row in summary.rows
        if row.rank is not None
    ]
    notes = [
        f"{ranking.n} datasets: {', '.join(ranking.blocks)}.",
        f"Friedman χ² = {spelled(ranking.chi2)}, p = {_power(ranking.p)}; Nemenyi critical difference "
        f"{spelled(ranking.critical_difference, 2)} at 0.05. Methods that share a letter do not differ significantly.",
        "Intervals: 95 %, for other retrainings on the same datasets.",
    ]
    left_out = [row.title for row in summary.rows if row.rank is None]
    left_out += [dataset.title for dataset in summary.left_out]
    if left_out:
        notes.append(f"Left out, because only complete blocks can be ranked: {', '.join(left_out)}.")
    return Body(("Method", "Mean rank", "Group", "Marks"), tuple(rows), summary.datasets, tuple(notes))


def _power(p: float) -> str:
    """``0.012`` or ``3.7 × 10⁻⁵``."""
    mantissa, _, exponent = f"{p:.1e}".partition("e")
    if p > 0.001 or not exponent:
        return spelled(p, 3)
    return f"{mantissa} × 10{str(int(exponent)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def footprints(results: Results, kind: IntervalKind) -> Body | None:
    """A row for each method: what it computes, and its CPU time in multiples of ERM's."""
    rows: list[tuple[Cell, ...]] = []
    for title in results.methods():
        of = [(d, e) for d in results.datasets if (e := d.entry(title)) is not None]
        dataset, entry = of[0]
        key = next(iter(entry.cells.values())).key
        found = footprint(key.method, key.params, dataset.task)
        measured = [(d, estimate.value) for d, e in of if (estimate := compute(pairs_of(d, e))) is not None]
        ratios = [ratio for _, ratio in measured]
        time = Value(MISSING)
        if ratios:
            mean = float(family_weights([d for d, _ in measured]) @ ratios)
            text = spelled(mean)
            if max(ratios) > min(ratios):
                text += f" ({spelled(min(ratios))} to {spelled(max(ratios))})"
            time = Value(text, mean)
        counts = (found.forwards, found.backwards, found.networks, found.passes) if found else (None,) * 4
        rows.append((title, *(_plain(count, 0) for count in counts), time))
    header = ("Method", "Forwards", "Backwards", "Networks", "Passes", "CPU time (× ERM)")
    over = (("", 1), ("Per training step", 2), ("Per prediction", 2), ("Measured", 1))
    return Body(header, tuple(rows), results.datasets, (), over) if rows else None
