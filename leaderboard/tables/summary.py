"""Summary on the first page: methods ranked over a set of datasets, beside the costs of their low churn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from string import ascii_uppercase

import numpy as np

from benchmark.measure.catalogue import boards as on_boards
from benchmark.measure.catalogue import churn
from benchmark.store.cell import Cell
from benchmark.types import REFERENCE, TASKS, Sampling, Task
from leaderboard.read.results import GROUPS, Dataset, Results, family_weights, slug
from leaderboard.stats.intervals import Estimate, IntervalKind, leave_one_out, weighted
from leaderboard.stats.ranks import Ranking, friedman, rank_intervals
from leaderboard.tables.boards import SUSPICIONS, BoardRow, boards
from leaderboard.tables.columns import UNLIKE, Column, absolute, of_all_measures, versus
from leaderboard.tables.table import Value

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
"""Sets of datasets to choose from. Development datasets count as headline, as in the paper's main table; "all" excludes
variants."""


CONTROL = "control, not ranked"


@dataclass(frozen=True)
class SummaryColumn:
    """A column of the summary: the mean over datasets of a column of their boards.

    ``relative`` divides it by ERM's value, as units differ between datasets; ``shown`` displays it from the start.
    """

    column: Column
    shown: bool = True
    relative: bool = False

    @property
    def key(self) -> str:
        """The key of the board's column."""
        return self.column.key

    def show(self, estimate: Estimate | None) -> Value:
        """Format the number for the page, marked if its interval excludes zero."""
        value = Value.of(estimate, self.column.scale, self.column.digits, self.column.versus)
        if estimate is None or not (self.column.versus and estimate.excludes_zero):
            return value
        return value.but(mark="better" if estimate.value * self.column.better > 0 else "worse")


def summary_columns(task: Task, sampling: Sampling) -> list[SummaryColumn]:
    """Return each measure against ERM and itself, churn first; for regressions, whose units differ, in % of ERM's."""
    columns = []
    for measure in sorted(on_boards(task), key=lambda measure: measure.key != "churn"):
        if task == "regression":
            help = f"in % of ERM's {measure.name}"
            delta = versus(measure, title=f"Δ {measure.name} (%)", scale=100, digits=1, help=help)
            columns.append(SummaryColumn(delta, measure.front, relative=True))
        else:
            columns.append(SummaryColumn(versus(measure), measure.front))
            columns.append(SummaryColumn(absolute(measure), measure.key == "churn"))
    return [*columns, *map(SummaryColumn, of_all_measures(sampling))]


@dataclass(frozen=True)
class SummaryRow:
    """A method over a set of datasets: ``rank`` is its mean rank, or None with the reason in ``unranked``."""

    title: str
    method: str
    spelled: str
    """The method as the command line names it, in the same way under all samplings if λ is the default there."""
    badge: str
    retrainings: int
    rank: Estimate | None
    estimates: Mapping[str, Estimate | None]
    marks: tuple[str, ...]
    unranked: str = ""
    suspicions: tuple[str, ...] = ()
    """Keys of ``SUSPICIONS``."""
    differs: str = ""
    """Where results differ from ERM's in more than the method, as ``‡ on BACE``."""

    @property
    def slug(self) -> str:
        """The name of the method's page."""
        return slug(self.title)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Marks and the reason for a missing rank, in words."""
        return (*self.marks, *filter(None, (self.differs, self.unranked)))


@dataclass(frozen=True)
class Summary:
    """Methods over the datasets of one task and group, best mean rank first and unranked methods last.

    Each family of datasets counts once in means and ranks, unless ``kind`` is the paper's.
    """

    task: Task
    group: str
    datasets: tuple[Dataset, ...]
    left_out: tuple[Dataset, ...]
    rows: tuple[SummaryRow, ...]
    ranking: Ranking | None
    kind: IntervalKind = "runs"

    @property
    def together(self) -> list[str]:
        """Groups of datasets that count as one, as ``BBB-Martins + BBBP``."""
        families: dict[str, list[str]] = {}
        for dataset in self.datasets if self.kind != "paper" else ():
            families.setdefault(dataset.family, []).append(dataset.title)
        return [" + ".join(titles) for titles in families.values() if len(titles) > 1]

    @property
    def over(self) -> str:
        """Number of datasets averaged over, as ``7 datasets, 6 families``."""
        n, families = len(self.datasets), len({dataset.family for dataset in self.datasets})
        return f"{n} datasets, {families} families" if self.together else f"{n} datasets"

    @property
    def key(self) -> str:
        """Task and group, as ``classification/headline``."""
        return f"{self.task}/{self.group}"

    @property
    def title(self) -> str:
        """The group's title."""
        return GROUP_TITLES[self.group]

    @property
    def columns(self) -> list[SummaryColumn]:
        """The columns for the task."""
        return summary_columns(self.task, self.datasets[0].sampling)

    def shown_rank(self, row: SummaryRow) -> Value:
        """Format the mean rank of a row."""
        return Value.of(row.rank, digits=1)

    def ties(self, title: str) -> str:
        """Return letters that methods share if they do not differ significantly (Nemenyi); "" if untestable."""
        if self.ranking is None or np.isnan(self.ranking.critical_difference):
            return ""
        tied = [i for i, group in enumerate(self.ranking.groups) if title in group]  # neighbours: ranks lie on a line
        return "–".join(dict.fromkeys(_letter(i) for i in (tied[0], tied[-1]))) if tied else ""

    def tests(self, *keys: str) -> int:
        """Return how many differences from ERM have an interval, in the columns called ``keys``, by default in all."""
        columns = [one.key for one in self.columns if one.column.versus and (not keys or one.key in keys)]
        estimates = [row.estimates.get(key) for row in self.rows for key in columns]
        return sum(estimate is not None and not np.isnan(estimate.low) for estimate in estimates)

    @property
    def reference(self) -> SummaryRow | None:
        """ERM's row."""
        return next((row for row in self.rows if row.method == REFERENCE), None)

    def best(self, *, marked: bool) -> SummaryRow | None:
        """Return the method with the best mean rank, excluding those with a mark unless ``marked``."""
        return next((row for row in self.rows if row.rank is not None and (marked or not row.marks)), None)


def summaries(results: Results, kind: IntervalKind = "runs") -> tuple[Summary, ...]:
    """Return the cached summary of each non-empty set of datasets, headline classification first, variants last."""
    return _summaries(results, kind)


@lru_cache(maxsize=8)
def _summaries(results: Results, kind: IntervalKind) -> tuple[Summary, ...]:
    rows = {b.dataset: {row.title: row for row in b.rows} for b in boards(results, kind) if b.evalset == "id"}
    built = []
    for task in TASKS:
        datasets = results.of_task(task)
        by_group = {group: tuple(d for d in datasets if _group(d) == group) for group in GROUPS if group != "dev"}
        groups = {group: members for group, members in by_group.items() if members}
        if len(groups) > 1:
            groups["all"] = datasets
        if variants := results.variants(task):
            groups["variant"] = variants
        built += [_summary(task, group, members, rows, kind) for group, members in groups.items()]
    return tuple(built)


def headline(results: Results, kind: IntervalKind = "runs") -> Summary | None:
    """Return the summary of the headline classification datasets, if there are any."""
    return next((one for one in summaries(results, kind) if one.key == "classification/headline"), None)


def complete_block(datasets: Sequence[Dataset]) -> tuple[list[Dataset], list[str]]:
    """Return the datasets and method titles to rank: a block in which every method has every dataset.

    The block maximises n² · k (n datasets, k methods), so that neither a method that ran on few datasets nor a dataset
    with few methods excludes the others. ERM belongs to it if any dataset has it.
    """
    has: dict[str, dict[str, None]] = {}
    for dataset in datasets:
        for entry in dataset.entries:
            has.setdefault(entry.title, {})[dataset.name] = None
    reference = next((d.reference.title for d in datasets if d.reference), None)
    wanted = has[reference] if reference else [d.name for d in datasets]
    candidates = dict.fromkeys(tuple(name for name in wanted if name in names) for names in has.values())

    def methods(names: Sequence[str]) -> list[str]:
        return [title for title, covered in has.items() if names and covered.keys() >= set(names)]

    best = max(candidates, key=lambda names: len(names) ** 2 * len(methods(names)), default=())
    return [dataset for dataset in datasets if dataset.name in best], methods(best)


def _group(dataset: Dataset) -> str:
    return "headline" if dataset.group == "dev" else dataset.group


Boards = Mapping[str, Mapping[str, BoardRow]]
"""The rows of the ID boards by dataset and title."""


def _summary(task: Task, group: str, datasets: Sequence[Dataset], boards: Boards, kind: IntervalKind) -> Summary:
    block, complete = complete_block(datasets)
    constant = {title: _collapsed(block, title, boards) for title in complete}
    controls = {entry.title for dataset in datasets for entry in dataset.entries if entry.control}
    suspects = {title: _suspicions(block, title, boards) for title in complete}
    out = {*controls, *(title for title in complete if constant[title] or suspects[title])}
    ranking, ranks = _rank(block, [title for title in complete if title not in out], kind)
    weights = family_weights(block) if kind != "paper" else np.full(len(block), 1 / max(len(block), 1))
    rows = []
    for title in dict.fromkeys(entry.title for dataset in datasets for entry in dataset.entries):
        missing = [d.title for d in block if d.entry(title) is None]
        reason = f"missing on {_brief(missing)}" if missing else ""
        if constant.get(title):
            reason = f"collapsed on {_brief(constant[title])}"
        if found := suspects.get(title):
            reason = "; ".join(f"{mark} on {_brief(titles)}" for mark, titles in found.items())
        if title in controls:
            reason = CONTROL
        row = _row(task, title, datasets, block, weights, boards, ranks.get(title), reason)
        rows.append(replace(row, suspicions=tuple(found or ())))
    rows.sort(key=lambda row: (row.rank is None, row.rank.value if row.rank else 0.0, row.title))
    left_out = tuple(dataset for dataset in datasets if dataset not in block)
    return Summary(task, group, tuple(block), left_out, tuple(rows), ranking, kind)


def _collapsed(block: Sequence[Dataset], title: str, boards: Boards) -> list[str]:
    """Return the titles of the datasets on which a method has collapsed and ERM has not."""

    def constant(dataset: Dataset, title: str) -> bool:
        return title in boards[dataset.name] and "collapsed" in boards[dataset.name][title].marks

    return [d.title for d in block if constant(d, title) and not (d.reference and constant(d, d.reference.title))]


def _suspicions(block: Sequence[Dataset], title: str, boards: Boards) -> dict[str, list[str]]:
    """Return the titles of the datasets on which a method has a mark of ``SUSPICIONS``, by mark."""
    marks = {d.title: boards[d.name][title].marks for d in block if title in boards[d.name]}
    found = {mark: [name for name, of in marks.items() if mark in of] for mark in SUSPICIONS}
    return {mark: names for mark, names in found.items() if names}


def _rank(
    block: Sequence[Dataset], titles: Sequence[str], kind: IntervalKind
) -> tuple[Ranking | None, dict[str, Estimate]]:
    """Return the ranking by churn and each method's mean rank; families count once unless ``kind`` is the paper's."""
    if len(titles) < 2:
        return None, {}
    churns = [[_churns(dataset, title, titles) for title in titles] for dataset in block]
    values = [[np.mean([leave_one_out(q)[0] for q in splits] or [np.nan]) for splits in row] for row in churns]
    families = None if kind == "paper" else [dataset.family for dataset in block]
    ranking = friedman(np.array(values), titles, [dataset.title for dataset in block], families)
    estimates = rank_intervals(churns, families).estimates
    return ranking, dict(zip(titles, estimates, strict=True))


def _churns(dataset: Dataset, title: str, titles: Sequence[str]) -> list[np.ndarray]:
    """Return the pairwise churn of a method on each split that all ``titles`` have."""
    entries = {entry.title: entry for entry in dataset.entries}
    common = set.intersection(*(set(entries[other].cells) for other in titles))
    cells = [cell for seed, cell in entries[title].cells.items() if seed in common]
    return [churn(dataset.task).of_runs(cell.predictions["id"]) for cell in cells]


def _row(
    task: Task,
    title: str,
    datasets: Sequence[Dataset],
    block: Sequence[Dataset],
    weights: np.ndarray,
    boards: Boards,
    rank: Estimate | None,
    reason: str,
) -> SummaryRow:
    entries = [entry for d in datasets if (entry := d.entry(title))]
    cells = [cell for entry in entries for cell in entry.cells.values()]
    rows = [(d, boards[d.name][title]) for d in block if title in boards[d.name]]
    low = {mark: [d.title for d, row in rows if mark in row.marks] for mark in ("†", "†?")}
    unlike = [d.title for d, row in rows if row.differs]
    columns = summary_columns(task, datasets[0].sampling) if len(rows) == len(block) else ()
    return SummaryRow(
        title=title,
        method=cells[0].key.method,
        spelled=entries[0].spelled,
        badge=_badge(cells),
        retrainings=sum(len(cell.key.seeds) for cell in cells),
        rank=rank,
        estimates={column.key: _mean(column, rows, weights, boards) for column in columns},
        marks=tuple(f"{mark} on {_brief(titles)}" for mark, titles in low.items() if titles),
        unranked=reason,
        differs=f"{UNLIKE} on {_brief(unlike)}" if unlike else "",
    )


def _badge(cells: Sequence[Cell]) -> str:
    """Return the status of all cells; of a submission of which only a part is verified, that of the rest."""
    return next((cell.facts.status for cell in cells if cell.facts.status != "verified"), "verified")


def _mean(
    column: SummaryColumn, rows: Sequence[tuple[Dataset, BoardRow]], weights: np.ndarray, boards: Boards
) -> Estimate | None:
    """Return the ``weights`` (D,) mean over datasets; None if a dataset has no value."""
    estimates = []
    for dataset, row in rows:
        estimate = row.estimates.get(column.key)
        if estimate is None:
            return None
        unit = 1.0
        if column.relative:
            assert column.column.measure is not None
            key = column.column.measure.key
            erm = boards[dataset.name][dataset.reference.title].estimates[key] if dataset.reference else None
            if erm is None:
                return None
            unit = erm.value
        estimates.append(Estimate(estimate.value / unit, estimate.low / unit, estimate.high / unit))
    return weighted(estimates, weights)


def _letter(i: int) -> str:
    """A to Z, then AA, AB, …"""
    return (_letter(i // 26 - 1) if i > 25 else "") + ascii_uppercase[i % 26]


def _brief(titles: Sequence[str]) -> str:
    return ", ".join(titles) if len(titles) < 5 else f"{len(titles)} datasets"
