"""The answer on the first page: the methods over a set of datasets, ranked, beside what their low churn costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

import numpy as np

from benchmark.registry import REFERENCE
from benchmark.types import Task
from leaderboard.boards import Board
from leaderboard.boards import Row as BoardRow
from leaderboard.columns import churn
from leaderboard.results import GROUPS, Dataset, Results, family_weights, slug
from leaderboard.stats.intervals import Estimate, Kind, leave_one_out
from leaderboard.stats.ranks import Ranking, friedman, rank_intervals
from leaderboard.table import Value

GROUP_TITLES = {
    "headline": "Headline",
    "borderline": "Borderline",
    "excluded": "Excluded by the filter",
    "regression": "Regression",
    "extra": "Extra",
    "scope": "Scope",
    "all": "All",
    "variant": "Variants of datasets",
}
"""The sets that a reader can choose; development datasets count as headline, as in the paper's main table, and
variants are not among all."""


@dataclass(frozen=True)
class Measure:
    """A column of the summary: the mean over datasets of a column of their boards.

    ``relative`` takes it as a share of ERM's value of that column, where units differ between datasets; ``shown``
    says whether the page starts with it.
    """

    key: str
    title: str
    of: str
    scale: float = 1
    digits: int = 1
    signed: bool = False
    better: int = -1
    relative: str = ""
    shown: bool = True
    help: str = ""

    def show(self, estimate: Estimate | None) -> Value:
        """The number as the page shows it, marked where its interval excludes zero."""
        value = Value.of(estimate, self.scale, self.digits, self.signed)
        if estimate is None or not (self.signed and estimate.excludes_zero):
            return value
        return value.but(mark="better" if estimate.value * self.better > 0 else "worse")


COMPUTE = Measure("compute", "Compute (×\u00a0ERM)", "compute", help="measured CPU time of one retraining")
MEASURES: Mapping[Task, tuple[Measure, ...]] = {
    "classification": (
        Measure(
            "delta_churn", "Δ churn (pp)", "delta_churn", 100, 1, True, help="difference to ERM at equal bootstraps"
        ),
        Measure("churn", "Churn (%)", "churn", 100, help="share of predictions that differ between two retrainings"),
        Measure("delta_accuracy", "Δ accuracy (pp)", "delta_accuracy", 100, 1, True, +1),
        Measure("accuracy", "Accuracy (%)", "accuracy", 100, 1, False, +1, shown=False),
        Measure("delta_sym_kl", "Δ sym-KL (nats)", "delta_sym_kl", 1, 3, True),
        Measure("sym_kl", "Sym-KL (nats)", "sym_kl", 1, 3, shown=False),
        COMPUTE,
    ),
    "regression": (
        Measure(
            "delta_churn", "Δ churn (%)", "delta_churn", 100, 1, True, relative="churn", help="in % of ERM's churn"
        ),
        Measure("delta_mae", "Δ MAE (%)", "delta_mae", 100, 1, True, relative="mae", help="in % of ERM's MAE"),
        COMPUTE,
    ),
}


@dataclass(frozen=True)
class Row:
    """A method over a set of datasets: ``rank`` is its mean rank, None for a method that is not ranked, and why not."""

    title: str
    method: str
    badge: str
    retrainings: int
    rank: Estimate | None
    estimates: Mapping[str, Estimate | None]
    marks: tuple[str, ...]
    unranked: str = ""

    @property
    def slug(self) -> str:
        return slug(self.title)

    @property
    def remarks(self) -> tuple[str, ...]:
        """All that qualifies the row, in words."""
        return (*self.marks, self.unranked) if self.unranked else self.marks


@dataclass(frozen=True)
class Summary:
    """The methods over the datasets of one task and group, best mean rank first, those without a rank last.

    In means and ranks a family of datasets counts once, unless ``kind`` is that of the paper.
    """

    task: Task
    group: str
    datasets: tuple[Dataset, ...]
    left_out: tuple[Dataset, ...]
    rows: tuple[Row, ...]
    ranking: Ranking | None
    kind: Kind = "runs"

    @property
    def together(self) -> list[str]:
        """The datasets that count as one, as ``BBB-Martins + BBBP``."""
        families: dict[str, list[str]] = {}
        for dataset in self.datasets if self.kind != "paper" else ():
            families.setdefault(dataset.family, []).append(dataset.title)
        return [" + ".join(titles) for titles in families.values() if len(titles) > 1]

    @property
    def over(self) -> str:
        """What is averaged over: ``7 datasets, 6 families``."""
        n, families = len(self.datasets), len({dataset.family for dataset in self.datasets})
        return f"{n} datasets, {families} families" if self.together else f"{n} datasets"

    @property
    def key(self) -> str:
        return f"{self.task}/{self.group}"

    @property
    def title(self) -> str:
        return GROUP_TITLES[self.group]

    @property
    def measures(self) -> tuple[Measure, ...]:
        return MEASURES[self.task]

    def shown_rank(self, row: Row) -> Value:
        return Value.of(row.rank, digits=1)

    def ties(self, title: str) -> str:
        """Letters: methods that share one do not differ significantly (Nemenyi); empty where that cannot be tested."""
        if self.ranking is None or np.isnan(self.ranking.critical_difference):
            return ""
        own = [i for i, group in enumerate(self.ranking.groups) if title in group]  # neighbours: ranks lie on a line
        return "–".join(dict.fromkeys(_letter(i) for i in (own[0], own[-1]))) if own else ""

    @property
    def reference(self) -> Row | None:
        return next((row for row in self.rows if row.method == REFERENCE), None)

    def best(self, *, marked: bool) -> Row | None:
        """The method with the best mean rank, among all or those that carry no mark."""
        return next((row for row in self.rows if row.rank is not None and (marked or not row.marks)), None)


def summaries(results: Results, boards: Sequence[Board], kind: Kind = "runs") -> list[Summary]:
    """A summary for each set of datasets with cells: the headline classification first, each task's variants last."""
    of = {board.dataset: {row.title: row for row in board.rows} for board in boards if board.evalset == "id"}
    found = []
    for task in MEASURES:
        datasets = results.of_task(task)
        groups = {group: tuple(d for d in datasets if _group(d) == group) for group in GROUPS if group != "dev"}
        groups = {group: some for group, some in groups.items() if some}
        if len(groups) > 1:
            groups["all"] = datasets
        if variants := results.variants(task):
            groups["variant"] = variants
        found += [_summary(task, group, some, of, kind) for group, some in groups.items()]
    return found


def complete_block(datasets: Sequence[Dataset]) -> tuple[list[Dataset], list[str]]:
    """The datasets and the titles of the methods that are ranked: every one of these methods has every one of them.

    Of all such blocks the one with the largest n² · k is taken (n datasets, k methods): neither a method that ran on a
    few datasets nor a dataset that a few methods ran on takes the others with it. ERM belongs to it if any has it.
    """
    has: dict[str, dict[str, None]] = {}
    for dataset in datasets:
        for entry in dataset.entries:
            has.setdefault(entry.title, {})[dataset.name] = None
    reference = next((d.reference.title for d in datasets if d.reference), None)
    wanted = has[reference] if reference else [d.name for d in datasets]
    candidates = dict.fromkeys(tuple(name for name in wanted if name in names) for names in has.values())

    def methods(names: Sequence[str]) -> list[str]:
        return [title for title, own in has.items() if names and own.keys() >= set(names)]

    best = max(candidates, key=lambda names: len(names) ** 2 * len(methods(names)), default=())
    return [dataset for dataset in datasets if dataset.name in best], methods(best)


def _group(dataset: Dataset) -> str:
    return "headline" if dataset.group == "dev" else dataset.group


Boards = Mapping[str, Mapping[str, BoardRow]]
"""The rows of the ID boards by dataset and title."""


def _summary(task: Task, group: str, datasets: Sequence[Dataset], boards: Boards, kind: Kind) -> Summary:
    block, complete = complete_block(datasets)
    constant = {title: _collapsed(block, title, boards) for title in complete}
    ranking, ranks = _rank(block, [title for title in complete if not constant[title]], kind)
    weights = family_weights(block) if kind != "paper" else np.full(len(block), 1 / max(len(block), 1))
    rows = []
    for title in dict.fromkeys(entry.title for dataset in datasets for entry in dataset.entries):
        missing = [d.title for d in block if d.entry(title) is None]
        reason = f"missing on {_some(missing)}" if missing else ""
        if constant.get(title):
            reason = f"collapsed to one class on {_some(constant[title])}"
        rows.append(_row(task, title, datasets, block, weights, boards, ranks.get(title), reason))
    rows.sort(key=lambda row: (row.rank is None, row.rank.value if row.rank else 0.0, row.title))
    left_out = tuple(dataset for dataset in datasets if dataset not in block)
    return Summary(task, group, tuple(block), left_out, tuple(rows), ranking, kind)


def _collapsed(block: Sequence[Dataset], title: str, boards: Boards) -> list[str]:
    """The datasets on which a method gives one class to nearly all examples, and ERM does not."""

    def constant(dataset: Dataset, title: str) -> bool:
        return title in boards[dataset.name] and "collapsed" in boards[dataset.name][title].marks

    return [d.title for d in block if constant(d, title) and not (d.reference and constant(d, d.reference.title))]


def _rank(block: Sequence[Dataset], titles: Sequence[str], kind: Kind) -> tuple[Ranking | None, dict[str, Estimate]]:
    """The ranking by churn, families counted once except as in the paper, and each method's mean rank."""
    if len(titles) < 2:
        return None, {}
    churns = [[_churns(dataset, title, titles) for title in titles] for dataset in block]
    values = [[np.mean([leave_one_out(q)[0] for q in of] or [np.nan]) for of in row] for row in churns]
    families = None if kind == "paper" else [dataset.family for dataset in block]
    ranking = friedman(np.array(values), titles, [dataset.title for dataset in block], families)
    estimates = rank_intervals(churns, families).estimates
    return ranking, dict(zip(titles, estimates, strict=True))


def _churns(dataset: Dataset, title: str, titles: Sequence[str]) -> list[np.ndarray]:
    """The pairwise churn of a method on each split that all ``titles`` have."""
    entries = {entry.title: entry for entry in dataset.entries}
    common = set.intersection(*(set(entries[other].cells) for other in titles))
    cells = [cell for seed, cell in entries[title].cells.items() if seed in common]
    return [churn(cell.predictions["id"]) for cell in cells]


def _row(
    task: Task,
    title: str,
    datasets: Sequence[Dataset],
    block: Sequence[Dataset],
    weights: np.ndarray,
    boards: Boards,
    rank: Estimate | None,
    reason: str,
) -> Row:
    cells = [cell for d in datasets if (entry := d.entry(title)) for cell in entry.cells.values()]
    of = [(d, boards[d.name][title]) for d in block if title in boards[d.name]]
    missing = len(of) < len(block)
    low = [d.title for d, row in of if "†" in row.marks]
    return Row(
        title=title,
        method=cells[0].key.method,
        badge=cells[0].about.get("status", "baseline"),
        retrainings=sum(len(cell.key.seeds) for cell in cells),
        rank=rank,
        estimates={} if missing else {m.key: _mean(m, of, weights, boards) for m in MEASURES[task]},
        marks=(f"† on {_some(low)}",) if low else (),
        unranked=reason,
    )


def _mean(
    measure: Measure, of: Sequence[tuple[Dataset, BoardRow]], weights: np.ndarray, boards: Boards
) -> Estimate | None:
    """The mean over datasets by their ``weights`` (D,), with the interval for new retrainings on the same datasets.

    None where one has nothing. Retrainings on different datasets are independent, so that the half-widths are added in
    squares; Student's quantile stays that of one dataset, which errs on the wide side.
    """
    found = []
    for dataset, row in of:
        estimate = row.estimates.get(measure.of)
        if estimate is None:
            return None
        if measure.relative:
            erm = (
                boards[dataset.name][dataset.reference.title].estimates[measure.relative] if dataset.reference else None
            )
            if erm is None:
                return None
            estimate = Estimate(*(x / erm.value for x in (estimate.value, estimate.low, estimate.high)))
        found.append(estimate)
    value, low, high = (np.array([getattr(e, end) for e in found]) for end in ("value", "low", "high"))
    mean = float(weights @ value)
    below, above = (float(np.sqrt(np.sum((weights * (value - end)) ** 2))) for end in (low, high))
    return Estimate(mean, mean - below, mean + above)


def _letter(i: int) -> str:
    """A to Z, then AA, AB, …"""
    return (_letter(i // 26 - 1) if i > 25 else "") + ascii_uppercase[i % 26]


def _some(titles: Sequence[str]) -> str:
    return ", ".join(titles) if len(titles) < 5 else f"{len(titles)} datasets"
