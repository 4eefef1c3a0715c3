"""Every file of the site but the predictions: what each page is given."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.resources import files as resources
from itertools import chain
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from markupsafe import Markup

from benchmark.measure.catalogue import QUALITY
from benchmark.registry import discover
from benchmark.store.cell import Cell
from benchmark.types import REFERENCE
from leaderboard.figures import build, molecules
from leaderboard.figures.figure import Figure
from leaderboard.read.results import Dataset, Results, slug
from leaderboard.site import citation, decide, explorer, sentences
from leaderboard.stats.intervals import INTERVAL_KINDS, Estimate, IntervalKind
from leaderboard.tables import catalogue as tables
from leaderboard.tables import studies
from leaderboard.tables.boards import EVALSETS, Board, BoardRow, boards, to_table
from leaderboard.tables.groups import by_group
from leaderboard.tables.summary import GROUP_TITLES, Summary, summaries
from leaderboard.tables.table import Table
from leaderboard.write import formats as writers
from leaderboard.write import latex
from leaderboard.write.templates import render

File = tuple[str, str | bytes]
"""A path below the site's folder, and what is there."""
STATIC = ("site.css", "site.js")


def files(results: Results, kind: IntervalKind, health: Mapping[str, str]) -> Iterator[File]:
    """The files of the site, one after the other, so that they need not be held together."""
    for name in STATIC:
        yield f"static/{name}", (resources("leaderboard") / "static" / name).read_text(encoding="utf-8")
    yield "citation.bib", citation.bibtex(results)
    site = Site(results, kind, health)
    structures = partial(molecules.structures, results)
    figures = build.drawn(chain(build.of_results(results, structures), build.of_studies(site.told[0])))
    for table in (*site.tables, *map(to_table, site.boards), *site.group_tables, *site.study_tables):
        yield f"tables/{table.key}.tex", latex.to_latex(table, tables.stamp(results, table))
        yield f"tables/{table.key}.csv", writers.to_csv(table)
        yield f"tables/{table.key}.json", writers.to_json(table)
    for dataset in results.datasets:
        yield from site.explorer(dataset, structures().get(dataset.name, {}))
    for title in results.methods():
        yield f"methods/{slug(title)}.html", site.method(title)
    site.figures.extend(figures)
    for figure in site.figures:
        yield f"figures/{figure.key}.svg", figure.svg
        yield f"figures/{figure.key}.pdf", figure.pdf
    yield from site.overall()
    for dataset in results.datasets:
        yield f"datasets/{dataset.name}.html", site.dataset(dataset)
    yield from site.study_pages()


@dataclass(frozen=True)
class Site:
    """What the pages draw on."""

    results: Results
    kind: IntervalKind
    health: Mapping[str, str]
    figures: list[Figure] = field(default_factory=list)

    @property
    def boards(self) -> Sequence[Board]:
        return boards(self.results, self.kind)

    @cached_property
    def tables(self) -> list[Table]:
        return tables.build(self.results, self.kind)

    @cached_property
    def told(self) -> tuple[list[studies.Told], list[str]]:
        return studies.told(self.results)

    @cached_property
    def study_tables(self) -> list[Table]:
        return [studies.table(one, sheet, self.kind) for one in self.told[0] for sheet in one.report.sheets]

    @cached_property
    def group_tables(self) -> list[Table]:
        return [by_group(dataset, self.kind) for dataset in self.results.datasets if dataset.groups]

    def study_pages(self) -> Iterator[File]:
        """An index of the studies that were run, and a page for each; no page if there is none."""
        found, troubles = self.told
        if not found:
            return
        yield "studies.html", self.page("studies.html", "studies.html", studies=found, troubles=troubles)
        every = {table.key: table for table in (*self.study_tables, *self.tables)}
        drawn = {figure.key: figure for figure in self.figures}
        for one in found:
            start = f"study-{one.slug}-"
            shown = list(one.report.shown)
            keys = [start + sheet.key for sheet in one.report.sheets] + shown
            values = {
                "one": one,
                "words": (sys.modules[type(one.study).__module__].__doc__ or "").strip(),
                "tables": [every[key] for key in keys if key in every],
                "figures": [drawn[key] for key in [start + c.key for c in one.report.charts] + shown if key in drawn],
            }
            yield f"studies/{one.slug}.html", self.page("study.html", f"studies/{one.slug}.html", **values)

    @cached_property
    def source(self) -> str:
        """Where the results were read, the store first, without the user and password of a server's address."""
        store, comma, others = self.results.source.partition(", ")
        parts = urlsplit(store)
        if "@" in parts.netloc:
            store = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        return f"{store}{comma}{others}"

    def page(self, template: str, here: str, **values: Any) -> str:
        """A rendered template; ``here`` is the page's own path, which its links start from."""
        return render(
            template,
            here=here,
            root="../" * here.count("/"),
            source=self.source,
            reference=REFERENCE,
            evalsets=EVALSETS,
            to_html=writers.to_html,
            in_brief=sentences.in_brief,
            kind=INTERVAL_KINDS[self.kind],
            has_studies=bool(self.told[0]),
            **values,
        )

    def overall(self) -> Iterator[File]:
        found = summaries(self.results, self.kind)
        values = {
            "answer": sentences.answer,
            "notes": sentences.notes,
            "forest": forest,
            "groups": GROUP_TITLES,
            "datasets": [self._glance(dataset) for dataset in self.results.datasets],
            "unreadable": self.results.unreadable,
            "columns": _columns(found),
        }
        yield "index.html", self.page("index.html", "index.html", summaries=found, **values)
        choices = decide.choices(self.results)
        yield "decide.html", self.page("decide.html", "decide.html", choices=choices, both=INTERVAL_KINDS["both"])
        general = [figure for figure in self.figures if not figure.dataset and not figure.key.startswith("study-")]
        yield (
            "tables.html",
            self.page(
                "tables.html",
                "tables.html",
                tables=self.tables,
                figures=general,
                datasets=self.results.datasets,
                bibtex=citation.bibtex(self.results),
            ),
        )
        yield (
            "definitions.html",
            self.page("definitions.html", "definitions.html", kinds=INTERVAL_KINDS, chosen=self.kind),
        )

    def dataset(self, dataset: Dataset) -> str:
        known = citation.entries()
        return self.page(
            "dataset.html",
            f"datasets/{dataset.name}.html",
            dataset=dataset,
            tables=[
                *(to_table(board) for board in self.boards if board.dataset == dataset.name),
                *(table for table in self.group_tables if table.datasets == (dataset.name,)),
            ],
            figures=[figure for figure in self.figures if figure.dataset == dataset.name],
            bibtex="\n".join(known[key] for key in citation.keys(dataset) if key in known),
            health=self.health.get(dataset.name, ""),
            run_link=self._run_link,
        )

    def explorer(self, dataset: Dataset, smiles: Mapping[str, str]) -> Iterator[File]:
        folder = f"flips/{dataset.name}"
        first = next(iter(dataset.entries[0].cells.values())).predictions["id"]
        about = {"task": dataset.task, "unit": dataset.unit, "folder": f"{dataset.name}/"}
        yield (
            f"{folder}.html",
            self.page(
                "flips.html",
                f"{folder}.html",
                dataset=dataset,
                shards=explorer.shards(dataset),
                classes=range(first.values.shape[2]) if dataset.task == "classification" else (),
                drawn=bool(smiles),
                about=about,
            ),
        )
        for name, content in explorer.files(dataset, smiles):
            yield f"{folder}/{name}", content

    def method(self, title: str) -> str:
        found = [(d, entry) for d in self.results.datasets if (entry := d.entry(title)) is not None]
        rows = {
            (board.dataset, board.evalset): row for board in self.boards for row in board.rows if row.title == title
        }
        name = found[0][1].method
        return self.page(
            "method.html",
            f"methods/{slug(title)}.html",
            title=title,
            name=name,
            words=_docstring(name),
            params=dict(next(iter(found[0][1].cells.values())).key.params),
            found=found,
            recorded=any(cell.run_id for _, entry in found for cell in entry.cells.values()),
            rows=rows,
            boards={(board.dataset, board.evalset): board for board in self.boards},
            run_link=self._run_link,
        )

    def _run_link(self, cell: Cell) -> str:
        """Where a cell's run is in the MLflow UI; empty if the store is no server."""
        here = self.source.partition(", ")[0].rstrip("/")
        return f"{here}/#/runs/{cell.run_id}" if here.startswith("http") and cell.run_id else ""

    def _glance(self, dataset: Dataset) -> dict[str, Any]:
        """A dataset in a line: ERM there, and the method, if there is another, with the lowest churn and no mark."""
        (board,) = (board for board in self.boards if (board.dataset, board.evalset) == (dataset.name, "id"))
        erm = next((row for row in board.rows if row.method == REFERENCE), None)
        contest = [row for row in board.rows if (churn := row.estimates["churn"]) and churn.value == churn.value]
        best = next((row for row in contest if not row.marks), None) if len(contest) > 1 else None
        columns = {column.key: column for column in board.columns}

        def show(row: BoardRow | None, key: str) -> str:
            return columns[key].show(row.estimates[key]).text.partition(" ")[0] if row else "–"

        return {
            "dataset": dataset,
            "n_id": len(next(iter(dataset.entries[0].cells.values())).predictions["id"].ids),
            "quality": show(erm, QUALITY[dataset.task].key),
            "churn": show(erm, "churn"),
            "best": best,
            "best_churn": show(best, "churn"),
        }


def _columns(found: Sequence[Summary]) -> list[tuple[str, str, bool]]:
    """What the column picker offers: key, title, and whether the page starts with it."""
    columns = {column.key: column for summary in found for column in summary.columns}
    titles = [(key, each.column.title.partition(" (")[0], each.shown) for key, each in columns.items()]
    return [
        ("rank", "Mean rank", True),
        ("ties", "Ties", True),
        *titles,
        ("retrainings", "Retrainings", False),
        ("badge", "Badge", True),
    ]


def _docstring(name: str) -> str:
    """What the file of a method says it is; empty for a method that is not known here."""
    known, _ = discover()
    return (sys.modules[known[name].__module__].__doc__ or "").strip() if name in known else ""


def forest(summary: Summary, estimate: Estimate) -> Markup:
    """A value with its interval as a small picture, on one scale for all methods of a summary; the line is ERM."""
    found = [e for row in summary.rows if (e := row.estimates.get("delta_churn")) is not None]
    ends = [0.0, *(x for e in found for x in (e.value, e.low, e.high) if x == x)]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0

    def at(x: float) -> str:
        return f"{100 * (x - low) / span:.1f}%"

    bar = ""
    if estimate.low == estimate.low:
        bar = f'<u style="left:{at(estimate.low)};right:{100 - 100 * (estimate.high - low) / span:.1f}%"></u>'
    return Markup(
        f'<span class="range" aria-hidden="true"><i style="left:{at(0)}"></i>{bar}'
        f'<b style="left:{at(estimate.value)}"></b></span>'
    )
