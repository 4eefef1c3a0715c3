"""The order of methods: by matched churn, or 1 − ICC, at equal numbers of retrainings, among those that keep accuracy.

Raw churn is cheap for a model that predicts the commoner class more often, or shrinks its predictions, and a mean over
three retrainings may be low by luck: ``RULE`` says what methods are ordered by and which have a place. Comparing all
methods at the three train seeds of a newcomer would let it decide how much evidence counts for everyone else, so it is
listed without a place. Methods in the order may differ by chance: ``resolution`` tests pairs of them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from benchmark.measure.basics import LOST
from benchmark.measure.catalogue import KEPT, ORDER, churn
from benchmark.measure.intervals import (
    FEWEST_EXAMPLES,
    Estimate,
    Influence,
    IntervalKind,
    holm,
    influence,
    jackknife_of_each,
    paired,
    weighted,
)
from benchmark.measure.measure import Measure
from benchmark.types import Predictions, Task
from leaderboard.read.results import PLURAL, AggregationUnit, Dataset, Entry, once, unit_weights, units
from leaderboard.stats.ranks import Ranking, friedman, rank_intervals

LIMIT: Mapping[Task, float] = {"classification": 0.01, "regression": 0.02}
"""Loss of matched accuracy, or increase in MAE as a share of ERM's, that a method with a place is shown not to have."""
FAMILIES = 5
"""Number of families below which a mean over datasets has no interval over families."""
FEWEST_UNITS = 6
"""Number of families below which Wilcoxon's test cannot find a difference."""
PERMUTED = 13
"""Number of families up to which SciPy permutes the signs of gaps with ties."""
REHEARSED = 8
"""Number of families below which two thirds of them have no such interval."""
ALPHA = 0.05
T = TypeVar("T")
RULE = (
    "Methods are in the order of matched churn (regression: 1 − ICC). A method has a place if its difference from ERM "
    "in matched accuracy lies above −1 pp with its whole 95 % interval over families (regression: in MAE, below +2 %); "
    f"over fewer than {FAMILIES} families, which have no such interval, if it is not shown to lose more than 5 pp "
    "(5 %). Datasets on which it loses more than 5 pp of accuracy (†) are named beside it and do not cost it its place."
    " A place also requires every canonical split and train seed that most methods have, and no others count: a method "
    "with three of ten retrainings is listed, not placed."
)


@once
def counted(dataset: Dataset) -> dict[int, tuple[int, ...]]:
    """Return the canonical splits, with their train seeds, that most methods have; of equally many, the more."""
    splits = _usual([tuple(entry.cells) for entry in dataset.entries])
    return {s: _usual([e.cells[s].key.seeds for e in dataset.entries if s in e.cells]) for s in splits}


def _usual(seen: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    counts = Counter(tuple(sorted(values)) for values in seen)
    return max(counts, key=lambda values: (counts[values], len(values)))


def lacking(dataset: Dataset, entry: Entry) -> str:
    """Say what an entry lacks of what is ``counted``, as ``3 of 10 train seeds``; "" if nothing."""
    wanted = counted(dataset)
    if absent := wanted.keys() - entry.cells.keys():
        return f"{len(wanted) - len(absent)} of {len(wanted)} splits"
    fewest = min(wanted, key=lambda s: len({*wanted[s]} & {*entry.cells[s].key.seeds}) / len(wanted[s]))
    n = len({*wanted[fewest]} & {*entry.cells[fewest].key.seeds})
    return f"{n} of {len(wanted[fewest])} train seeds" if n < len(wanted[fewest]) else ""


def weights_of(block: Sequence[Dataset], kind: IntervalKind, unit: AggregationUnit = "family") -> np.ndarray:
    """Return the weights (D,) of datasets in a mean: each ``unit`` counts once, unless ``kind`` is the paper's."""
    return unit_weights(block, unit) if kind != "paper" else np.full(len(block), 1 / max(len(block), 1))


def means_of(
    block: Sequence[Dataset], estimates: Mapping[T, Sequence[Estimate | None]], kind: IntervalKind = "runs"
) -> dict[T, Estimate]:
    """Return the mean over families of each of ``estimates`` that all datasets have, with Student's 95 % interval.

    Below ``FAMILIES``, and for the paper's kind of interval, the interval is for other retrainings on these datasets.
    """
    known = {key: [e for e in each if e] for key, each in estimates.items() if all(each)}
    if len(block) == 1:
        return {key: one for key, (one,) in known.items()}
    if kind == "paper" or len(set(units(block))) < FAMILIES:
        return {key: weighted(each, weights_of(block, kind)) for key, each in known.items()}
    values = np.array([[e.value for e in each] for each in known.values()]).reshape(-1, len(block))
    (means,) = of_units(block, values.T)
    return dict(zip(known, jackknife_of_each(means.T), strict=True))


def over_what(block: Sequence[Dataset], kind: IntervalKind = "runs") -> str:
    """Say what the intervals of ``means_of`` are over."""
    if kind == "paper":
        return "pairs of retrainings, as in the paper"
    few = len(set(units(block))) < FAMILIES
    return "retrainings, for these datasets" if few else "families of datasets"


def keeps(change: Estimate | None, block: Sequence[Dataset]) -> bool:
    """Tell whether a method keeps what ``RULE`` asks for, by its difference from ERM; without one it does not.

    The difference is that of matched accuracy, or of MAE as a share of ERM's, from ``means_of``.
    """
    if change is None:
        return False
    task = block[0].task
    ends = np.array([change.low, change.high]) * KEPT[task].better
    worst, best = (change.value * KEPT[task].better,) * 2 if np.isnan(ends).any() else (ends.min(), ends.max())
    return bool(worst > -LIMIT[task] if len(set(units(block))) >= FAMILIES else best > -LOST)


@dataclass(frozen=True)
class Order:
    """Of M methods, by title: mean matched churn or 1 − ICC, its ``values`` (D, M) by dataset, and mean ranks.

    The ranks, and Friedman's test in ``ranking``, are those of raw churn, as in the paper.
    """

    ranking: Ranking | None
    ranks: Mapping[str, Estimate]
    matched: Mapping[str, float]
    values: np.ndarray


def order(
    block: Sequence[Dataset],
    titles: Sequence[str],
    kind: IntervalKind,
    unit: AggregationUnit = "family",
    ranked: Collection[str] | None = None,
    evalset: str = "id",
) -> Order:
    """Return the order of methods that lack nothing on the datasets of ``block``; each ``unit`` counts once.

    Mean ranks are those among ``ranked``, by default all, and all is computed on the test ``evalset``.
    """
    if not titles or not block:
        return Order(None, {}, {}, np.empty((len(block), 0)))
    matched = [_influences(dataset, ORDER[dataset.task], evalset) for dataset in block]
    values = np.array([[known[title][0] for title in titles] for known in matched])
    means = dict(zip(titles, (weights_of(block, kind, unit) @ values).tolist(), strict=True))
    titles = [title for title in titles if ranked is None or title in ranked]
    if len(titles) < 2:
        return Order(None, {}, means, values)
    raw = [_influences(dataset, churn(dataset.task), evalset) for dataset in block]
    churns = [[known[title] for title in titles] for known in raw]
    counted_as = None if kind == "paper" else units(block, unit)
    means_of_churn = np.array([[value for value, _ in row] for row in churns])
    ranking = friedman(means_of_churn, titles, [dataset.title for dataset in block], counted_as)
    estimates = rank_intervals(churns, counted_as)
    return Order(ranking, dict(zip(titles, estimates, strict=True)), means, values)


@once
def values_of(dataset: Dataset) -> dict[str, dict[str, list[Any]]]:
    """Return what orders go by: by test and measure, and by title, the value and each run's influence on each split.

    They are those of the entries that lack nothing, for what is ``counted``.
    """
    complete = [entry for entry in dataset.entries if not lacking(dataset, entry)]
    cells = {e.title: [e.cells[split].only(seeds) for split, seeds in counted(dataset).items()] for e in complete}
    return {
        f"{evalset}/{measure.key}": {
            title: [_of_split(cell.predictions[evalset], measure) for cell in of_splits]
            for title, of_splits in cells.items()
        }
        for evalset in dataset.evalsets
        for measure in (ORDER[dataset.task], churn(dataset.task))
    }


def _of_split(p: Predictions, measure: Measure) -> list[Any]:
    value, (runs,) = influence([measure.of_runs(p)])
    return [value, runs.tolist()]


def _influences(dataset: Dataset, measure: Measure, evalset: str) -> dict[str, Influence]:
    """Return a measure of each method that lacks nothing, and the influence of its runs, for what is ``counted``."""
    known = values_of(dataset)[f"{evalset}/{measure.key}"]
    means = np.array([[value for value, _ in splits] for splits in known.values()]).mean(axis=1).tolist()
    runs = [[np.array(of_run) / len(splits) for _, of_run in splits] for splits in known.values()]
    return dict(zip(known, zip(means, runs, strict=True), strict=True))


def in_order(matched: Mapping[str, float], kept: Collection[str]) -> tuple[list[str], list[str]]:
    """Return titles in the order of the page, and those among them that have a place, first to last.

    Those that are ``kept``, as they keep accuracy, come first, by ``matched`` churn; then the others by it, and last
    those of which it is nan.
    """
    ranked = sorted((title for title, value in matched.items() if not np.isnan(value)), key=lambda t: (matched[t], t))
    placed = [title for title in ranked if title in kept]
    losing = [title for title in ranked if title not in kept]
    return [*placed, *losing, *sorted(matched.keys() - {*ranked})], placed


Pair = tuple[str, str]


@dataclass(frozen=True)
class Resolution:
    """Tests of an order of methods, by the paired mean difference that orders them.

    ``pairs`` are titles, ``differences`` the first less the second, and ``adjusted`` their p-values after Holm's
    correction for the number of pairs. ``where`` they would differ, and how they are compared (``paired``), in words.
    """

    pairs: tuple[Pair, ...]
    differences: tuple[float, ...]
    adjusted: tuple[float, ...]
    where: str
    paired: str

    def places(self, titles: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return the first and the last place that each of ``titles`` may have, where ``pairs`` are all pairs of them.

        It comes after all that are shown to be better, and before all that are shown to be worse. The places of all
        methods together lie in these ranges with at least 95 % confidence (Mogstad et al. 2024,
        doi:10.1093/restud/rdad006).
        """
        tests = zip(self.pairs, self.differences, self.adjusted, strict=True)
        differ = [(pair, difference) for pair, difference, p in tests if p < ALPHA]
        better = Counter(pair[difference > 0] for pair, difference in differ)
        worse = Counter(pair[difference < 0] for pair, difference in differ)
        return {title: (1 + worse[title], len(titles) - better[title]) for title in titles}


def resolution(
    block: Sequence[Dataset], pairs: Iterable[Pair], kind: IntervalKind = "runs", evalset: str = "id"
) -> Resolution:
    """Compare the methods of each of ``pairs``: are the differences more than chance?

    Differences are paired by train seed and averaged as in ``order``. Their tests are those of the jackknife over
    retrainings, whichever intervals are shown: they say who differs on these datasets.
    """
    pairs = tuple(pairs)
    weights = weights_of(block, kind)
    of_datasets = [_influences(d, ORDER[d.task], evalset) for d in block]
    sizes = [sum(len(d.cell(split).predictions[evalset].ids) for split in counted(d)) for d in block]

    def compared(first: str, second: str) -> Iterator[Estimate]:
        for known, examples in zip(of_datasets, sizes, strict=True):
            estimate = paired(known[first], known[second])
            yield estimate if examples >= FEWEST_EXAMPLES else estimate.bare()

    estimates = [weighted([*compared(*pair)], weights) for pair in pairs]
    adjusted = tuple(holm([e.p for e in estimates]).tolist())
    return Resolution(pairs, tuple(e.value for e in estimates), adjusted, "on these datasets", "paired by train seed")


def resolution_elsewhere(
    block: Sequence[Dataset], values: Mapping[str, np.ndarray], pairs: Iterable[Pair], unit: AggregationUnit = "family"
) -> Resolution:
    """Compare the methods of each of ``pairs`` by Wilcoxon's signed-rank test: would they differ on other families?

    ``values`` (D,) are those of ``order``, by title. The units are families, or groups of families, each with the mean
    over its datasets (Demšar 2006, JMLR 7, section 3.1.3). Below ``FEWEST_UNITS`` none can differ.
    """
    pairs = tuple(pairs)
    (means,) = of_units(block, np.column_stack([*values.values()]), unit=unit)
    of_title = dict(zip(values, means.T, strict=True))
    gaps = [of_title[first] - of_title[second] for first, second in pairs]
    paired = f"Wilcoxon's test over {len(means)} {PLURAL[unit]}"
    adjusted = tuple(holm(_signed_ranks(np.reshape(gaps, (len(pairs), -1)))).tolist())
    return Resolution(pairs, tuple(float(gap.mean()) for gap in gaps), adjusted, f"on other {PLURAL[unit]}", paired)


def _signed_ranks(gaps: np.ndarray) -> np.ndarray:
    """Return p (P,) of Wilcoxon's test on each row of ``gaps`` (P, F): 1 if all are 0.

    SciPy treats rows that share a call alike, and one row takes as long as all: those without ties share one, and those
    with ties another. With ties, it permutes the signs of few gaps, and would rank them again each time.
    """
    from scipy.stats import permutation_test, rankdata, wilcoxon  # slow to import

    sizes = np.sort(np.abs(gaps), axis=1)
    exact = (sizes[:, 0] > 0) & (np.diff(sizes, axis=1) > 0).all(axis=1)
    p = np.ones(len(gaps))
    if exact.any():
        p[exact] = wilcoxon(gaps[exact], axis=1).pvalue
    tied = ~exact & gaps.any(axis=1)
    permuted = tied & ~np.isnan(sizes).any(axis=1) & (gaps.shape[1] <= PERMUTED)
    if (many := tied & ~permuted).any():
        p[many] = wilcoxon(gaps[many], axis=1, method="asymptotic").pvalue
    for i in np.flatnonzero(permuted):
        ranks = np.sign(gaps[i]) * (rankdata(np.abs(gaps[i])) - (gaps[i] == 0).sum())
        p[i] = permutation_test((ranks,), _positive, permutation_type="samples", vectorized=True).pvalue
    return p


def _positive(ranks: np.ndarray, axis: int) -> np.ndarray:
    return np.maximum(ranks, 0).sum(axis=axis)


def over_splits(block: Sequence[Dataset], title: str, kind: IntervalKind = "runs") -> dict[int, float]:
    """Return the mean of a method over ``block``, as in ``order``, on each split that counts on all datasets."""
    splits = sorted(set.intersection(*(set(counted(dataset)) for dataset in block)))
    weights = weights_of(block, kind)
    known = [values_of(d)[f"id/{ORDER[d.task].key}"][title] for d in block]
    values = [dict(zip(counted(d), of_splits, strict=True)) for d, of_splits in zip(block, known, strict=True)]
    return {s: float(weights @ np.array([by_split[s][0] for by_split in values])) for s in splits}


def stability(block: Sequence[Dataset], values: np.ndarray, changes: np.ndarray, first: int = 5) -> tuple[float, float]:
    """Return in which share of resamples of families the ``first`` places keep their set, and their order.

    Families are drawn with replacement, 2,000 times. ``values`` (D, M) are what methods are ordered by, and ``changes``
    (D, M) their differences from ERM in what a place asks for, 0 for ERM; both are taken anew from each resample, as
    ``keeps`` and ``order`` do.
    """
    values, changes = of_units(block, values, changes)
    n = len(values)
    resamples = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=2000)
    drawn = np.vstack([np.ones((1, n)), resamples])  # the first are the families themselves
    places = resampled(values, changes, drawn, block[0].task).argsort(axis=1, kind="stable")[:, :first]
    alike = (places == places[0]).all(axis=1)
    same = (np.sort(places, axis=1) == np.sort(places[0])).all(axis=1)
    return float(same[1:].mean()), float(alike[1:].mean())


def rehearsal(block: Sequence[Dataset], values: np.ndarray, changes: np.ndarray) -> tuple[float, float, float] | None:
    """Choose the order of ``stability`` on random two thirds of the families, and test it on the others, 200 times.

    Returns the share of draws in which no method with a place comes before the first on the others, and the mean lead
    of the first over the second on the two thirds and on the others. None if only one method has a place, wherever the
    order is chosen.
    """
    values, changes = of_units(block, values, changes)
    n = len(values)
    chosen = np.random.default_rng(0).permuted(np.tile(np.arange(n) < round(2 * n / 3), (200, 1)), axis=1)
    before = resampled(values, changes, chosen.astype(float), block[0].task)
    after = np.where(np.isinf(before), np.inf, ~chosen @ values / (~chosen).sum(axis=1, keepdims=True))
    pairs = before.argsort(axis=1, kind="stable")[:, :2]
    leads = [np.take_along_axis(each, pairs, axis=1) for each in (before, after)]
    stays = leads[1][:, 0] <= after.min(axis=1)
    of_two = np.isfinite(leads[0][:, 1])  # in the others only one method has a place
    if not of_two.any():
        return None
    here, there = (float(np.diff(lead[of_two]).mean()) for lead in leads)
    return float(stays.mean()), here, there


def of_units(block: Sequence[Dataset], *of_datasets: np.ndarray, unit: AggregationUnit = "family") -> list[np.ndarray]:
    """Return the means (F, M) over the datasets of each ``unit``, of arrays (D, M)."""
    members: dict[str, list[int]] = {}
    for i, name in enumerate(units(block, unit)):
        members.setdefault(name, []).append(i)
    alone = len(members) == len(block)  # as most are: their means are themselves
    return [v if alone else np.array([v[of].mean(axis=0) for of in members.values()]) for v in of_datasets]


def resampled(values: np.ndarray, changes: np.ndarray, drawn: np.ndarray, task: Task) -> np.ndarray:
    """Return what methods go by (B, M), where families count ``drawn`` (B, F) times; inf for those without a place.

    ``values`` and ``changes`` (F, M) are those of ``stability``, by family.
    """
    from scipy.special import stdtrit

    n = drawn.sum(axis=1, keepdims=True)
    mean = drawn @ changes / n
    error = np.sqrt(np.maximum(drawn @ np.square(changes) / n - np.square(mean), 0) / (n - 1))
    worst = KEPT[task].better * mean - stdtrit(n - 1, 0.975) * error
    return np.where(worst > -LIMIT[task], drawn @ values / n, np.inf)
