"""What is shown: cells sorted into datasets and methods, wherever they were kept."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmark.errors import UserError, did_you_mean
from benchmark.measure.catalogue import churn
from benchmark.store.cell import Cell, Facts, Record
from benchmark.types import REFERENCE, Task

GROUPS = ("dev", "headline", "borderline", "excluded", "regression", "extra", "scope", "variant")
"""The order of the groups; the paper's main tables show the first two together."""


@dataclass(frozen=True)
class Entry:
    """One method with its hyperparameters on one dataset: ``cells`` by canonical seed, in ascending order."""

    title: str
    method: str
    cells: Mapping[int, Cell]

    @property
    def slug(self) -> str:
        return slug(self.title)


@dataclass(frozen=True)
class Dataset:
    """A dataset with the entries on it, the reference first; all its cells ran on one version of the data."""

    name: str
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    """By example id, the group that it is of; empty for a dataset without groups."""

    @property
    def facts(self) -> Facts:
        """The facts of one cell, for what all have in common."""
        return next(iter(self.entries[0].cells.values())).facts

    @property
    def title(self) -> str:
        return self.facts.dataset.title

    @property
    def group(self) -> str:
        return self.facts.dataset.group

    @property
    def family(self) -> str:
        """Datasets with the same molecules and labels share a family; a rank test counts it once."""
        return self.facts.dataset.family or self.name

    @property
    def unit(self) -> str:
        return self.facts.dataset.unit

    @property
    def task(self) -> Task:
        return next(iter(self.entries[0].cells.values())).predictions["id"].task

    @property
    def n_train(self) -> int:
        return self.facts.rows["train"]

    @property
    def evalsets(self) -> tuple[str, ...]:
        return tuple(next(iter(self.entries[0].cells.values())).predictions)

    @property
    def splits(self) -> tuple[int, ...]:
        """All canonical seeds that any entry has."""
        return tuple(sorted({seed for entry in self.entries for seed in entry.cells}))

    @property
    def reference(self) -> Entry | None:
        """ERM, with which every method is compared."""
        return next((entry for entry in self.entries if entry.method == REFERENCE), None)

    def entry(self, title: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.title == title), None)


@dataclass(frozen=True, eq=False)
class Results:
    """Everything that is shown: datasets by group and size; ``source`` says where the cells were read.

    Two results are equal if they are the same object, so that what is computed from one is computed once.
    """

    datasets: tuple[Dataset, ...]
    source: str = ""
    unreadable: tuple[str, ...] = field(default=())
    of_studies: tuple[Cell, ...] = ()
    """Cells that only a study asked for, newest first; they are in no dataset."""
    records: tuple[Record, ...] = ()

    def dataset(self, name: str) -> Dataset | None:
        return next((dataset for dataset in self.datasets if dataset.name == name), None)

    def methods(self) -> tuple[str, ...]:
        """The titles of all entries, the reference first, then as the datasets have them."""
        titles = dict.fromkeys(entry.title for dataset in self.datasets for entry in dataset.entries)
        first = {d.reference.title for d in self.datasets if d.reference is not None}
        return tuple(sorted(titles, key=lambda title: title not in first))

    def called(self, name: str) -> dict[str, Entry]:
        """The one entry of each dataset that ``name`` means: its title, slug or method.

        Defaults may differ between tasks, so that titles may between datasets. Raises UserError for a name that no
        entry has, or several of one dataset.
        """
        found: dict[str, Entry] = {}
        for dataset in self.datasets:
            some = [entry for entry in dataset.entries if name in (entry.title, entry.slug, entry.method)]
            if len(some) > 1:
                titles = [entry.title for entry in some]
                raise UserError(
                    f"{name!r} is {' and '.join(titles)} on {dataset.name}: name one, as "
                    f"{' or '.join(map(slug, titles))}"
                )
            if some:
                found[dataset.name] = some[0]
        if not found:
            raise did_you_mean("method", name, [*dict.fromkeys(e.method for d in self.datasets for e in d.entries)])
        return found

    def of_task(self, task: Task) -> tuple[Dataset, ...]:
        """The datasets of a task without variants of them, which are no further evidence."""
        return tuple(d for d in self.datasets if d.task == task and d.group != "variant")

    def variants(self, task: Task) -> tuple[Dataset, ...]:
        """Datasets under other settings, as ``bace@train=200``."""
        return tuple(d for d in self.datasets if d.task == task and d.group == "variant")

    def headline(self) -> tuple[Dataset, ...]:
        """The classification datasets of the paper's main table: development and held-out."""
        return tuple(d for d in self.of_task("classification") if d.group in ("dev", "headline"))


def family_weights(datasets: Sequence[Dataset]) -> np.ndarray:
    """What each dataset counts in a mean over (D,) datasets in which each family counts once; their sum is 1."""
    sizes = Counter(dataset.family for dataset in datasets)
    return np.array([1 / (len(sizes) * sizes[dataset.family]) for dataset in datasets])


def submitted(cell: Cell) -> bool:
    """Whether a cell was handed in, self-reported or verified, and not run for the suite."""
    return cell.facts.submission is not None


def slug(title: str) -> str:
    """A title as part of an address; one with letters that an address cannot have ends with a digest of it.

    >>> slug("Twin-bootstrap λ=300"), slug("Bäume"), slug("方法甲 1.0")
    ('twin-bootstrap-lambda-300', 'baume', '1.0-2b406cbd')
    """
    plain = " ".join(unicodedata.normalize("NFKD", title).casefold().replace("λ", "lambda").split())
    spelled = re.sub(r"[^a-z0-9.]+", "-", "".join(c for c in plain if not unicodedata.combining(c))).strip("-")
    if not any(c.isalnum() and not c.isascii() for c in plain):
        return spelled
    return f"{spelled}-{hashlib.sha256(plain.encode()).hexdigest()[:8]}".strip("-")


def collect(
    cells: Iterable[Cell], source: str = "", unreadable: Iterable[str] = (), records: Iterable[Record] = ()
) -> Results:
    """Sort ``cells``, newest first, into datasets and entries, those of studies apart.

    Of each method, hyperparameters and split the newest code counts, with the most retrainings, on the data
    version that was logged last: methods are only compared on identical rows. What is left out for its data
    is said in the dataset's notes; what was submitted as the reference is left out too, and said in ``unreadable``.
    """
    chosen: dict[tuple[str, int, str, str], Cell] = {}
    version: dict[tuple[str, int], str] = {}
    notes: dict[str, list[str]] = {}
    unreadable = list(unreadable)
    of_studies: dict[tuple[object, ...], Cell] = {}
    for cell in cells:
        key = cell.key
        if key.method == REFERENCE and submitted(cell):
            unreadable.append(
                f"{cell.title} on {key.dataset} is left out: it was handed in under the name of the reference, "
                f"{REFERENCE!r}, which only the suite's own runs may have"
            )
            continue
        current = version.setdefault((key.dataset, key.canonical_seed), key.problem)
        if key.problem != current:
            notes.setdefault(key.dataset, []).append(
                f"{cell.title} on split {key.canonical_seed} is left out: it ran on other data, features or recipe "
                f"(fingerprint {key.problem}, now {current}). Run again: {cell.facts.command}"
            )
            continue
        known = chosen.get(key.kind)
        if cell.facts.study:
            if known is None or not set(key.seeds) <= set(known.key.seeds):
                of_studies.setdefault((key.kind, key.seeds), cell)
        elif known is None or (key.code == known.key.code and len(key.seeds) > len(known.key.seeds)):
            chosen[key.kind] = cell
    by_dataset: dict[str, list[Cell]] = {}
    for cell in chosen.values():
        by_dataset.setdefault(cell.key.dataset, []).append(cell)
    datasets = [_dataset(name, some, notes.get(name, [])) for name, some in sorted(by_dataset.items())]
    newest = tuple(
        {(record.study, record.key, _settings(record)): record for record in reversed(list(records))}.values()
    )
    datasets.sort(key=lambda d: (_group(d), d.n_train, d.title))
    return Results(tuple(datasets), source, tuple(unreadable), tuple(of_studies.values()), newest)


def with_studies(results: Results) -> Results:
    """The same with the cells of studies among the others, where these have none."""
    known = [cell for d in results.datasets for entry in d.entries for cell in entry.cells.values()]
    unmarked = [cell.with_facts(study="") for cell in results.of_studies]
    return collect([*known, *unmarked], results.source, results.unreadable, results.records)


def with_groups(results: Results, texts: Mapping[str, str]) -> Results:
    """``results`` with the groups of examples, from the ``groups.csv`` of each dataset that has one."""
    found = {
        name: {row["id"]: row["group"] for row in csv.DictReader(io.StringIO(text))} for name, text in texts.items()
    }
    return replace(results, datasets=tuple(replace(d, groups=found.get(d.name, {})) for d in results.datasets))


def _settings(record: Record) -> str:
    return repr(record.content.get("settings"))


def _group(dataset: Dataset) -> int:
    group = "headline" if dataset.group == "dev" else dataset.group
    return GROUPS.index(group) if group in GROUPS else len(GROUPS)


def _dataset(name: str, cells: list[Cell], notes: list[str]) -> Dataset:
    by_method: dict[tuple[str, str], dict[int, Cell]] = {}
    for cell in sorted(cells, key=lambda cell: cell.key.canonical_seed):
        kind = (cell.key.method, repr(sorted(cell.key.params.items())))
        by_method.setdefault(kind, {})[cell.key.canonical_seed] = cell
    entries = [Entry(next(iter(of.values())).title, method, of) for (method, _), of in by_method.items()]
    entries.sort(key=lambda entry: (entry.method != REFERENCE, _mean_churn(entry), entry.title))
    return Dataset(name, tuple(entries), tuple(notes))


def _mean_churn(entry: Entry) -> float:
    parts = [cell.predictions["id"] for cell in entry.cells.values()]
    value = float(np.mean([churn(p.task).mean(p) for p in parts]))
    return value if value == value else float("inf")
