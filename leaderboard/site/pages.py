"""The files of the site apart from the predictions, with the data of each page."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import Any

from markupsafe import Markup

from benchmark.files import files_in
from benchmark.measure.catalogue import KEPT, ORDER, QUALITY
from benchmark.measure.catalogue import scorecard as measures
from benchmark.measure.intervals import INTERVAL_KINDS, Estimate, IntervalKind, described
from benchmark.registry import discover
from benchmark.types import REFERENCE, TASKS
from leaderboard.figures import build, molecules
from leaderboard.figures.figure import Figure
from leaderboard.read import closest
from leaderboard.read.pipelines import Parts
from leaderboard.read.results import Dataset, Results
from leaderboard.read.structures import molecules as known
from leaderboard.read.structures import withheld
from leaderboard.site import cite, compare, datasets, decide, explorer, methods, sentences
from leaderboard.site.frame import Frame, framed, tested, url_prefixes
from leaderboard.tables import entries as tables
from leaderboard.tables import studies
from leaderboard.tables.boards import SUSPICIONS, BoardRow, board
from leaderboard.tables.builders import factors, scorecard
from leaderboard.tables.churn_lines import FEWEST
from leaderboard.tables.order import FAMILIES, RULE
from leaderboard.tables.summary import GROUP_TITLES, Summary, summaries
from leaderboard.tables.table import Table
from leaderboard.write import formats as writers
from leaderboard.write import latex
from leaderboard.write.templates import PACKAGE

File = tuple[str, str | bytes]
"""A path below the site's folder, and its content."""


@dataclass(frozen=True)
class Site:
    """The pages of one sampling's ``results``, which are a part of the ``whole`` of the site (``site.write``)."""

    results: Results
    whole: Results
    kind: IntervalKind
    health: Mapping[str, str]
    repository: str = ""
    docs: str = ""
    figures: list[Figure] = field(default_factory=list)

    def files(self) -> Iterator[File]:
        """Yield the files one by one, to bound memory, and last those that other processes work for in the meantime."""
        if not url_prefixes(self.whole)[self.results.sampling]:
            for path in files_in(PACKAGE / "static", "*"):
                yield f"static/{path.name}", path.read_bytes()
            yield "static/latex.js", f"const LATEX = {json.dumps(latex.LATEX, ensure_ascii=False)};\n"
        yield "citation.bib", cite.bibtex(self.results)
        for _ in closest.search((dataset, known(dataset)) for dataset in self.results.datasets):
            pass  # it is in the cache, where the explorer takes it from
        structures = partial(molecules.structures, self.whole)
        explored = explorer.packed(
            ((dataset, structures().get(dataset.name, {}), known(dataset)) for dataset in self.results.datasets),
            self.whole.records,
        )
        of_results = build.of_results(self.results, structures, self.frame.styles)
        figures = build.drawn(chain(of_results, build.of_studies(self.study_reports[0])))
        of_methods = self.methods()
        yield from self.overall()
        self.figures.extend(figures)
        of_datasets = datasets.packed(self.results.datasets, self.frame, self.figures, self.health)
        yield from of_methods
        for dataset, data in zip(self.results.datasets, explored, strict=True):
            yield f"flips/{dataset.name}.html", self.explorer(dataset, bool(structures().get(dataset.name)))
            for name, content in data:
                yield f"flips/{dataset.name}/{name}", content
        for figure in self.figures:
            if not figure.dataset:
                yield f"figures/{figure.key}.svg", figure.svg
                yield f"figures/{figure.key}.pdf", figure.pdf
        for table in (*self.tables, *self.study_tables):
            yield f"tables/{table.key}.tex", latex.to_latex(table, tables.stamp(self.results, table))
            yield f"tables/{table.key}.json", writers.to_json(table)
            yield f"tables/{table.key}.csv", writers.to_csv(table)
        yield from self.illustrated()
        yield from self.study_pages()
        for pages in of_datasets:
            yield from pages

    @cached_property
    def tables(self) -> list[Table]:
        return tables.build(self.results, self.kind)

    @cached_property
    def study_reports(self) -> tuple[list[studies.Rendered], list[str]]:
        return studies.rendered(self.results)

    @cached_property
    def study_tables(self) -> list[Table]:
        return [
            studies.table(study, sheet, self.kind) for study in self.study_reports[0] for sheet in study.report.sheets
        ]

    def study_pages(self) -> Iterator[File]:
        """Yield an index of the studies and a page for each, or nothing without a study."""
        reports, troubles = self.study_reports
        if not self.results.records:
            return
        yield "studies.html", self.page("studies.html", studies=reports, troubles=troubles)
        every = {table.key: table for table in (*self.study_tables, *self.tables)}
        drawn = {figure.key: figure for figure in self.figures}
        for one in reports:
            start = f"study-{one.slug}-"
            shown = list(one.report.shown)
            keys = [start + sheet.key for sheet in one.report.sheets] + shown
            charts = [start + chart.key for chart in one.report.charts] + shown
            page = self.page(
                "study.html",
                f"studies/{one.slug}.html",
                one=one,
                words=_docstring(type(one.study)),
                tables=[every[key] for key in keys if key in every],
                figures=[drawn[key] for key in charts if key in drawn],
            )
            yield f"studies/{one.slug}.html", page

    @cached_property
    def frame(self) -> Frame:
        return framed(self.results, self.whole, self.kind, self.repository, self.docs)

    def page(self, template: str, here: str = "", **values: Any) -> str:
        return self.frame.page(template, here, **values)

    def board(self, evalset: str) -> Iterator[File]:
        """Yield the page with the summary on one test that is shown first, and a file for each of the others."""
        tables = summaries(self.results, self.kind, evalset)
        composed = [row for summary in tables if summary.composed for row in summary.rows]
        parts = {name: sorted({getattr(row.parts, name) for row in composed}) for name in Parts._fields if composed}
        tests, folder = tested(self.results), f"board/{evalset}/"
        path = tests[evalset]
        told: dict[str, Any] = {
            "answer": sentences.answer,
            "elsewhere": partial(sentences.elsewhere, whole=self.whole, kind=self.kind),
            "notes": sentences.notes,
            "kept": KEPT,
            "order": ORDER,
            "forest": forest,
        }
        first = self.page(
            "index.html",
            path,
            test_pages=tests,
            summaries=tables,
            folder=folder,
            parts=parts,
            splits=next((table for table in self.tables if table.key == "canonical-splits"), None),
            datasets=[self._glance(dataset) for dataset in self.results.datasets],
            groups=GROUP_TITLES | {"dev": "Headline (development)"},
            unreadable=self.results.unreadable,
            columns=_columns(tables),
            **told,
        )
        yield path, first
        for summary in tables[1:]:
            section = self.page("_board.html", path, summary=summary, **told)
            yield f"{folder}{summary.key}.js", explorer.script(summary.key, section)

    def overall(self) -> Iterator[File]:
        for evalset in tested(self.results):
            yield from self.board(evalset)
        yield "compare.html", self.page("compare.html")
        yield "yours.html", self.page("yours.html")
        yield "compare/methods.js", explorer.script("methods", compare.content(self.results))
        yield "compare/flips.js", explorer.script("flips", compare.flips(self.results))
        for name, of_cells in compare.values(self.results):
            yield f"compare/{name}.js", explorer.script(name, of_cells)
        if self.results is self.whole.front:
            both = described("both", self.results.sampling)
            smiles = molecules.structures(self.whole)
            yield "molecules.js", explorer.script("molecules", explorer.index(self.results, smiles))
            yield "molecules.html", self.page("molecules.html", datasets=self.results.datasets, drawn=bool(smiles))
            choices = decide.choices(self.whole)
            advice = next((table.key for table in self.tables if table.key.startswith("factors-advice-")), "")
            yield "decide.html", self.page("decide.html", choices=choices, both=both, advice=advice)
            for choice in choices:
                yield f"decide/{choice['key']}.js", explorer.script(str(choice["key"]), choice)
        card = {task: scorecard.meanings(measures(task)) for task in TASKS}
        told: dict[str, Any] = {
            "kinds": INTERVAL_KINDS,
            "chosen": self.kind,
            "suspicions": SUSPICIONS,
            "rule": RULE,
            "card": card,
        }
        yield "definitions.html", self.page("definitions.html", **told)

    def illustrated(self) -> Iterator[File]:
        """Yield the pages of the whole board that have figures."""
        contents: dict[str, Any] = {
            "tables": self.tables,
            "figures": [f for f in self.figures if not f.dataset and not f.key.startswith("study-")],
            "datasets": self.results.datasets,
            "bibtex": cite.bibtex(self.results),
            "cited": cite.has(self.whole),
        }
        yield "tables.html", self.page("tables.html", **contents)
        yield "expect.html", self.topic("expect.html", "expected-", sentences.to_expect(self.results), FEWEST)
        found = chain.from_iterable(factors.answers(self.results, self.kind, task) for task in TASKS)
        yield "factors.html", self.topic("factors.html", "factors-", found, FAMILIES)

    def topic(self, template: str, start: str, lines: Iterable[str], fewest: int) -> str:
        """Return the page of the tables and figures whose keys ``start`` so, below ``lines``."""
        return self.page(
            template,
            sentences=list(lines),
            tables=[table for table in self.tables if table.key.startswith(start)],
            figures=[figure for figure in self.figures if figure.key.startswith(start)],
            fewest=fewest,
        )

    def explorer(self, dataset: Dataset, drawn: bool) -> str:
        _, evalset, split = explorer.shards(dataset)[0]
        cell = dataset.cell(split)
        classes = cell.predictions[evalset].values.shape[2] if dataset.task == "classification" else 0
        return self.page(
            "flips.html",
            f"flips/{dataset.name}.html",
            dataset=dataset,
            shards=explorer.shards(dataset),
            classes=range(classes),
            drawn=drawn,
            withheld=withheld(dataset.facts.dataset.licence),
            about={
                "task": dataset.task,
                "unit": dataset.unit,
                "target": dataset.facts.dataset.target,
                "classes": classes,
                "halved": dataset.sampling == "halves",
                "folder": f"{dataset.name}/",
                "most": max(len(cell.key.seeds) for cell in dataset.cells),
                "train": cell.facts.rows.get("train", "its"),
                "command": f"churn study flip-rows --set dataset={dataset.name}",
            },
        )

    def methods(self) -> Iterator[File]:
        words = {name: _docstring(part) for name, part in discover()[0].items()}
        return methods.packed(self.results, self.frame, words)

    def _glance(self, dataset: Dataset) -> dict[str, Any]:
        """Summarise a dataset: ERM, and if it has rivals the first unmarked method of its board."""
        of = board(dataset, "id", self.kind)
        erm = next((row for row in of.rows if row.method == REFERENCE), None)
        ordered = ORDER[dataset.task].key
        contest = [row for row in of.rows if (value := row.estimates[ordered]) and value.value == value.value]
        best = next((row for row in contest if not row.marks), None) if len(contest) > 1 else None
        columns = {column.key: column for column in of.columns}
        unit = dataset.unit if dataset.task == "regression" else ""

        def show(row: BoardRow | None, key: str) -> str:
            return columns[key].show(row.estimates[key]).text.partition(" ")[0] if row else "–"

        return {
            "dataset": dataset,
            "n_id": len(dataset.cells[0].predictions["id"].ids),
            "quality": f"{show(erm, QUALITY[dataset.task].key)} {unit}".strip(),
            "churn": show(erm, ordered),
            "best": best,
            "best_churn": show(best, ordered),
        }


def _columns(summaries: Sequence[Summary]) -> list[tuple[str, str, bool]]:
    """Return the choices of the column picker: key, title, and whether the column is shown at first.

    Where pipelines have columns for their parts, what is not matched makes room.
    """
    columns = {column.key: column for summary in summaries for column in summary.columns}
    parts = Parts._fields[1:] if any(summary.composed for summary in summaries) else ()
    hidden = ("churn", "delta_churn", "delta_accuracy") if parts else ()
    titles = [(key, each.title.partition(" (")[0], each.shown and key not in hidden) for key, each in columns.items()]
    return [
        *((name, name.capitalize(), True) for name in parts),
        ("place", "Place", True),
        ("rank", "Mean rank", False),
        *titles,
        ("retrainings", "Retrainings", False),
        ("badge", "Badge", True),
    ]


def _docstring(of: type | None) -> str:
    """Return the docstring of the file of a method or study; empty for a method that is not registered."""
    return (sys.modules[of.__module__].__doc__ or "").strip() if of else ""


def forest(summary: Summary, estimate: Estimate) -> Markup:
    """Draw a value with its interval, on one scale for all methods of a summary; the line marks ERM."""
    key = f"delta_{ORDER[summary.task].key}"
    estimates = [e for row in summary.rows if (e := row.estimates.get(key)) is not None]
    ends = [0.0, *(x for e in estimates for x in (e.value, e.low, e.high) if x == x)]
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
