"""Summary on the first page: methods ranked over a set of datasets, beside the costs of their low churn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import combinations
from string import ascii_uppercase

import numpy as np

from benchmark.errors import number_of
from benchmark.measure.catalogue import AUROC, KEPT, ORDER
from benchmark.measure.catalogue import boards as on_boards
from benchmark.measure.intervals import Estimate, IntervalKind
from benchmark.store.cell import Cell
from benchmark.types import REFERENCE, TASKS, Sampling, Task
from leaderboard.read.pipelines import BETWEEN, Parts, parts_of
from leaderboard.read.results import Dataset, Results, units
from leaderboard.stats.ranks import Ranking
from leaderboard.tables.boards import SUSPICIONS, BoardRow, boards
from leaderboard.tables.columns import UNLIKE, Column, absolute, of_all_measures, versus
from leaderboard.tables.order import (
    FAMILIES,
    FEWEST_UNITS,
    REHEARSED,
    Resolution,
    in_order,
    keeps,
    lacking,
    means_of,
    order,
    over_what,
    rehearsal,
    resolution,
    resolution_elsewhere,
    stability,
)
from leaderboard.tables.table import MISSING, Value

GROUP_TITLES = {
    "own": "Your own",
    "wide": "First page",
    "headline": "Headline",
    "borderline": "Borderline",
    "excluded": "Excluded by the filter",
    "regression": "Regression",
    "extra": "Extra",
    "scope": "Scope",
    "all": "All",
    "variant": "Variants of datasets",
}
"""Sets of datasets to choose from, by the groups of datasets. Development datasets count as headline, as in the paper's
main table; "wide" has every dataset of the suite, but of classifications only those that ERM ranks with an AUROC of
``LEARNABLE``; "all", where it has more than "wide", excludes variants and datasets of the user's own, which are never
averaged with others."""
LEARNABLE = 0.65
"""Smallest AUROC of ERM on the ID test at which a classification counts on the first page: a model that ranks hardly
better than chance says nothing about methods. The paper asks for accuracy 5 pp above the majority class, which leaves
out datasets of few actives."""
NARROW: Mapping[Task, str] = {"classification": "headline", "regression": "regression"}
"""The paper's datasets of a task, which "wide" has too."""
OWN = "own"
CONTROL = "control, not ranked"
YOURS = "yours"
"""The badge of results that are neither published nor submitted."""


@cache
def summary_columns(task: Task, sampling: Sampling) -> tuple[Column, ...]:
    """Return each measure against ERM and itself, that of the order first; those in target units in % of ERM's."""
    columns = []
    for measure in sorted(on_boards(task), key=lambda measure: measure is not ORDER[task]):
        if measure.most == np.inf and task == "regression":
            help = f"in % of ERM's {measure.name}"
            change = {"title": f"Δ {measure.name} (%)", "scale": 100, "digits": 1, "relative": True}
            columns.append(versus(measure, help=help, shown=measure.front, **change))
        else:
            raw = measure.key == "churn"
            columns.append(versus(measure, shown=measure.front and not raw))
            columns.append(replace(absolute(measure), shown=raw or measure is ORDER[task]))
    return *columns, *of_all_measures(sampling)


def spelled_places(place: int, first: int, last: int) -> Value:
    """Format a ``place`` with the range of those that the method may have."""
    return Value(f"{first}–{last}" if first < last else str(first), place, first, last)


@dataclass(frozen=True)
class SummaryRow:
    """A method over a set of datasets, with its ``place`` in the order of the page (``leaderboard.tables.order``).

    ``place`` is None for a method that does not keep accuracy (``keeps``), and for one that is not ranked, for the
    reason in ``unranked``. ``rank`` is the mean rank by raw churn, which loss of accuracy does not change.
    """

    title: str
    method: str
    spelled: str
    """The method as the command line names it, in the same way under all samplings if λ is the default there."""
    badge: str
    parts: Parts
    retrainings: int
    estimates: Mapping[str, Estimate | None]
    marks: tuple[str, ...]
    rank: Estimate | None = None
    unranked: str = ""
    suspicions: tuple[str, ...] = ()
    """Keys of ``SUSPICIONS``."""
    collapsed: str = ""
    """The datasets on which it, but not ERM, predicts a single class: it has no mean rank by raw churn then."""
    differs: str = ""
    """The datasets on which results differ from ERM's in more than the method, as ``‡ on BACE``."""
    keeps: bool = True
    """True if it keeps accuracy as ``RULE`` asks."""
    matched: float = float("nan")
    """Mean matched churn, or 1 − ICC, that the order goes by; nan for a method without a rank."""
    place: int | None = None
    places: tuple[int, int] | None = None
    """The first and last place that it may have, beside its ``place`` by the mean: see ``Summary.between``."""

    @property
    def shown_place(self) -> Value:
        """The range of places, as ``2–4``."""
        if self.place is None:
            return Value(MISSING)
        return spelled_places(self.place, *(self.places or (self.place, self.place)))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Marks and the reason for a missing rank, in words."""
        return (*self.marks, *filter(None, (self.collapsed, self.differs, self.unranked)))


@dataclass(frozen=True)
class Summary:
    """Methods over the datasets of one task and group: those with a place, those that lose accuracy, the unranked.

    Each family of datasets counts once in means and ranks, unless ``kind`` is the paper's.
    """

    task: Task
    group: str
    datasets: tuple[Dataset, ...]
    left_out: tuple[Dataset, ...]
    rows: tuple[SummaryRow, ...]
    ranking: Ranking | None
    kind: IntervalKind = "runs"
    evalset: str = "id"
    top: tuple[float, float] | None = None
    """In which share of resamples of families the first five places keep their set, and their order."""
    rehearsed: tuple[float, float, float] | None = None
    """What ``rehearsal`` says of the first place."""
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    """What the order goes by (D,), by title."""
    changes: np.ndarray | None = None
    """Their differences from ERM in what a place asks for (D, M), in the order of ``values``."""
    between: Resolution | None = None
    """Tests of each pair of methods with a place, from which their ranges of places follow."""

    @property
    def composed(self) -> bool:
        """Tell whether a title of its rows has several parts: these have columns then, and filters."""
        return any(BETWEEN in row.title for row in self.rows if not np.isnan(row.matched))

    @property
    def interval(self) -> str:
        """The units that the intervals of means are over, in words."""
        return over_what(self.datasets, self.kind)

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
        counts = [number_of(n, "dataset"), *[number_of(families, "family", "families")] * bool(self.together)]
        return ", ".join(counts)

    @property
    def key(self) -> str:
        return f"{self.task}/{self.group}"

    @property
    def title(self) -> str:
        return GROUP_TITLES[self.group]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns for the task: means over datasets of the columns of their boards."""
        return summary_columns(self.task, self.datasets[0].sampling)

    def marked(self, column: Column, estimate: Estimate | None) -> Value:
        """Format a number of a column, marked if its interval excludes zero."""
        value = column.show(estimate)
        if estimate is None or not (column.versus and column.better and estimate.excludes_zero):
            return value
        return value.but(mark="better" if estimate.value * column.better > 0 else "worse")

    def shown_rank(self, row: SummaryRow) -> Value:
        return Value.of(row.rank, digits=1)

    def ties(self, title: str) -> str:
        """Return letters that methods share if they do not differ significantly (Nemenyi); "" if untestable."""
        if self.ranking is None or np.isnan(self.ranking.critical_difference):
            return ""
        tied = [i for i, group in enumerate(self.ranking.groups) if title in group]  # neighbours: ranks lie on a line
        return "–".join(dict.fromkeys(_letter(i) for i in (tied[0], tied[-1]))) if tied else ""

    def tests(self) -> int:
        """Return how many differences from ERM have an interval."""
        columns = [column.key for column in self.columns if column.versus]
        estimates = [row.estimates.get(key) for row in self.rows for key in columns]
        return sum(estimate is not None and not np.isnan(estimate.low) for estimate in estimates)

    @property
    def reference(self) -> SummaryRow | None:
        return next((row for row in self.rows if row.method == REFERENCE), None)

    @property
    def placed(self) -> list[SummaryRow]:
        """The rows with a place, first to last."""
        return [row for row in self.rows if row.place is not None]

    @property
    def place_sentence(self) -> str:
        """What a range of places means, in words; "" without one."""
        if self.between is None:
            return ""
        pairs = f"{number_of(len(self.between.pairs), 'pair')} of methods"
        return (
            f"A place is a range where methods cannot be told apart {self.between.where}. The ranges hold for all "
            f"methods together with 95 % confidence ({self.between.paired}, Holm's correction for {pairs})."
        )

    @property
    def by_rank(self) -> list[SummaryRow]:
        """The rows with a mean rank, best first, whatever accuracy they lose."""
        ranked = [(row.rank.value, row.title, row) for row in self.rows if row.rank is not None]
        return [row for _, _, row in sorted(ranked, key=lambda item: item[:2])]


def summaries(results: Results, kind: IntervalKind = "runs", evalset: str = "id") -> tuple[Summary, ...]:
    """Return the cached summary of each non-empty set of datasets, the widest classification first, variants last.

    Datasets without the test ``evalset`` are left out.
    """
    return _summaries(results, kind, evalset)


@lru_cache(maxsize=16)  # four samplings, two tests, and intervals over both where decisions go by them
def _summaries(results: Results, kind: IntervalKind, evalset: str) -> tuple[Summary, ...]:
    rows = {b.dataset: {row.title: row for row in b.rows} for b in boards(results, kind) if b.evalset == evalset}
    tested = {key: tuple(d for d in members if evalset in d.evalsets) for key, members in sets(results).items()}
    blocks = {key: complete_block(members)[0] for key, members in tested.items() if members}
    for task in TASKS:
        if blocks.get((task, "all")) == blocks.get((task, "wide")):  # one table under two names
            blocks.pop((task, "all"), None)
    return tuple(_summary(*key, tested[key], rows, kind, evalset) for key in blocks)


def sets(results: Results) -> dict[tuple[Task, str], tuple[Dataset, ...]]:
    """Return the non-empty sets of datasets to choose from, by task and group: see ``GROUP_TITLES``."""
    by_key: dict[tuple[Task, str], tuple[Dataset, ...]] = {}
    for task in TASKS:
        datasets = results.of_task(task)
        present = {_group(dataset) for dataset in datasets}
        members = {group: {group} for group in GROUP_TITLES if group in present}
        if "wide" in members:
            members["wide"] |= present - {OWN, "scope"}
        if len(members.keys() - {OWN}) > 1:
            members["all"] = present - {OWN}
        for group, groups in members.items():
            by_key[task, group] = tuple(
                d for d in datasets if _group(d) in groups and (group != "wide" or task == "regression" or learnable(d))
            )
        if variants := results.variants(task):
            by_key[task, "variant"] = variants
    return by_key


def learnable(dataset: Dataset) -> bool:
    """Tell whether ERM ranks a classification's ID test with a mean AUROC of ``LEARNABLE`` or more."""
    erm = dataset.reference
    return erm is not None and erm.mean(AUROC) >= LEARNABLE


def summary_of(results: Results, task: Task, group: str = "", kind: IntervalKind = "runs") -> Summary | None:
    """Return the summary of a task and ``group``, by default of the widest, which the first page shows first."""
    return next((s for s in summaries(results, kind) if s.task == task and group in ("", s.group)), None)


def complete_block(datasets: Sequence[Dataset], power: int = 2) -> tuple[list[Dataset], list[str]]:
    """Return the datasets and method titles to rank: a block in which every method has every dataset.

    The block maximises n² · k (n datasets, k methods; n to the ``power``), so that neither a method that ran on few
    datasets nor a dataset with few methods excludes the others. ERM belongs to it if any dataset has it.
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

    best = max(candidates, key=lambda names: len(names) ** power * len(methods(names)), default=())
    return [dataset for dataset in datasets if dataset.name in best], methods(best)


def _group(dataset: Dataset) -> str:
    return "headline" if dataset.group == "dev" else dataset.group


Boards = Mapping[str, Mapping[str, BoardRow]]
"""The rows of the boards of one test by dataset and title."""


def _summary(
    task: Task, group: str, datasets: Sequence[Dataset], boards: Boards, kind: IntervalKind, evalset: str
) -> Summary:
    block, complete = complete_block(datasets)
    reference = next((d.reference.title for d in block if d.reference), "")
    idle = _marked(block, reference, boards, "collapsed")
    constant = {t: [d for d in _marked(block, t, boards, "collapsed") if d not in idle] for t in complete}
    controls = {entry.title for dataset in datasets for entry in dataset.entries if entry.control}
    suspects = {t: {mark: on for mark in SUSPICIONS if (on := _marked(block, t, boards, mark))} for t in complete}
    fewer = {title: _fewer(block, title) for title in complete}
    out = {*controls, *(title for title in complete if suspects[title] or fewer[title])}
    ordered = [title for title in complete if title not in out]
    ranked = [title for title in ordered if not constant[title]]
    ordering = order(block, ordered, kind, ranked=ranked, evalset=evalset)
    rows = []
    for title in dict.fromkeys(entry.title for dataset in datasets for entry in dataset.entries):
        reason = fewer.get(title) or _on("missing", [d.title for d in block if d.entry(title) is None])
        if marks := suspects.get(title):
            reason = "; ".join(_on(mark, titles) for mark, titles in marks.items())
        if title in ordering.matched and np.isnan(ordering.matched[title]):
            reason = f"{ORDER[task].name} is undefined, which takes two retrainings that are not constant"
        if title in controls:
            reason = CONTROL
        collapsed, suspicions = _on("collapsed", constant.get(title, [])), tuple(marks or ())
        row = _row(task, title, datasets, block, boards, kind)
        if not (reason or row.method == REFERENCE or row.estimates.get(f"delta_{KEPT[task].key}")):
            reason = (
                "not compared with ERM, which has none of its train seeds" if reference else "no ERM to compare with"
            )
        row = replace(row, unranked=reason, suspicions=suspicions, collapsed=collapsed)
        rows.append(replace(row, rank=ordering.ranks.get(title), matched=ordering.matched.get(title, np.nan)))
    kept = {row.title for row in rows if row.keeps}
    titles, placed = in_order({row.title: row.matched for row in rows}, kept)
    of_title = {row.title: row for row in rows}
    place = {title: place for place, title in enumerate(placed, 1)}
    rows = [replace(of_title[title], place=place.get(title)) for title in titles]
    values = dict(zip(ordered, ordering.values.T, strict=True))
    between = None
    if pairs := [*combinations(placed, 2)]:  # for other families if there are enough to tell, else for these datasets
        here = kind == "paper" or len(set(units(block))) < FEWEST_UNITS
        between = resolution(block, pairs, kind, evalset) if here else resolution_elsewhere(block, values, pairs)
        ranges = between.places(placed)
        rows = [replace(row, places=ranges.get(row.title)) for row in rows]
    left_out = tuple(dataset for dataset in datasets if dataset not in block)
    of = (tuple(block), left_out, tuple(rows), ordering.ranking)
    summary = Summary(task, group, *of, kind, evalset, values=values, between=between)
    return summary if kind == "paper" else _tested(summary, ordered, ordering.values, boards)


def _tested(summary: Summary, titles: Sequence[str], values: np.ndarray, boards: Boards) -> Summary:
    """Add the ``stability`` of the first five places and the ``rehearsal``, where there are methods and families."""
    placed, families, block = len(summary.placed), len(set(units(summary.datasets))), summary.datasets
    if placed < 2 or families < FAMILIES:
        return summary
    (column,) = (known for known in summary.columns if known.key == f"delta_{KEPT[summary.task].key}")
    each = [[_one(column, d, boards[d.name][title], boards) for title in titles] for d in block]
    changes = np.array([[e.value if e else np.nan for e in of_methods] for of_methods in each])
    changes[:, [boards[block[0].name][title].method == REFERENCE for title in titles]] = 0
    top = stability(block, values, changes) if placed >= 5 else None
    rehearsed = rehearsal(block, values, changes) if families >= REHEARSED else None
    return replace(summary, top=top, rehearsed=rehearsed, changes=changes)


def _fewer(block: Sequence[Dataset], title: str) -> str:
    """Say what a method lacks of the splits and train seeds that most methods have, as ``3 of 10 train seeds on D``."""
    of_lack: dict[str, list[str]] = {}
    for dataset in block:
        entry = dataset.entry(title)
        if entry is not None and (lack := lacking(dataset, entry)):
            of_lack.setdefault(lack, []).append(dataset.title)
    return "; ".join(_on(lack, titles) for lack, titles in of_lack.items())


def _marked(block: Sequence[Dataset], title: str, boards: Boards, mark: str) -> list[str]:
    """Return the titles of the datasets on which a method has a mark."""
    return [d.title for d in block if title in boards[d.name] and mark in boards[d.name][title].marks]


def _row(
    task: Task, title: str, datasets: Sequence[Dataset], block: Sequence[Dataset], boards: Boards, kind: IntervalKind
) -> SummaryRow:
    """Return the row of a method, but for what follows from its place among others."""
    entries = [entry for d in datasets if (entry := d.entry(title))]
    cells = [cell for entry in entries for cell in entry.cells.values()]
    averaged = [cell for d in block if (entry := d.entry(title)) for cell in entry.cells.values()]
    rows = [(d, boards[d.name][title]) for d in block if title in boards[d.name]]
    low = [_on(mark, _marked(block, title, boards, mark)) for mark in ("†", "†?")]
    columns = summary_columns(task, datasets[0].sampling) if len(rows) == len(block) else ()
    estimates = _means(columns, rows, boards, kind)
    return SummaryRow(
        title=title,
        method=entries[0].method,
        spelled=entries[0].spelled,
        badge=_badge(cells),
        parts=_parts(averaged or cells),
        retrainings=sum(len(cell.key.seeds) for cell in cells),
        estimates=estimates,
        marks=tuple(filter(None, low)),
        differs=_on(UNLIKE, [d.title for d, row in rows if row.differs]),
        keeps=bool(block)
        and (entries[0].method == REFERENCE or keeps(estimates.get(f"delta_{KEPT[task].key}"), block)),
    )


def _parts(cells: Sequence[Cell]) -> Parts:
    """Return what the pipelines of cells of one method are made of; those of one pipeline are looked up once."""
    alike = {(c.title, c.key.pipeline, c.facts.backbone, c.facts.dataset.features): c for c in cells}
    values = [set(part) for part in zip(*map(parts_of, alike.values()), strict=True)]
    return Parts(*(value.pop() if len(value) == 1 else "the dataset's" for value in values))


def _badge(cells: Sequence[Cell]) -> str:
    """Return the status of all cells; of a submission of which only a part is verified, that of the rest.

    A method that is neither submitted nor among the published ones is the reader's own.
    """
    status = next((cell.facts.status for cell in cells if cell.facts.status != "verified"), "verified")
    from leaderboard.read.published import listed_methods  # pandas

    known = listed_methods()
    own = status == "baseline" and known and not any(cell.key.kind[2:4] in known for cell in cells)
    return YOURS if own else status


def _means(
    columns: Sequence[Column], rows: Sequence[tuple[Dataset, BoardRow]], boards: Boards, kind: IntervalKind
) -> dict[str, Estimate | None]:
    """Return the means over families by column; None if a dataset has no value. A cost has no interval."""
    each = {column: [_one(column, dataset, row, boards) for dataset, row in rows] for column in columns}
    means = means_of([dataset for dataset, _ in rows], each, kind)
    return {c.key: mean if (mean := means.get(c)) is None or c.measure else mean.bare() for c in columns}


def _one(column: Column, dataset: Dataset, row: BoardRow, boards: Boards) -> Estimate | None:
    """Return the estimate of one dataset in the unit of the summary; None without it, or without ERM's."""
    estimate, unit = row.estimates.get(column.key), 1.0
    if estimate is not None and column.relative and column.measure is not None:
        erm = boards[dataset.name][dataset.reference.title].estimates[column.measure.key] if dataset.reference else None
        if erm is None:
            return None
        unit = erm.value
    return estimate if estimate is None or unit == 1 else estimate.divided(unit)


def _letter(i: int) -> str:
    """A to Z, then AA, AB, …"""
    return (_letter(i // 26 - 1) if i > 25 else "") + ascii_uppercase[i % 26]


def _on(what: str, titles: Sequence[str]) -> str:
    """Return ``missing on BACE, DILI`` or, of many datasets, their number; "" of none."""
    where = ", ".join(titles) if len(titles) < 5 else f"{len(titles)} datasets"
    return f"{what} on {where}" if titles else ""
