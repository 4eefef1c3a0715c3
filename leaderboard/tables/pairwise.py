"""Comparisons of any two methods: which one churns less, on which datasets, and is the difference real?

Two statements are kept apart. Differences between means over retrainings say who differs on these datasets; Friedman's
ranks (``leaderboard.stats.ranks``), whose units are families, say who would differ on other datasets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np

from benchmark.errors import UserError, did_you_mean
from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.measure.measure import Measure
from benchmark.types import Predictions
from leaderboard.read.results import Dataset, Entry, Results, family_weights
from leaderboard.stats.intervals import Estimate, IntervalKind, holm, weighted
from leaderboard.tables.columns import common, estimate, versus
from leaderboard.tables.summary import complete_block
from leaderboard.tables.table import MISSING, Table, Value


@dataclass(frozen=True)
class Pairwise:
    """The paired difference (``first`` − ``second``) in one measure, at equal train seeds, over D datasets.

    ``mean`` is over families; ``adjusted`` is its p-value after Holm's correction for all pairs that were compared.
    """

    measure: Measure
    first: str
    second: str
    datasets: tuple[Dataset, ...]
    each: tuple[Estimate, ...]
    mean: Estimate
    adjusted: float = float("nan")

    @property
    def families(self) -> list[Estimate]:
        """The difference in each family, the mean of its datasets."""
        names = [dataset.family for dataset in self.datasets]
        of_family = ([e for e, name in zip(self.each, names, strict=True) if name == f] for f in dict.fromkeys(names))
        return [weighted(of, np.full(len(of), 1 / len(of))) for of in of_family]

    @property
    def wins(self) -> tuple[int, int, int]:
        """Number of families in which the first method is better, in which neither is, and in which it is worse.

        A family counts as a win or a loss if its interval excludes 0.
        """
        signs = [int(np.sign(e.value)) * self.measure.better if e.excludes_zero else 0 for e in self.families]
        return signs.count(1), signs.count(0), signs.count(-1)

    @property
    def reversed(self) -> Pairwise:
        """The same comparison with the methods exchanged."""
        each = tuple(map(_negative, self.each))
        return replace(self, first=self.second, second=self.first, each=each, mean=_negative(self.mean))


def compared(
    datasets: Sequence[Dataset], first: str, second: str, measure: Measure = CHURN, kind: IntervalKind = "runs"
) -> Pairwise | None:
    """Compare the methods with these titles on the ID tests of the datasets that have both, at equal train seeds.

    Return None if no dataset has both.
    """
    found = []
    for dataset in datasets:
        a, b = dataset.entry(first), dataset.entry(second)
        if a and b and (splits := shared(a, b)):
            found.append((dataset, estimate(measure, splits, kind)))
    if not found:
        return None
    kept, each = zip(*found, strict=True)
    return Pairwise(measure, first, second, kept, each, weighted(each, family_weights(kept)))


def shared(a: Entry, b: Entry) -> list[tuple[Predictions, Predictions]]:
    """Return the ID predictions of two methods at their common train seeds, for each split that both have."""
    splits = [(a.cells[s], b.cells[s]) for s in a.cells if s in b.cells]
    both = [(common(one, other), common(other, one)) for one, other in splits if {*one.key.seeds} & {*other.key.seeds}]
    return [(one.predictions["id"], other.predictions["id"]) for one, other in both]


@lru_cache(maxsize=16)
def matrix(results: Results, measure: Measure = CHURN, kind: IntervalKind = "runs") -> tuple[Pairwise, ...]:
    """Compare all pairs of methods that have all headline datasets, with p-values adjusted for the number of pairs."""
    block, titles = complete_block(results.headline())
    pairs = [compared(block, a, b, measure, kind) for a, b in combinations(titles, 2)]
    kept = [pair for pair in pairs if pair is not None]
    adjusted = holm([pair.mean.p for pair in kept])
    return tuple(replace(pair, adjusted=float(p)) for pair, p in zip(kept, adjusted, strict=True))


def title_of(results: Results, text: str) -> str:
    """Return the title of the method that ``text`` names, by its title or as on the command line. Raises UserError."""
    entries = [entry for dataset in results.datasets for entry in dataset.entries]
    names = {name: entry.title for entry in reversed(entries) for name in (entry.spelled, entry.title)}
    if text not in names:
        raise did_you_mean("method", text, list(dict.fromkeys(entry.spelled for entry in entries)))
    return names[text]


def flipping_alone(dataset: Dataset, first: str, second: str) -> tuple[int, int]:
    """Return how many test examples flip in some pair of retrainings of only one of two methods, for each of them.

    Examples of several splits add up.
    """
    a, b = dataset.entry(first), dataset.entry(second)
    of_examples = CHURN.of_examples
    assert a is not None
    assert b is not None
    assert of_examples is not None
    alone = np.zeros(2, dtype=int)
    for pair in shared(a, b):
        flips = [of_examples(p) > 0 for p in pair]
        alone += [(flips[0] & ~flips[1]).sum(), (~flips[0] & flips[1]).sum()]
    return int(alone[0]), int(alone[1])


def to_table(results: Results, first: str, second: str, kind: IntervalKind = "runs") -> Table:
    """Return a row per headline dataset and the mean over families. Raises UserError if no dataset has both methods."""
    found = [compared(results.headline(), first, second, measure, kind) for measure in (CHURN, ACCURACY)]
    churn, accuracy = found
    if churn is None or accuracy is None:
        raise UserError(f"no headline dataset has both {first} and {second} under {results.sampling}")
    columns = [versus(pair.measure) for pair in (churn, accuracy)]
    rows: list[tuple[str | Value, ...]] = []
    for i, dataset in enumerate(churn.datasets):
        values = [column.show(pair.each[i]) for column, pair in zip(columns, (churn, accuracy), strict=True)]
        alone = [Value(str(n), n) for n in flipping_alone(dataset, first, second)]
        rows.append((dataset.title, *values, *alone))
    means = [column.show(pair.mean) for column, pair in zip(columns, (churn, accuracy), strict=True)]
    rows.append((f"Mean over {len(churn.families)} families", *means, Value(MISSING), Value(MISSING)))
    header = ("Dataset", *(column.title for column in columns), "Flip under it alone", "Flip under the other alone")
    caption = (
        f"{first} less {second} at equal train seeds, on the ID test, sampling {results.sampling}; flips are test "
        "examples whose class changes between some retrainings of one method and of none of the other."
    )
    names = tuple(dataset.name for dataset in churn.datasets)
    return Table("pairwise", f"{first} against {second}", caption, header, tuple(rows), datasets=names, kind=kind)


def answer(results: Results, first: str, second: str, kind: IntervalKind = "runs") -> list[str]:
    """Return a sentence for churn and one for accuracy: is ``first`` better, by how much, on how many families?"""
    sentences = []
    for measure, words in ((CHURN, ("churns less", "churns more")), (ACCURACY, ("is more", "is less"))):
        pair = compared(results.headline(), first, second, measure, kind)
        if pair is None:
            continue
        _, scale, digits = measure.shown_delta
        shown = Value.of(pair.mean, scale, digits, signed=True).text
        better = int(np.sign(pair.mean.value)) * measure.better if pair.mean.excludes_zero else 0
        tail = " accurate" if measure is ACCURACY else ""
        verdict = {
            1: f"{first} {words[0]}{tail} than {second}",
            -1: f"{first} {words[1]}{tail} than {second}",
            0: f"Whether {first} {words[0]}{tail} than {second} is open",
        }[better]
        wins, ties, losses = pair.wins
        everywhere = next((p for p in matrix(results, measure, kind) if {p.first, p.second} == {first, second}), None)
        n = len(matrix(results, measure, kind))
        adjusted = (
            f"; p = {_p(everywhere.adjusted)} after Holm's adjustment for {n} pairs of methods" if everywhere else ""
        )
        sentences.append(
            f"{verdict}: {shown} pp on average{adjusted}. Of {wins + ties + losses} families it is better on {wins}, "
            f"worse on {losses}, and on {ties} the interval includes 0."
        )
    return sentences


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def _negative(e: Estimate) -> Estimate:
    return Estimate(-e.value, -e.high, -e.low, e.p, e.df)
