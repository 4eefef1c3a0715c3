"""Builders of the tables of factors: what churn and accuracy owe to the parts of a pipeline, and what remedies add.

These are tables and not a study: a study asks for the cells of a grid that it names, and has no answer while one of
them is missing. These take whichever pipelines are complete on the datasets of the first page, and say what that leaves
open.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from benchmark.measure.catalogue import KEPT, ORDER
from benchmark.measure.intervals import Estimate, IntervalKind, jackknife
from benchmark.studies.transfer import TOLERANCE, setting_for
from benchmark.tuning import TITLES
from benchmark.types import Task
from leaderboard.read.pipelines import Parts, parts_of
from leaderboard.read.results import Dataset, Results, units
from leaderboard.stats.factors import FAMILY, REST, Term, shares, told_apart
from leaderboard.tables.boards import SUSPICIONS, boards
from leaderboard.tables.layouts import Body, TableCell, listed
from leaderboard.tables.order import FAMILIES, keeps, of_units
from leaderboard.tables.summary import complete_block, sets
from leaderboard.tables.table import MISSING, Value, spelled

PLAIN = "none"
"""The remedy of a plain pipeline."""
WORDS = {FAMILY: "family of datasets", REST: "more than two together, and chance"}


@dataclass(frozen=True, eq=False)
class Grid:
    """P pipelines that are complete on a set of datasets of F families, ERM (number ``erm``) among them.

    ``churn`` is what the order goes by, and ``quality`` what a place may not lose: matched accuracy, or the MAE as a
    share of ERM's. Both are (P, F). ``incomplete`` is the number of pipelines that lack some of these datasets.
    """

    task: Task
    datasets: tuple[Dataset, ...]
    titles: tuple[str, ...]
    parts: tuple[Parts, ...]
    erm: int
    churn: np.ndarray
    quality: np.ndarray
    incomplete: int

    def only(self, kept: Sequence[int]) -> "Grid":
        titles, parts = tuple(self.titles[p] for p in kept), tuple(self.parts[p] for p in kept)
        arrays = self.churn[kept], self.quality[kept]
        return Grid(self.task, self.datasets, titles, parts, kept.index(self.erm), *arrays, self.incomplete)

    @cached_property
    def varied(self) -> "Grid":
        """The grid without settings tried on one kind of features alone, of which one is to be transferred."""
        tried = Counter(setting for setting, _ in {((p.learner, p.tuning), p.features) for p in self.parts})
        rules = {"default", *TITLES.values()}
        return self.only([i for i, p in enumerate(self.parts) if p.tuning in rules or tried[p.learner, p.tuning] > 1])

    def nested(self) -> list[str]:
        """Return the features that only learners read which read no others: they are a part of the learner."""
        read = {(parts.learner, parts.features) for parts in self.parts}
        kinds = Counter(learner for learner, _ in read)
        beside = {features for learner, features in read if kinds[learner] > 1}
        return sorted({features for _, features in read} - beside - {self.parts[self.erm].features})

    @cached_property
    def factors(self) -> dict[str, list[str]]:
        """The levels of each part of a pipeline that can be told apart from the others."""
        usual, nested = self.parts[self.erm].features, self.nested()
        parts = [of._replace(features=usual) if of.features in nested else of for of in self.parts]
        levels = {name: [getattr(of, name) for of in parts] for name in Parts._fields}
        return {name: levels[name] for name in told_apart(levels)}

    @cached_property
    def shares(self) -> dict[str, dict[Term, Estimate]]:
        """The shares of the variance of churn, of its difference from ERM, and of quality, by term; maybe of none.

        Of MAEs, the logarithm counts, or one that is far too large would be all of the variance.
        """
        churn, factors, kept = ORDER[self.task].name, self.factors, KEPT[self.task].name
        values = {churn: self.churn, f"Δ {churn}": self.churn - self.churn[self.erm]}
        values |= {kept: self.quality} if self.task == "classification" else {f"log {kept}": np.log(self.quality)}
        return {name: shares(factors, each) for name, each in values.items()} if factors else {}


@lru_cache(maxsize=8)
def grid(results: Results, kind: IntervalKind, task: Task) -> Grid | None:
    """Return the grid of most cells on the first page's datasets, calmest first; None without ERM or enough families.

    The order of the first page prefers more datasets; here, more pipelines say as much.
    """
    of_task = {group: some for (of, group), some in sets(results).items() if of == task}
    wanted = of_task.get("wide") or next(iter(of_task.values()), ())
    datasets, complete = complete_block(wanted, power=1)
    rows = {(b.dataset, row.title): row for b in boards(results, kind) if b.evalset == "id" for row in b.rows}
    unfit = {title for (_, title), row in rows.items() if {"control", *SUSPICIONS} & {*row.marks}}
    titles = tuple(title for title in complete if title not in unfit)
    reference = next((d.reference.title for d in datasets if d.reference), "")
    if reference not in titles or len(set(units(datasets))) < FAMILIES:
        return None
    estimates = [[rows[d.name, title].estimates for title in titles] for d in datasets]
    churn, quality = (
        np.array([[e.value if (e := of[key]) else np.nan for of in line] for line in estimates])
        for key in (ORDER[task].key, KEPT[task].key)
    )
    erm = titles.index(reference)
    if task == "regression":
        quality /= quality[:, [erm]]
    churn, quality = (of.T for of in of_units(datasets, churn, quality))
    parts = tuple(_parts(datasets, title) for title in titles)
    lacking = len({entry.title for dataset in wanted for entry in dataset.entries} - {*complete})
    known = [p for p in churn.mean(axis=1).argsort().tolist() if not np.isnan(churn[p] + quality[p]).any()]
    whole = Grid(task, tuple(datasets), titles, parts, erm, churn, quality, lacking)
    return whole.only(known) if erm in known else None


def _parts(datasets: Sequence[Dataset], title: str) -> Parts:
    """Return the parts of a pipeline; where datasets have features of their own, those of most datasets."""
    cells = [cell for d in datasets if (entry := d.entry(title)) for cell in entry.cells.values()]
    return Counter(map(parts_of, cells)).most_common(1)[0][0]


def named(term: Term) -> str:
    """Return a term in words, as ``Features × learner``."""
    text = " × ".join(WORDS.get(name, name) for name in term)
    return text[:1].upper() + text[1:]


def variances(task: Task, results: Results, kind: IntervalKind) -> Body | None:
    """Return a row for each part of a pipeline and each pair of them."""
    whole = grid(results, kind, task)
    if whole is None or not (of := whole.varied.shares):
        return None
    rows: list[tuple[TableCell, ...]] = [
        (named(term), *(Value.of(each[term], 100, most=1) for each in of.values())) for term in next(iter(of.values()))
    ]
    header = ("Part", *(f"{name[:1].upper()}{name[1:]} (%)" for name in of))
    return Body(header, tuple(rows), whole.datasets, tuple(_limits(whole)))


def _limits(whole: Grid) -> Iterator[str]:
    """Say what the analysis is of, and what it cannot tell."""
    some = whole.varied
    factors = some.factors
    counts = listed([f"{len(set(levels))} kinds of {name}" for name, levels in factors.items()])
    families = some.churn.shape[1]
    yield f"{len(some.parts)} pipelines on {len(some.datasets)} datasets of {families} families, with {counts}."
    if unknown := [name for name in Parts._fields if name not in factors]:
        yield f"These pipelines do not tell {listed(unknown)} from the other parts."
    if nested := [name for name in some.nested() if "features" in factors]:
        yield f"Counts as part of the learner, as no learner reads it beside other features: {listed(nested)}."
    fixed, lacking = len(whole.parts) - len(some.parts), some.incomplete
    left = [f"{fixed} with settings tried on one kind of features, of which one is to be transferred"] * bool(fixed)
    left += [f"{lacking} without results on all of these datasets"] * bool(lacking)
    if left:
        yield f"Pipelines left out: {listed(left)}."


def effects(task: Task, results: Results, kind: IntervalKind) -> Body | None:
    """Return what changes if one part of a pipeline is another than ERM's, and all other parts stay."""
    whole = grid(results, kind, task)
    if whole is None:
        return None
    rows = tuple(row for name in Parts._fields for row in _swaps(whole, name))
    return Body(("Part", "Level", "Pairs", *_heads(task)), rows, whole.datasets)


def _swaps(whole: Grid, name: str) -> Iterator[tuple[TableCell, ...]]:
    usual = getattr(whole.parts[whole.erm], name)
    at = {parts: p for p, parts in enumerate(whole.parts)}
    swaps: dict[str, list[tuple[int, int]]] = {}
    for parts, p in at.items():
        q = at.get(parts._replace(**{name: usual}), p)
        if q != p:
            swaps.setdefault(getattr(parts, name), []).append((p, q))
    for level, pairs in swaps.items():
        ours, theirs = map(list, zip(*pairs, strict=True))
        changes = Change(*((of[ours] - of[theirs]).mean(axis=0) for of in (whole.churn, whole.quality)))
        yield name.capitalize(), level, Value.of(len(pairs), digits=0), *changes.shown()


def _heads(task: Task) -> tuple[str, str]:
    unit = "pp" if task == "classification" else "% of ERM's"
    return f"Δ {ORDER[task].name} (pp)", f"Δ {KEPT[task].name} ({unit})"


class Change(NamedTuple):
    """Differences (F,) of a pipeline from another, in churn and in quality."""

    churn: np.ndarray
    quality: np.ndarray

    def shown(self, digits: int = 1) -> list[Value]:
        """Format the means, with their intervals over families."""
        return [Value.of(jackknife([each]), 100, digits, signed=True) for each in self]

    def helps(self, datasets: Sequence[Dataset]) -> bool:
        """Tell whether churn is lower, and quality kept as a place asks, with the whole intervals."""
        churn, quality = (jackknife([each]) for each in self)
        return churn.high < 0 and not np.isnan(quality.low) and keeps(quality, datasets)


def remedied(whole: Grid) -> dict[str, tuple[Change | None, Change | None]]:
    """Return what a remedy changes against the same pipeline without it, and against the best plain one of the learner.

    The best has the features and settings that the other families choose for each family, by the rule of ``transfer``.
    Each is None where there is none, or none to choose from. Keys are the titles of the pipelines with a remedy.
    """
    known = {}
    at = {parts: p for p, parts in enumerate(whole.parts)}
    families = np.arange(whole.churn.shape[1])
    for p, parts in enumerate(whole.parts):
        plain = [q for q, of in enumerate(whole.parts) if (of.learner, of.remedy) == (parts.learner, PLAIN)]
        if parts.remedy == PLAIN or not plain:
            continue
        churns, qualities = whole.churn[plain].T, whole.quality[plain].T
        losses = 1 - qualities if whole.task == "classification" else qualities
        _, chosen = setting_for(churns, losses, TOLERANCE[whole.task], families)
        best = Change(whole.churn[p] - churns[families, chosen], whole.quality[p] - qualities[families, chosen])
        q = at.get(parts._replace(remedy=PLAIN))
        alike = None if q is None else Change(whole.churn[p] - whole.churn[q], whole.quality[p] - whole.quality[q])
        known[whole.titles[p]] = alike, best if len(plain) > 1 else None
    return known


def remedies(task: Task, results: Results, kind: IntervalKind) -> Body | None:
    """Return what each remedy adds to the same pipeline, and to the best plain one of its learner."""
    if (whole := grid(results, kind, task)) is None:
        return None
    known = remedied(whole)
    beside = ["Without the remedy"]
    beside += ["Best plain pipeline of the learner"] * any(best for _, best in known.values())
    rows: list[tuple[TableCell, ...]] = []
    for title, changes in known.items():
        shown = [change.shown() if change else [Value(MISSING)] * 2 for change in changes[: len(beside)]]
        rows.append((title, *chain.from_iterable(shown)))
    over = (("", 1), *((text, 2) for text in beside))
    return Body(("Pipeline", *_heads(task) * len(beside)), tuple(rows), whole.datasets, over=over)


def answers(results: Results, kind: IntervalKind, task: Task) -> Iterator[str]:
    """Yield the findings of a task in sentences; none with too few families or pipelines."""
    if (whole := grid(results, kind, task)) is None:
        return
    for name, terms in whole.varied.shares.items():
        alone = sorted((e.value, term) for term, e in terms.items() if len(term) == 1 and term != (REST,))
        told = [f"{_percent(terms[term])} with the {WORDS.get(*term, *term)}" for _, term in reversed(alone)]
        for words, some in (
            ("two parts together", [e for term, e in terms.items() if len(term) == 2 and FAMILY not in term]),
            ("parts that matter more in some families", [e for term, e in terms.items() if term[1:] == (FAMILY,)]),
            (WORDS[REST], [e for term, e in terms.items() if term == (REST,)]),
        ):
            told += [f"{spelled(100 * sum(e.value for e in some), 0)} % with {words}"] * bool(some)
        told[0] = told[0].replace(" with", " goes with")
        yield f"{task.capitalize()}: of the variance of {name}, {listed(told)}."
    known = remedied(whole)
    for i, than in enumerate(("the same without it", "the best plain pipeline of the same learner")):
        changes = {title: change for title, both in known.items() if (change := both[i])}
        helpful = [
            f"{title} ({change.shown(2)[0].text} pp)"
            for title, change in changes.items()
            if change.helps(whole.datasets)
        ]
        verb = "churns" if len(helpful) == 1 else "churn"
        count = f"{len(helpful) or 'none'} {verb} less than {than}, without losing accuracy"
        if changes:
            of = f"{task.capitalize()}: of {len(changes)} pipelines with a remedy"
            yield f"{of}, {count}{': ' * bool(helpful)}{'; '.join(helpful)}."


def _percent(share: Estimate) -> str:
    """Format a share as ``12 % [8, 16]``."""
    number, _, interval = Value.of(share, 100, 0, most=1).text.partition(" ")
    return " ".join(filter(None, (number, "%", interval)))
