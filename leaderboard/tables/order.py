"""The order of methods on the first page: by churn, at equal numbers of retrainings, among those that keep accuracy.

Low churn is cheap for a bad model, and a mean over three retrainings may be low by luck: ``RULE`` says which methods
have a place. Comparing all methods at the three train seeds of a newcomer would let it decide how much evidence counts
for everyone else, so it is listed without a place. Neighbours in the order may differ by chance: ``resolution`` tests
each pair of them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from benchmark.measure.basics import LOST
from benchmark.measure.catalogue import churn
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import Estimate, IntervalKind, holm, leave_one_out, weighted
from leaderboard.read.results import PLURAL, Dataset, Entry, Unit, unit_weights, units
from leaderboard.stats.ranks import Ranking, friedman, rank_intervals
from leaderboard.tables.columns import common

LIMITS = (0.01, 0.02, LOST, 0.1)
"""Losses of accuracy, or increases in MAE as a share of ERM's, to choose from as the limit; ``LOST`` is that of †."""
ALPHA = 0.05
RULE = (
    "A method has a place if its loss against ERM is beyond the limit (5 pp of accuracy, or 5 % of MAE), with its "
    "whole interval, on none of these datasets; those that lose more (†) follow, without a place. A place also takes "
    "every canonical split and train seed that most methods have, and no others count: a method with three of ten "
    "retrainings is listed, not placed."
)


def counted(dataset: Dataset) -> dict[int, tuple[int, ...]]:
    """Return the canonical splits, with their train seeds, that most methods have; of equally many, the more."""

    def most() -> dict[int, tuple[int, ...]]:
        splits = _usual([tuple(entry.cells) for entry in dataset.entries])
        return {s: _usual([e.cells[s].key.seeds for e in dataset.entries if s in e.cells]) for s in splits}

    return dataset.once("counted", most)


def _usual(found: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    counts = Counter(tuple(sorted(one)) for one in found)
    return max(counts, key=lambda one: (counts[one], len(one)))


def lacking(dataset: Dataset, entry: Entry) -> str:
    """Say what an entry lacks of what is ``counted``, as ``3 of 10 train seeds``; "" if nothing."""
    wanted = counted(dataset)
    if absent := wanted.keys() - entry.cells.keys():
        return f"{len(wanted) - len(absent)} of {len(wanted)} splits"
    fewest = min(wanted, key=lambda s: len({*wanted[s]} & {*entry.cells[s].key.seeds}) / len(wanted[s]))
    n = len({*wanted[fewest]} & {*entry.cells[fewest].key.seeds})
    return f"{n} of {len(wanted[fewest])} train seeds" if n < len(wanted[fewest]) else ""


def trimmed(dataset: Dataset, entry: Entry) -> Entry:
    """Return the entry, which lacks nothing, with only what is ``counted``."""
    return replace(entry, cells={split: entry.cells[split].only(seeds) for split, seeds in counted(dataset).items()})


def weights_of(block: Sequence[Dataset], kind: IntervalKind, unit: Unit = "family") -> np.ndarray:
    """Return the weights (D,) of datasets in a mean: each ``unit`` counts once, unless ``kind`` is the paper's."""
    return unit_weights(block, unit) if kind != "paper" else np.full(len(block), 1 / max(len(block), 1))


@dataclass(frozen=True)
class Order:
    """Of M methods, by title: the mean rank of each, and the mean churn that the order goes by.

    ``churn`` is a share or, for regressions, whose units differ, a multiple of ERM's. ``ranking`` is Friedman's test.
    """

    ranking: Ranking | None
    ranks: Mapping[str, Estimate]
    churn: Mapping[str, float]


def order(block: Sequence[Dataset], titles: Sequence[str], kind: IntervalKind, unit: Unit = "family") -> Order:
    """Return the order of methods that lack nothing on the datasets of ``block``; each ``unit`` counts once."""
    if not titles or not block:
        return Order(None, {}, {})
    quantities = [[_churns(dataset, title) for title in titles] for dataset in block]
    values = np.array([[np.mean([leave_one_out(q)[0] for q in splits]) for splits in row] for row in quantities])
    means = weights_of(block, kind, unit) @ (values / _scales(block)[:, None])
    of = dict(zip(titles, means.tolist(), strict=True))
    if len(titles) < 2:
        return Order(None, {}, of)
    once = None if kind == "paper" else units(block, unit)
    ranking = friedman(values, titles, [dataset.title for dataset in block], once)
    estimates = rank_intervals(quantities, once).estimates
    return Order(ranking, dict(zip(titles, estimates, strict=True)), of)


def _churns(dataset: Dataset, title: str) -> list[np.ndarray]:
    """Return the churn of a method by run or pair of runs, for each split that counts."""
    entry = dataset.entry(title)
    assert entry is not None
    measure = churn(dataset.task)
    return [measure.of_runs(cell.predictions["id"]) for cell in trimmed(dataset, entry).cells.values()]


def _scales(block: Sequence[Dataset]) -> np.ndarray:
    """Return what churn is divided by before it is averaged over datasets, (D,): 1, and for a regression ERM's."""

    def scale(dataset: Dataset) -> float:
        if dataset.task == "classification":
            return 1.0
        shown = dataset.reference or dataset.entries[0]
        return float(np.mean([churn(dataset.task).mean(cell.predictions["id"]) for cell in shown.cells.values()]))

    return np.array([scale(dataset) for dataset in block])


@dataclass(frozen=True)
class Resolution:
    """How far an order of methods can be trusted: each with the next, by the paired difference in mean churn.

    ``pairs`` are titles, ``differences`` the first less the second, and ``adjusted`` their p-values after Holm's
    correction for the number of pairs. ``where`` they would differ, and how they are compared (``paired``), in words.
    """

    pairs: tuple[tuple[str, str], ...]
    differences: tuple[float, ...]
    adjusted: tuple[float, ...]
    where: str
    paired: str

    @property
    def differ(self) -> tuple[bool, ...]:
        """Which pairs differ."""
        return tuple(p < ALPHA for p in self.adjusted)

    @property
    def told(self) -> str:
        """How many pairs differ, in words; "" if there are none."""
        n = len(self.pairs)
        return (
            f"Resolution {self.where}: {sum(self.differ)} of the {n} pairs of neighbours in this order differ in mean "
            f"churn ({self.paired}, p < {ALPHA} after Holm's correction for {n} pairs)."
        ) * bool(n)

    @property
    def open(self) -> frozenset[str]:
        """The methods that cannot be told apart from the one before them."""
        return frozenset(second for (_, second), apart in zip(self.pairs, self.differ, strict=True) if not apart)


def resolution(block: Sequence[Dataset], titles: Sequence[str], kind: IntervalKind = "runs") -> Resolution:
    """Compare each of ``titles``, in their order, with the next: are the differences in mean churn more than chance?

    Differences are paired by train seed and averaged as in ``order``. Their tests are those of the jackknife over
    retrainings, whichever intervals are shown: they say who differs on these datasets.
    """
    pairs = tuple(pairwise(titles))
    weights = weights_of(block, kind)
    found = [weighted(_differences(block, *pair), weights) for pair in pairs]
    adjusted = tuple(holm([e.p for e in found]).tolist())
    return Resolution(pairs, tuple(e.value for e in found), adjusted, "on these datasets", "paired by train seed")


def resolution_elsewhere(block: Sequence[Dataset], titles: Sequence[str], unit: Unit = "family") -> Resolution:
    """Compare each of ``titles`` with the next by Wilcoxon's signed-rank test: would they differ on other families?

    The units are families, or groups of families, each with the mean difference over its datasets (Demšar 2006, JMLR 7,
    section 3.1.3). With fewer than six units no difference can be significant.
    """
    from scipy.stats import wilcoxon  # slow to import

    pairs, of = tuple(pairwise(titles)), np.array(units(block, unit))
    names = dict.fromkeys(of.tolist())
    means, p = [], []
    for pair in pairs:
        each = np.array([e.value for e in _differences(block, *pair)])
        of_units = np.array([each[of == name].mean() for name in names])
        means.append(float(of_units.mean()))
        p.append(float(wilcoxon(of_units).pvalue) if of_units.any() else 1.0)
    paired = f"Wilcoxon's test over {len(names)} {PLURAL[unit]}"
    return Resolution(pairs, tuple(means), tuple(holm(p).tolist()), f"on other {PLURAL[unit]}", paired)


def _differences(block: Sequence[Dataset], first: str, second: str) -> list[Estimate]:
    """Return the difference in churn of two methods on each dataset, in the units of ``order``."""
    scales = _scales(block).tolist()
    return [_difference(d, first, second).divided(scale) for d, scale in zip(block, scales, strict=True)]


def _difference(dataset: Dataset, first: str, second: str) -> Estimate:
    a, b = (trimmed(dataset, entry) for title in (first, second) if (entry := dataset.entry(title)))
    both = [(common(a.cells[s], b.cells[s]), common(b.cells[s], a.cells[s])) for s in a.cells]
    return estimate(churn(dataset.task), [(one.predictions["id"], other.predictions["id"]) for one, other in both])


def over_splits(block: Sequence[Dataset], title: str, kind: IntervalKind = "runs") -> dict[int, float]:
    """Return the mean churn of a method over ``block``, as in ``order``, on each split that counts on all datasets."""
    splits = sorted(set.intersection(*(set(counted(dataset)) for dataset in block)))
    scales, weights = _scales(block), weights_of(block, kind)
    churns = [dict(zip(counted(dataset), _churns(dataset, title), strict=True)) for dataset in block]
    return {s: float(weights @ (np.array([leave_one_out(of[s])[0] for of in churns]) / scales)) for s in splits}
