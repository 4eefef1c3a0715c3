"""The reports of studies as tables and charts, from the cells and records at hand; nothing is trained."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.errors import UserError
from benchmark.lab.study import (
    REPORT,
    Content,
    Head,
    Measured,
    Missing,
    Number,
    Report,
    Sampled,
    Sheet,
    Study,
    arrange,
    make_study,
)
from benchmark.store.cell import Cell, Record
from leaderboard.read.results import Results, slug
from leaderboard.stats.intervals import INTERVAL_KINDS, Estimate, IntervalKind, standard_deviation
from leaderboard.tables.columns import common, interval
from leaderboard.tables.columns import estimate as of_measure
from leaderboard.tables.table import Table, Value

REPLICATES = (
    "Of what is no quantity of predictions: 95 % jackknife interval over the replicates, of a standard deviation the "
    "percentile bootstrap."
)


@dataclass(frozen=True)
class Reader:
    """A lab that only reads: what is not there is Missing."""

    study: str
    known: Sequence[Cell]
    records: Sequence[Record]

    def cells(
        self, methods: Sequence[str], datasets: Sequence[str], canonical_seeds: Sequence[int], seeds: Sequence[int]
    ) -> Mapping[tuple[str, str], Sequence[Cell]]:
        return arrange(self.known, methods, datasets, canonical_seeds, seeds)

    def record(
        self, key: str, dataset: str, canonical_seed: int, make: Callable[..., Content], *given: object
    ) -> Content:
        for record in self.records:
            if (record.study, record.key) == (self.study, key):
                return record.content
        raise Missing(f"the record {key!r}")


@dataclass(frozen=True)
class Told:
    """A study that was run, with its report; ``settings``, NAME=VALUE, are those that differ from the defaults."""

    study: Study
    settings: Sequence[str]
    report: Report

    @property
    def slug(self) -> str:
        return slug(" ".join((self.study.name, *self.settings)))

    @property
    def command(self) -> str:
        """The command line that runs it again."""
        options = [word for setting in self.settings for word in ("--set", setting)]
        return shlex.join(["python", "-m", "benchmark", "study", self.study.name, *options])

    @property
    def title(self) -> str:
        return f"{self.study.title} ({'; '.join(self.settings)})" if self.settings else self.study.title


def told(results: Results, name: str = "") -> tuple[list[Told], list[str]]:
    """The studies that were finished, or the one called ``name``, each setting once; and a line for each that cannot
    be shown.
    """
    known = [cell for d in results.datasets for e in d.entries for cell in e.cells.values()]
    found: dict[str, Told] = {}
    troubles = []
    for record in results.records:
        if record.key != REPORT or name not in ("", record.study):
            continue
        settings = {name: str(value) for name, value in record.content.get("settings", {}).items()}
        try:
            study = make_study(record.study, settings)
            report = study.report(Reader(record.study, [*results.of_studies, *known], results.records))
        except Missing as error:
            troubles.append(f"study {record.study} is left out, it lacks {error}: run it again")
            continue
        except UserError as error:  # it was run by another version of the suite
            troubles.append(f"study {record.study} is left out: {error}")
            continue
        defaults = make_study(record.study, {})
        changed = [f"{name}={value}" for name, value in settings.items() if str(getattr(defaults, name)) != value]
        one = Told(study, changed, report)
        found.setdefault(one.slug, one)
    return [found[key] for key in sorted(found)], troubles


def estimate(number: Number, kind: IntervalKind = "runs") -> Estimate:
    """A number of a report with its interval."""
    if isinstance(number, Sampled):
        values = np.asarray(number.values, dtype=float)
        return interval(kind, lambda: [values], None) if number.statistic == "mean" else standard_deviation(values)
    if not number.versus:
        return of_measure(number.measure, [(cell.predictions[number.evalset], None) for cell in number.cells], kind)
    pairs = zip(number.cells, number.versus, strict=True)
    both = [(common(a, b).predictions[number.evalset], common(b, a).predictions[number.evalset]) for a, b in pairs]
    return of_measure(number.measure, both, kind)


def table(one: Told, sheet: Sheet, kind: IntervalKind = "runs") -> Table:
    """A sheet of a report with its numbers computed."""
    heads = [head if isinstance(head, Head) else Head(head) for head in sheet.header]

    def show(head: Head, cell: str | Number) -> str | Value:
        if isinstance(cell, str):
            return cell
        return Value.of(estimate(cell, kind), head.scale, head.digits, head.signed, head.most).but(flags=cell.flags)

    rows = [tuple(show(head, cell) for head, cell in zip(heads, row, strict=True)) for row in sheet.rows]
    numbers = [n for row in sheet.rows for n in row if not isinstance(n, str)]
    of_runs = [INTERVAL_KINDS[kind]] if any(isinstance(n, Measured) for n in numbers) else []
    of_others = [REPLICATES] if any(isinstance(n, Sampled) and len(n.values) > 1 for n in numbers) else []
    datasets = {cell.key.dataset for row in sheet.rows for n in row if isinstance(n, Measured) for cell in n.cells}
    return Table(
        f"study-{one.slug}-{sheet.key}",
        sheet.title,
        " ".join([sheet.caption, *of_runs, *of_others]),
        tuple(head.text for head in heads),
        tuple(rows),
        tuple(sheet.notes),
        datasets=tuple(sorted(datasets)),
        kind=kind,
    )
