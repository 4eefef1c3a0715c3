"""Results: cells arranged by dataset and method, wherever they are kept."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache, wraps
from itertools import chain
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

import numpy as np

from benchmark import registry
from benchmark.errors import UserError, did_you_mean
from benchmark.measure.catalogue import churn
from benchmark.measure.measure import Measure
from benchmark.store.cell import Cell, Facts, Record
from benchmark.types import PAPER, REFERENCE, SAMPLINGS, Predictions, Sampling, Task
from leaderboard.read.pipelines import known_part, title_of

GROUPS = ("own", "dev", "headline", "borderline", "excluded", "regression", "wide", "extra", "scope", "variant")
"""Groups of datasets in display order; the paper's main tables show the first two together."""
LEADING: tuple[Sampling, ...] = ("halves", "paper", "nested", "update")
"""Samplings in the order in which decisions go by them."""
LONGEST = 150
"""Characters of a title in an address."""
PAPER_SPLIT = 99
T = TypeVar("T")
P = ParamSpec("P")
AggregationUnit = Literal["family", "group"]
"""The unit that counts once in means and rank tests: a family of datasets, or, more strictly, a group of families."""
PLURAL: Mapping[AggregationUnit, str] = {"family": "families", "group": "groups of families"}


@dataclass(frozen=True)
class Entry:
    """One method with its hyperparameters on one dataset: ``cells`` by canonical seed, in ascending order."""

    title: str
    method: str
    """The method, with learner and features where they are not the defaults, as in ``CellKey.pipeline``."""
    cells: Mapping[int, Cell]

    @property
    def slug(self) -> str:
        return slug(self.title)

    @property
    def tests(self) -> list[Predictions]:
        """The predictions on the ID test of each split."""
        return [cell.predictions["id"] for cell in self.cells.values()]

    def mean(self, measure: Measure) -> float:
        """Return the mean of a measure over the ID tests of all splits."""
        return float(np.mean([measure.mean(p) for p in self.tests]))

    @property
    def control(self) -> bool:
        """Tell whether the method is only there to compare others with, and has no rank."""
        return any(cell.facts.control for cell in self.cells.values())

    @property
    def spelled(self) -> str:
        """The method as the command line names it, in the same way under all samplings if λ is the default there.

        Learner and features follow where they are not the defaults.
        """
        cell = next(iter(self.cells.values()))
        key, task = cell.key, cell.predictions["id"].task
        if (known := known_part(key.method)) is None:
            return self.title
        try:
            own = known(**key.params)
        except (UserError, TypeError, ValueError):  # submitted with other hyperparameters
            return self.title
        name = registry.spelled_part(own, task, cell.facts.backbone, key.sampling)
        return " ".join(filter(None, (name, key.learner, key.features, key.tuning)))


@dataclass(frozen=True)
class Dataset:
    """A dataset with its entries, the reference first; all its cells ran on one version of the data."""

    name: str
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    """Groups by example id; empty for a dataset without groups."""
    computed: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Cache for what is computed from the dataset alone, such as its boards."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what other processes get: neither what has been computed nor the reports of runs."""
        bare = ({s: replace(cell, reports={}) for s, cell in entry.cells.items()} for entry in self.entries)
        own = {known.name: getattr(self, known.name) for known in fields(self)}
        entries = tuple(replace(entry, cells=cells) for entry, cells in zip(self.entries, bare, strict=True))
        return own | {"entries": entries, "computed": {}}

    @property
    def facts(self) -> Facts:
        """The facts of one cell, for those that all cells share."""
        return self.cells[0].facts

    @property
    def title(self) -> str:
        return self.facts.dataset.title

    @property
    def group(self) -> str:
        return self.facts.dataset.group

    @cached_property
    def family(self) -> str:
        """The family, shared by datasets with the same molecules and labels; a rank test counts it once."""
        return self.facts.dataset.family or self.name

    @property
    def family_group(self) -> str:
        """The group of families with most molecules in common."""
        return self.facts.dataset.family_group or self.family

    @property
    def unit(self) -> str:
        return self.facts.dataset.unit

    @property
    def sampling(self) -> Sampling:
        return self.cells[0].key.sampling

    @property
    def task(self) -> Task:
        return self.cells[0].predictions["id"].task

    @property
    def headline(self) -> bool:
        """Whether it is a classification of the paper's main table, development or held-out."""
        return self.task == "classification" and self.group in ("dev", "headline")

    @property
    def n_train(self) -> int:
        return self.facts.rows["train"]

    @property
    def evalsets(self) -> tuple[str, ...]:
        return tuple(self.cells[0].predictions)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(cell for entry in self.entries for cell in entry.cells.values())

    @cached_property
    def splits(self) -> tuple[int, ...]:
        """Canonical seeds of all entries."""
        return tuple(sorted({cell.key.canonical_seed for cell in self.cells}))

    def cell(self, split: int) -> Cell:
        """Return a cell of a canonical split, for what all have in common."""
        return next(entry.cells[split] for entry in self.entries if split in entry.cells)

    @property
    def reference(self) -> Entry | None:
        """The entry of ERM, which every method is compared with."""
        return next((entry for entry in self.entries if entry.method == REFERENCE), None)

    def entry(self, title: str) -> Entry | None:
        return self._by_title.get(title)

    @cached_property
    def _by_title(self) -> Mapping[str, Entry]:
        return {entry.title: entry for entry in reversed(self.entries)}


def once(compute: Callable[Concatenate[Dataset, P], T]) -> Callable[Concatenate[Dataset, P], T]:
    """Return a function whose results are kept in ``Dataset.computed``, under its name and what else it takes.

    None may have the name of another.
    """

    @wraps(compute)
    def kept(dataset: Dataset, /, *args: P.args, **more: P.kwargs) -> T:
        key = (compute.__name__, *args, *more.items())
        if key not in dataset.computed:
            dataset.computed[key] = compute(dataset, *args, **more)
        value: T = dataset.computed[key]
        return value

    return kept


@dataclass(frozen=True, eq=False)
class Results:
    """Everything on the leaderboard: datasets by group and size; ``source`` is the origin of the cells.

    Results are compared by identity, so that derived values can be cached by object.
    """

    datasets: tuple[Dataset, ...]
    source: str = ""
    unreadable: tuple[str, ...] = ()
    of_studies: tuple[Cell, ...] = ()
    """Cells that only a study asked for, newest first; they belong to no dataset."""
    records: tuple[Record, ...] = ()
    sampling: Sampling = PAPER
    """The part of the training pool that a retraining could see; results are only compared under one sampling."""
    others: tuple[Results, ...] = ()
    """Results under other samplings, in the order of ``SAMPLINGS``."""

    @property
    def every(self) -> tuple[Results, ...]:
        """These results and those under other samplings, in the order of ``SAMPLINGS``."""
        return tuple(sorted((self, *self.others), key=lambda results: SAMPLINGS.index(results.sampling)))

    @property
    def by_sampling(self) -> tuple[Results, ...]:
        """Those of ``every`` that have something to show."""
        return tuple(results for results in self.every if results.datasets or results.records)

    @property
    def front(self) -> Results:
        """Those that the board shows first and goes by: under ``halves``, if there are any."""
        return (self.by_sampling or (self,))[0]

    def leading(self) -> list[Results]:
        """Return what decisions go by: each dataset under ``halves``, or else ``paper``, or else ``nested``."""
        parts: list[Results] = []
        known: set[str] = set()
        for part in sorted(self.every, key=lambda part: LEADING.index(part.sampling)):
            rest = tuple(dataset for dataset in part.datasets if dataset.name not in known)
            parts += [replace(part, datasets=rest, others=())] * bool(rest)
            known |= {dataset.name for dataset in rest}
        return parts

    def dataset(self, name: str) -> Dataset | None:
        return next((dataset for dataset in self.datasets if dataset.name == name), None)

    def methods(self) -> tuple[str, ...]:
        """Return the titles of all entries, the reference first, then in the order of the datasets."""
        titles = dict.fromkeys(entry.title for dataset in self.datasets for entry in dataset.entries)
        first = {d.reference.title for d in self.datasets if d.reference is not None}
        return tuple(sorted(titles, key=lambda title: title not in first))

    def called(self, name: str) -> dict[str, Entry]:
        """Return the entry of each dataset whose title or slug is ``name``, or else its method.

        Defaults may differ between tasks, so titles may differ between datasets. Raises UserError if no entry has the
        name, or if several entries of one dataset have it.
        """
        matches: dict[str, Entry] = {}
        for dataset in self.datasets:
            entries = [entry for entry in dataset.entries if name in (entry.title, entry.slug, entry.method)]
            entries = [entry for entry in entries if name in (entry.title, entry.slug)] or entries
            if len(entries) > 1:
                titles, slugs = ([getattr(entry, part) for entry in entries] for part in ("title", "slug"))
                raise UserError(f"{name!r} could be {' or '.join(titles)} on {dataset.name}: use {' or '.join(slugs)}")
            if entries:
                matches[dataset.name] = entries[0]
        if not matches:
            raise did_you_mean("method", name, [*dict.fromkeys(e.method for d in self.datasets for e in d.entries)])
        return matches

    def of_task(self, task: Task) -> tuple[Dataset, ...]:
        """Return the datasets of a task, without variants, which are not further evidence."""
        return tuple(d for d in self.datasets if d.task == task and d.group != "variant")

    def regressions(self) -> tuple[Dataset, ...]:
        """Return the regressions outside the suite wide: the paper's, and those of no suite."""
        return tuple(d for d in self.of_task("regression") if d.group != "wide")

    def variants(self, task: Task) -> tuple[Dataset, ...]:
        """Return the variants of a task: datasets under other settings, such as ``bace@train=200``."""
        return tuple(d for d in self.datasets if d.task == task and d.group == "variant")

    def headline(self) -> tuple[Dataset, ...]:
        """Return the classification datasets of the paper's main table: development and held-out."""
        return tuple(d for d in self.of_task("classification") if d.headline)


def papers_or_first(splits: Collection[int]) -> int:
    """Return the paper's canonical split if it is one of ``splits``, else the first."""
    return PAPER_SPLIT if PAPER_SPLIT in splits else min(splits)


def units(datasets: Sequence[Dataset], unit: AggregationUnit = "family") -> list[str]:
    """Return the name of each dataset's family, or of the families that it is joined with by groups, one after another.

    Two families are joined if a dataset of each is in one group: a third one may join them.
    """
    if unit == "family":
        return [dataset.family for dataset in datasets]
    joined = {dataset.family: dataset.family for dataset in datasets}
    for group in dict.fromkeys(d.family_group for d in datasets):
        members = {joined[d.family] for d in datasets if d.family_group == group}
        joined = {family: min(members) if name in members else name for family, name in joined.items()}
    return [joined[dataset.family] for dataset in datasets]


def unit_weights(datasets: Sequence[Dataset], unit: AggregationUnit = "family") -> np.ndarray:
    """Return the weights (D,) of datasets in a mean over families, or over groups of families; they add up to 1."""
    names = units(datasets, unit)
    sizes = Counter(names)
    return np.array([1 / (len(sizes) * sizes[name]) for name in names])


def submitted(cell: Cell) -> bool:
    """Tell whether a cell was submitted, self-reported or verified, rather than run for the suite."""
    return cell.facts.submission is not None


@cache
def slug(title: str) -> str:
    """Turn a title into a part of an address.

    It ends with a digest if the title has letters that an address cannot have, has nothing else, or is too long for the
    name of a file.

    >>> slug("Twin-bootstrap λ=300"), slug("Bäume"), slug("方法甲 1.0")
    ('twin-bootstrap-lambda-300', 'baume', '1.0-2b406cbd')
    """
    plain = " ".join(unicodedata.normalize("NFKD", title).casefold().replace("λ", "lambda").split())
    spelled = re.sub(r"[^a-z0-9.]+", "-", "".join(c for c in plain if not unicodedata.combining(c))).strip("-")
    if 0 < len(spelled) <= LONGEST and not any(c.isalnum() and not c.isascii() for c in plain):
        return spelled
    return f"{spelled[:LONGEST]}-{hashlib.sha256(plain.encode()).hexdigest()[:8]}".strip("-")


def collect(
    cells: Iterable[Cell], source: str = "", unreadable: Iterable[str] = (), records: Iterable[Record] = ()
) -> Results:
    """Arrange ``cells``, newest first, by sampling, dataset and entry, with the cells of studies apart.

    Returns the results of the sampling ``paper``, which refer to ``others``; ``records`` and ``unreadable`` go with it.

    Of each method, hyperparameters and split, the newest code counts, with the most retrainings, on the data version
    that was logged last: methods are only compared on identical rows. The dataset's notes name the cells left out for
    their data; ``unreadable`` names those left out because they were submitted as the reference, because their title is
    another's, because their test examples or labels are not those of most cells with the same fingerprint, or because
    they have no whole halving.
    """
    cells = list(cells)
    taken = _of_taken_titles(cells)
    unreadable = chain(unreadable, _told(taken))
    cells_of: dict[Sampling, list[Cell]] = {PAPER: []}
    for cell in (cell for cell in cells if id(cell) not in taken):
        cells_of.setdefault(cell.key.sampling, []).append(cell)
    others = [_collect(cells_of[s], s, source, (), ()) for s in SAMPLINGS if s in cells_of and s != PAPER]
    left_out = chain(unreadable, *(results.unreadable for results in others))
    return replace(_collect(cells_of[PAPER], PAPER, source, left_out, records), others=tuple(others))


def _collect(
    cells: Sequence[Cell], sampling: Sampling, source: str, unreadable: Iterable[str], records: Iterable[Record]
) -> Results:
    """Return the results of cells of one sampling."""
    chosen: dict[tuple[object, ...], Cell] = {}
    version: dict[tuple[str, int], str] = {}
    notes: dict[str, list[str]] = {}
    unreadable = list(unreadable)
    of_studies: dict[tuple[object, ...], Cell] = {}
    tests = [_test(cell) for cell in cells]
    usual = _usual(cells, tests)
    for cell, test in zip(cells, tests, strict=True):
        key = cell.key
        if test != usual[key.dataset, key.canonical_seed, key.problem]:
            unreadable.append(
                f"{cell.title} on {key.dataset}, split {key.canonical_seed}, is left out: its test examples or labels "
                f"are not those of the other cells with the same fingerprint of the data, {key.problem}, so it cannot "
                f"be compared with them. Run again: {cell.facts.command} --force"
            )
            continue
        if key.method == REFERENCE and submitted(cell):
            unreadable.append(
                f"{cell.title} on {key.dataset} is left out: it was submitted under the name of the reference, "
                f"{REFERENCE!r}, which is reserved for the suite's own runs"
            )
            continue
        if sampling == "halves" and not len(cell.predictions["id"].pairs()):
            unreadable.append(
                f"{cell.title} on {key.place}, is left out: of its train seeds {key.spelled_seeds}, no two are the two "
                f"halves of one halving, 2j-1 and 2j. Run again, with --seeds 20 as its seeds: {cell.facts.command}"
            )
            continue
        current = version.setdefault((key.dataset, key.canonical_seed), key.problem)
        if key.problem != current:
            notes.setdefault(key.dataset, []).append(
                f"{cell.title} on split {key.canonical_seed} is left out: it ran with different data, features or "
                f"recipe (fingerprint {key.problem}, now {current}). Run again: {cell.facts.command}"
            )
            continue
        best = chosen.get(key.kind)
        if cell.facts.study:
            if best is None or not set(key.seeds) <= set(best.key.seeds):
                of_studies.setdefault((key.kind, key.seeds), cell)
        elif best is None or (key.code == best.key.code and len(key.seeds) > len(best.key.seeds)):
            chosen[key.kind] = cell
    by_dataset: dict[str, list[Cell]] = {}
    for cell in chosen.values():
        by_dataset.setdefault(cell.key.dataset, []).append(cell)
    datasets = [_dataset(name, chosen_cells, notes.get(name, [])) for name, chosen_cells in sorted(by_dataset.items())]
    order = {group: i for i, group in enumerate(GROUPS)} | {"dev": GROUPS.index("headline")}
    datasets.sort(key=lambda d: (order.get(d.group, len(GROUPS)), d.n_train, d.title))
    newest = {(r.study, r.key, repr(r.content.get("settings"))): r for r in reversed(list(records))}
    kept = tuple(of_studies.values()), tuple(newest.values())
    return Results(tuple(datasets), source, tuple(unreadable), *kept, sampling)


def _of_taken_titles(cells: Iterable[Cell]) -> dict[int, tuple[Cell, Cell]]:
    """Return, by identity, the cells whose title is that of another method or of other hyperparameters, with the other.

    Tables and pages go by titles. A title belongs to the reference, otherwise to the newest cell: a file may be a copy
    that kept its title, or have another default than before. Defaults may depend on task and sampling.
    """
    methods: dict[str, Cell] = {}
    settings: dict[tuple[str, Task, Sampling], Cell] = {}
    taken = {}
    for cell in sorted(cells, key=lambda cell: cell.key.method != REFERENCE or submitted(cell)):
        title = title_of(cell)
        owner = methods.setdefault(title, cell)
        if owner.key.pipeline == cell.key.pipeline:
            owner = settings.setdefault((title, cell.predictions["id"].task, cell.key.sampling), cell)
        if owner.key.kind[2:4] != cell.key.kind[2:4]:
            taken[id(cell)] = cell, owner
    return taken


def _told(taken: Mapping[int, tuple[Cell, Cell]]) -> Iterator[str]:
    """Yield a message for each method, or choice of hyperparameters, that is left out for its title."""
    pairs: dict[tuple[object, ...], list[tuple[Cell, Cell]]] = {}
    for cell, owner in taken.values():
        pairs.setdefault((*cell.key.kind[2:4], *owner.key.kind[2:4]), []).append((cell, owner))
    for (cell, owner), *others in pairs.values():
        more = f" (and {len(others)} more)" if others else ""
        if cell.key.pipeline != owner.key.pipeline:
            reason = f"it is {cell.key.pipeline}, and {owner.key.pipeline} has this title: change one and run it again"
        else:
            reason = (
                f"newer results of this title have other hyperparameters ({owner.key.params}, not {cell.key.params}): "
                "to see both, name them in the title and run both again"
            )
        yield f"{title_of(cell)} on {cell.key.place}{more} is left out: {reason}"


def _usual(cells: Iterable[Cell], tests: Iterable[str]) -> dict[tuple[str, int, str], str]:
    """Return which of ``tests`` most cells have for each dataset, split and data; of equally many, the reference's."""
    votes: dict[tuple[str, int, str], Counter[str]] = {}
    for cell, test in zip(cells, tests, strict=True):
        counts = votes.setdefault((cell.key.dataset, cell.key.canonical_seed, cell.key.problem), Counter())
        counts[test] += 2 + (cell.key.pipeline == REFERENCE)
    return {data: counts.most_common(1)[0][0] for data, counts in votes.items()}


def _test(cell: Cell) -> str:
    """Return a digest of the task, examples and labels of a cell's tests, in their order."""
    digest = hashlib.sha256()
    for name, p in cell.predictions.items():
        digest.update(repr((name, p.task, p.values.shape[2], p.ids.tolist())).encode())
        digest.update(p.y.astype(np.float64).tobytes())
    return digest.hexdigest()


@lru_cache(maxsize=4)
def with_studies(results: Results) -> Results:
    """Return ``results`` with the cells of studies added to the datasets that lack them."""
    if not results.of_studies:
        return results
    cells = [cell for dataset in results.datasets for cell in dataset.cells]
    unmarked = [cell.with_facts(study="") for cell in results.of_studies]
    return _collect([*cells, *unmarked], results.sampling, results.source, results.unreadable, results.records)


def with_groups(results: Results, texts: Mapping[str, str]) -> Results:
    """Return ``results`` with the groups of examples, from the text of each dataset's ``groups.csv``."""
    rows = {name: csv.DictReader(io.StringIO(text)) for name, text in texts.items()}
    groups = {
        name: {r["id"]: r["group"] for r in lines if r.get("id") and r.get("group")} for name, lines in rows.items()
    }
    datasets = tuple(replace(d, groups=groups.get(d.name, {})) for d in results.datasets)
    return replace(results, datasets=datasets, others=tuple(with_groups(other, texts) for other in results.others))


def _dataset(name: str, cells: list[Cell], notes: list[str]) -> Dataset:
    by_method: dict[tuple[str, str], dict[int, Cell]] = {}
    for cell in sorted(cells, key=lambda cell: cell.key.canonical_seed):
        by_method.setdefault(cell.key.kind[2:4], {})[cell.key.canonical_seed] = cell
    entries = [
        Entry(title_of(next(iter(by_split.values()))), method, by_split) for (method, _), by_split in by_method.items()
    ]
    measure = churn(cells[0].predictions["id"].task)
    entries.sort(key=lambda e: (e.method != REFERENCE, np.nan_to_num(e.mean(measure), nan=np.inf), e.title))
    return Dataset(name, tuple(entries), tuple(notes))
