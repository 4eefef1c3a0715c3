"""Comparisons of any two methods: which one churns less, on which datasets, and is the difference real?

Two statements are kept apart. Differences between means over retrainings say who differs on these datasets; Friedman's
ranks (``leaderboard.stats.ranks``), whose units are families, say who would differ on other datasets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.errors import UserError, did_you_mean, number_of
from benchmark.measure.catalogue import CHURN, ORDER, QUALITY, example_churn, scorecard
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import Estimate, IntervalKind, jackknife, weighted
from benchmark.measure.measure import Measure
from benchmark.types import Sampling, Task
from leaderboard.read.results import Dataset, Results, unit_weights
from leaderboard.tables.columns import shared, versus
from leaderboard.tables.summary import sets
from leaderboard.tables.table import MISSING, Table, Value, spelled_p

SOME = 5
"""Datasets that an error names."""


@dataclass(frozen=True)
class Pairwise:
    """The paired difference (``first`` − ``second``) in one measure, at equal train seeds, over D datasets.

    ``mean`` is over families, with the interval for other retrainings on these datasets.
    """

    measure: Measure
    first: str
    second: str
    datasets: tuple[Dataset, ...]
    each: tuple[Estimate, ...]
    mean: Estimate

    @property
    def families(self) -> list[Estimate]:
        """The difference in each family, the mean of its datasets."""
        names = [dataset.family for dataset in self.datasets]
        of_family = ([e for e, name in zip(self.each, names, strict=True) if name == f] for f in dict.fromkeys(names))
        return [weighted(same, np.full(len(same), 1 / len(same))) for same in of_family]

    @property
    def elsewhere(self) -> Estimate:
        """The mean with Student's interval over families, which is a statement about other families."""
        return jackknife([np.array([family.value for family in self.families])])

    @property
    def wins(self) -> tuple[int, int, int]:
        """Number of families in which the first method is better, in which neither is, and in which it is worse.

        A family counts as a win or a loss if its interval excludes 0.
        """
        signs = [int(np.sign(e.value)) * self.measure.better if e.excludes_zero else 0 for e in self.families]
        return signs.count(1), signs.count(0), signs.count(-1)


def compared(
    datasets: Sequence[Dataset], first: str, second: str, measure: Measure = CHURN, kind: IntervalKind = "runs"
) -> Pairwise | None:
    """Compare two titles on the ID tests of the datasets that have both, at equal train seeds; None if none has."""
    estimated = []
    for dataset in datasets:
        a, b = dataset.entry(first), dataset.entry(second)
        if a and b and (splits := shared(a, b)):
            estimated.append((dataset, estimate(measure, splits, kind)))
    if not estimated:
        return None
    kept, each = zip(*estimated, strict=True)
    return Pairwise(measure, first, second, kept, each, weighted(each, unit_weights(kept)))


def report(
    results: Results,
    first: str,
    second: str,
    also: Sequence[str] = (),
    on: str = "headline",
    sampling: Sampling | None = None,
    kind: IntervalKind = "runs",
) -> tuple[list[str], Table]:
    """Return sentences and a table on two methods, which ``title_of`` knows, on the datasets of ``datasets_on``.

    Raises UserError for a sampling without results, an unknown method, measure or dataset, and equal methods.
    """
    part = next((p for p in results.by_sampling if p.sampling == sampling), None) if sampling else results.front
    if part is None:
        has = ", ".join(p.sampling for p in results.by_sampling) or "none"
        raise UserError(f"--sampling {sampling}: {results.source} has no results under it; it has: {has}")
    datasets = datasets_on(part, on)
    if not datasets:
        names = ", ".join(dataset.name for dataset in part.datasets[:SOME]) or "none"
        raise UserError(
            f"--on {on}: {results.source} has no such dataset under {part.sampling}: choose another set or sampling, "
            f"or some of its datasets: {names}{', …' if len(part.datasets) > SOME else ''}"
        )
    ours, theirs = (title_of(datasets, text) for text in (first, second))
    if ours == theirs:
        raise UserError(f"{first} and {second} are the same method: give two different ones")
    pairs = pairs_in(datasets, ours, theirs, measures_of(datasets[0].task, also), kind)
    return [answer(pair) for pair in pairs], to_table(pairs, kind)


def title_of(datasets: Sequence[Dataset], text: str) -> str:
    """Return the title of the method that ``text`` names, by its title or as on the command line. Raises UserError.

    A name may be another method on other datasets, where another λ is the default.
    """
    entries = [entry for dataset in datasets for entry in dataset.entries]
    names = {name: entry.title for entry in reversed(entries) for name in (entry.spelled, entry.title)}
    if text not in names:
        raise did_you_mean("method", text, list(dict.fromkeys(entry.spelled for entry in entries)))
    return names[text]


def datasets_on(results: Results, on: str) -> tuple[Dataset, ...]:
    """Return the datasets that ``on`` lists, by the names of sets and datasets. Raises UserError.

    Datasets of two tasks have no measure in common, so they are refused.
    """
    every = sets(results)
    known = {dataset.name: (dataset,) for dataset in results.datasets} | {
        "headline": results.headline(),
        "regression": results.regressions(),
        "wide": every.get(("classification", "wide"), ()),
        "wide-regression": every.get(("regression", "wide"), ()),
    }
    chosen: dict[str, Dataset] = {}  # each is evidence once
    if not (names := [name for name in map(str.strip, on.split(",")) if name]):
        raise UserError(f"--on {on!r}: expected sets or datasets, as in headline")
    for name in names:
        if name not in known:
            raise did_you_mean("dataset", name, list(known))
        chosen |= {dataset.name: dataset for dataset in known[name]}
    if len({dataset.task for dataset in chosen.values()}) > 1:
        raise UserError(f"--on {on!r}: expected datasets of one task")
    return tuple(chosen.values())


def measures_of(task: Task, also: Sequence[str] = ()) -> list[Measure]:
    """Return what orders methods, raw churn, accuracy or MAE, and the measures called ``also``.

    Raises UserError for one that the scorecard does not have.
    """
    known = {measure.key: measure for measure in scorecard(task)}
    for key in also:
        if key not in known:
            raise did_you_mean("measure", key, list(known))
    return [known[key] for key in dict.fromkeys([ORDER[task].key, "churn", QUALITY[task].key, *also])]


def flipping_alone(dataset: Dataset, first: str, second: str) -> tuple[int, int]:
    """Return how many test examples, of all splits, flip between retrainings of the first method alone, of the second.

    An example flips if two of the method's retrainings differ on it.
    """
    a, b = dataset.entry(first), dataset.entry(second)
    assert a is not None
    assert b is not None
    alone = np.zeros(2, dtype=int)
    for pair in shared(a, b):
        flips = [example_churn(p) > 0 for p in pair]
        alone += [(flips[0] & ~flips[1]).sum(), (~flips[0] & flips[1]).sum()]
    return int(alone[0]), int(alone[1])


def pairs_in(
    datasets: Sequence[Dataset], first: str, second: str, measures: Sequence[Measure], kind: IntervalKind = "runs"
) -> list[Pairwise]:
    """Return the comparison in each measure. Raises UserError if none of ``datasets`` has both methods."""
    pairs = [compared(datasets, first, second, measure, kind) for measure in measures]
    if known := [pair for pair in pairs if pair is not None]:
        return known
    names = ", ".join(dataset.title for dataset in datasets) or "no dataset"
    raise UserError(f"no dataset has both {first} and {second} at the same train seeds: looked at {names}")


def to_table(pairs: Sequence[Pairwise], kind: IntervalKind = "runs") -> Table:
    """Return a row per dataset and the mean over families, with a column per measure."""
    main = pairs[0]
    columns = [versus(pair.measure) for pair in pairs]
    classes = main.measure.task == "classification"
    rows: list[tuple[str | Value, ...]] = []
    for i, dataset in enumerate(main.datasets):
        values = [column.show(pair.each[i]) for column, pair in zip(columns, pairs, strict=True)]
        alone = flipping_alone(dataset, main.first, main.second) if classes else ()
        rows.append((dataset.title, *values, *(Value.of(n, digits=0) for n in alone)))
    means = [column.show(pair.mean) for column, pair in zip(columns, pairs, strict=True)]
    n = len(main.families)
    last = f"Mean over {number_of(n, 'family', 'families')}"
    rows.append((last, *means, *[Value(MISSING)] * (2 * classes)))
    counts = ("Flip under it alone", "Flip under the other alone") if classes else ()
    header = ("Dataset", *(column.title for column in columns), *counts)
    caption = (
        f"{main.first} minus {main.second} at equal train seeds, on the ID test, sampling {main.datasets[0].sampling}."
    )
    if classes:
        caption += (
            " Examples that flip under one method alone are test examples whose class changes between some of its "
            "retrainings and between none of the other's."
        )
    names = tuple(dataset.name for dataset in main.datasets)
    return Table(
        "pairwise", f"{main.first} against {main.second}", caption, header, tuple(rows), datasets=names, kind=kind
    )


def answer(pair: Pairwise) -> str:
    """Say in a sentence or two: is the first method better, by how much, and on how many families?"""
    column, name = versus(pair.measure), pair.measure.name
    better = int(np.sign(pair.mean.value)) * pair.measure.better if pair.mean.excludes_zero else 0
    verdict = {1: "{} is better", -1: "{} is worse", 0: "it is unclear whether {} is better"}[better].format(pair.first)
    wins, ties, losses = pair.wins
    n, other = wins + ties + losses, pair.elsewhere
    elsewhere = "one family says nothing"
    if not np.isnan(other.p):
        interval = column.show(other).text.partition(" ")[2]
        elsewhere = f"{interval}, {spelled_p(other.p)} (Student's t over {n} families)"
    families = number_of(n, "family", "families")
    p = "" if np.isnan(pair.mean.p) else f", {spelled_p(pair.mean.p)}"
    return (
        f"On these datasets, {verdict} than {pair.second} in {name}: {column.title} {column.show(pair.mean).text} on "
        f"average{p}. On other families: {elsewhere}. Of {families} here it wins on {wins} and loses on {losses}; on "
        f"{ties} the interval includes 0."
    )
