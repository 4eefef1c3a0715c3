"""Every file of the site but the predictions: what each page is given."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files as resources
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from benchmark import __version__
from benchmark.registry import REFERENCE, discover
from benchmark.types import Cell
from leaderboard import figures, latex, molecules, studies, tables, writers
from leaderboard.boards import EVALSETS, Board, Row, boards, to_table
from leaderboard.figures import Figure
from leaderboard.groups import by_group
from leaderboard.results import Dataset, Results, slug
from leaderboard.site import citation, decide, explorer, sentences
from leaderboard.site.summary import GROUP_TITLES, Summary, summaries
from leaderboard.stats.intervals import KINDS, Estimate, Kind
from leaderboard.table import Table

File = tuple[str, str | bytes]
"""A path below the site's folder, and what is there."""
STATIC = ("site.css", "site.js")


def files(results: Results, kind: Kind, health: Mapping[str, str]) -> Iterator[File]:
    """The files of the site, one after the other, so that they need not be held together."""
    for name in STATIC:
        yield f"static/{name}", (resources("leaderboard") / "static" / name).read_text(encoding="utf-8")
    yield "citation.bib", citation.bibtex(results)
    smiles = molecules.structures(results)
    site = Site(
        results,
        kind,
        health,
        boards(results, kind),
        tables.build(results, kind),
        figures.build(results, smiles),
    )
    yield from site.overall()
    for dataset in results.datasets:
        yield f"datasets/{dataset.name}.html", site.dataset(dataset)
        yield from site.explorer(dataset, smiles.get(dataset.name, {}))
    for title in results.methods():
        yield f"methods/{slug(title)}.html", site.method(title)
    yield from site.study_pages()
    for table in (*site.tables, *map(to_table, site.boards), *site.group_tables, *site.study_tables):
        yield f"tables/{table.key}.tex", latex.to_latex(table, tables.stamp(results, table))
        yield f"tables/{table.key}.csv", writers.to_csv(table)
        yield f"tables/{table.key}.json", writers.to_json(table)
    for figure in (*site.figures, *site.study_figures):
        yield f"figures/{figure.key}.svg", figure.svg
        yield f"figures/{figure.key}.pdf", figure.pdf


@dataclass(frozen=True)
class Site:
    """What the pages draw on."""

    results: Results
    kind: Kind
    health: Mapping[str, str]
    boards: Sequence[Board]
    tables: Sequence[Table]
    figures: Sequence[Figure]

    @cached_property
    def told(self) -> tuple[list[studies.Told], list[str]]:
        return studies.told(self.results)

    @cached_property
    def study_tables(self) -> list[Table]:
        return [studies.table(one, sheet, self.kind) for one in self.told[0] for sheet in one.report.sheets]

    @cached_property
    def group_tables(self) -> list[Table]:
        return [by_group(dataset, self.kind) for dataset in self.results.datasets if dataset.groups]

    @cached_property
    def study_figures(self) -> list[Figure]:
        return figures.of_studies(self.told[0])

    def study_pages(self) -> Iterator[File]:
        """An index of the studies that were run, and a page for each; no page if there is none."""
        found, troubles = self.told
        if not found:
            return
        yield "studies.html", self.page("studies.html", "studies.html", studies=found, troubles=troubles)
        every = {table.key: table for table in (*self.study_tables, *self.tables)}
        drawn = {figure.key: figure for figure in (*self.study_figures, *self.figures)}
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

    @cached_property
    def templates(self) -> Environment:
        made = Environment(
            loader=PackageLoader("leaderboard"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        made.filters.update(slug=slug, inline=_inline)
        made.globals.update(
            version=__version__,
            source=self.source,
            reference=REFERENCE,
            evalsets=EVALSETS,
            to_html=writers.to_html,
            in_brief=sentences.in_brief,
            kind=KINDS[self.kind],
            has_studies=bool(self.told[0]),
        )
        return made

    def page(self, template: str, here: str, **values: Any) -> str:
        """A rendered template; ``here`` is the page's own path, which its links start from."""
        root = "../" * here.count("/")
        return self.templates.get_template(template).render(here=here, root=root, **values)

    def overall(self) -> Iterator[File]:
        found = summaries(self.results, self.boards, self.kind)
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
        wide = boards(self.results, "both")  # a decision is about new molecules as well as new retrainings
        choices = decide.choices(self.results, wide, summaries(self.results, wide, self.kind))
        yield "decide.html", self.page("decide.html", "decide.html", choices=choices, both=KINDS["both"])
        general = [figure for figure in self.figures if not figure.dataset]
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
        yield "definitions.html", self.page("definitions.html", "definitions.html", kinds=KINDS, chosen=self.kind)

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
        about = {"task": dataset.task, "unit": dataset.about.get("dataset.unit", ""), "folder": f"{dataset.name}/"}
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
        quality = "accuracy" if dataset.task == "classification" else "mae"
        columns = {column.key: column for column in board.columns}

        def show(row: Row | None, key: str) -> str:
            return columns[key].show(row.estimates[key]).text.partition(" ")[0] if row else "–"

        return {
            "dataset": dataset,
            "n_id": len(next(iter(dataset.entries[0].cells.values())).predictions["id"].ids),
            "quality": show(erm, quality),
            "churn": show(erm, "churn"),
            "best": best,
            "best_churn": show(best, "churn"),
        }


def _columns(found: Sequence[Summary]) -> list[tuple[str, str, bool]]:
    """What the column picker offers: key, title, and whether the page starts with it."""
    measures = {measure.key: measure for summary in found for measure in summary.measures}
    titles = [(key, measure.title.partition(" (")[0], measure.shown) for key, measure in measures.items()]
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


def _inline(content: object) -> Markup:
    """JSON inside a page: no text in it can end the element."""
    return Markup(json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


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
