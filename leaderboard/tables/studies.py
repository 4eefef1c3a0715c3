"""Reports of studies as tables, from existing cells and records; nothing is trained."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.errors import UserError
from benchmark.measure.estimate import estimate as of_measure
from benchmark.measure.intervals import (
    INTERVAL_KINDS,
    Estimate,
    IntervalKind,
    jackknife,
    pair_bootstrap,
    standard_deviation,
)
from benchmark.store.cell import Cell, Grid, Record
from benchmark.studies import make_study
from benchmark.study.context import REPORT, Content, Context, Missing, Study
from benchmark.study.report import Head, Measured, Number, Report, Sampled, Sheet
from leaderboard.read.results import Results, slug
from leaderboard.tables.columns import UNLIKE, common, differences
from leaderboard.tables.table import Table, Value

REPLICATES = (
    "Quantities not computed from predictions: 95 % jackknife interval over the replicates (percentile bootstrap for a "
    "standard deviation)."
)
UNLIKE_IN_STUDY = (
    f"{UNLIKE} The two sides of the difference also differ in code, library versions, device or uncommitted changes."
)


@dataclass(frozen=True)
class Reader(Context):
    """A context that only reads and raises Missing for anything not stored."""

    study: str
    known: Sequence[Cell]
    records: Sequence[Record]

    def stored(self, grid: Grid) -> Sequence[Cell]:
        return self.known

    def record(
        self, key: str, dataset: str, canonical_seed: int, make: Callable[..., Content], *given: object
    ) -> Content:
        for record in self.records:
            if (record.study, record.key) == (self.study, key):
                return record.content
        raise Missing(f"the record {key!r}")


def reader(results: Results) -> Reader:
    """Return a context that reads all cells and records of ``results``."""
    parts = results.every
    cells = [cell for part in parts for cell in part.of_studies]
    cells += [cell for part in parts for dataset in part.datasets for cell in dataset.cells]
    return Reader("", cells, results.records)


@dataclass(frozen=True)
class Rendered:
    """A finished study with its report; ``settings`` (NAME=VALUE) are those that differ from the defaults."""

    study: Study
    settings: Sequence[str]
    report: Report

    @property
    def slug(self) -> str:
        """The name of the study's page and the prefix of its tables, one per setting."""
        return slug(" ".join((self.study.name, *self.settings)))

    @property
    def command(self) -> str:
        options = [word for setting in self.settings for word in ("--set", setting)]
        return shlex.join(["churn", "study", self.study.name, *options])

    @property
    def title(self) -> str:
        return f"{self.study.title} ({'; '.join(self.settings)})" if self.settings else self.study.title


def render(context: Reader, name: str, settings: Mapping[str, str]) -> Rendered:
    """Return the study ``name`` with these settings. Raises Missing if it is not finished."""
    study, defaults = make_study(name, dict(settings)), make_study(name, {})
    changed = [f"{key}={value}" for key, value in settings.items() if str(getattr(defaults, key)) != value]
    return Rendered(study, changed, study.report(replace(context, study=name)))


def rendered(results: Results, name: str = "") -> tuple[list[Rendered], list[str]]:
    """Return the finished studies (or the one called ``name``), each setting once, and a line per study left out."""
    context = reader(results)
    finished: dict[str, Rendered] = {}
    troubles = []
    for record in results.records:
        if record.key != REPORT or name not in ("", record.study):
            continue
        try:
            settings = {name: str(value) for name, value in record.content.get("settings", {}).items()}
            study = render(context, record.study, settings)
        except Missing as error:
            troubles.append(f"study {record.study} is left out because {error} is missing: run it again")
        except UserError as error:  # run by another version of the suite
            troubles.append(f"study {record.study} is left out: {error}")
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"[:200]
            troubles.append(f"study {record.study} is left out: its records cannot be read ({reason}): run it again")
        else:
            finished.setdefault(study.slug, study)
    return [finished[key] for key in sorted(finished)], troubles


def estimate(number: Number, kind: IntervalKind = "runs") -> Estimate:
    """Return a number of a report with its interval."""
    if isinstance(number, Sampled):
        values = np.asarray(number.values, dtype=float)
        if number.statistic != "mean":
            return standard_deviation(values)
        return pair_bootstrap([values]) if kind == "paper" else jackknife([values])
    if not number.versus:
        return of_measure(number.measure, [(cell.predictions[number.evalset], None) for cell in number.cells], kind)
    both = [common(a, b, number.evalset) for a, b in zip(number.cells, number.versus, strict=True)]
    return of_measure(number.measure, both, kind)


def table(study: Rendered, sheet: Sheet, kind: IntervalKind = "runs") -> Table:
    """Return a sheet of a report with its numbers computed."""
    heads = [head if isinstance(head, Head) else Head(head) for head in sheet.header]

    def show(head: Head, cell: str | Number) -> str | Value:
        if isinstance(cell, str):
            return cell
        value = Value.of(estimate(cell, kind), head.scale, head.digits, head.signed, head.most)
        if isinstance(cell, Sampled):
            return value
        unlike = UNLIKE if cell.versus and differences(list(zip(cell.cells, cell.versus, strict=True))) else ""
        return value.but(flags=" ".join(filter(None, (cell.flags, unlike))))

    rows = [tuple(show(head, cell) for head, cell in zip(heads, row, strict=True)) for row in sheet.rows]
    numbers = [n for row in sheet.rows for n in row if not isinstance(n, str)]
    of_runs = [INTERVAL_KINDS[kind]] if any(isinstance(n, Measured) for n in numbers) else []
    of_others = [REPLICATES] if any(isinstance(n, Sampled) and len(n.values) > 1 for n in numbers) else []
    unlike = any(isinstance(cell, Value) and UNLIKE in cell.flags for row in rows for cell in row)
    datasets = {cell.key.dataset for row in sheet.rows for n in row if isinstance(n, Measured) for cell in n.cells}
    return Table(
        f"study-{study.slug}-{sheet.key}",
        sheet.title,
        " ".join([sheet.caption, *of_runs, *of_others]),
        tuple(head.text for head in heads),
        tuple(rows),
        (*sheet.notes, *([UNLIKE_IN_STUDY] if unlike else [])),
        datasets=tuple(sorted(datasets)),
        kind=kind,
    )
