"""What the pages of one sampling have in common: menu, footer, and how names are shown."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from markupsafe import Markup

from benchmark.measure.intervals import IntervalKind, described
from benchmark.store.cell import Cell
from benchmark.store.opening import without_password
from benchmark.types import REFERENCE, Sampling
from leaderboard.figures.build import styles_of
from leaderboard.read.results import Dataset, Results, slug
from leaderboard.site import sentences
from leaderboard.site.names import Names
from leaderboard.tables.boards import EVALSETS
from leaderboard.write import formats
from leaderboard.write.templates import render

SHARES: Mapping[Sampling, tuple[str, str]] = {
    "halves": ("no data", "two laboratories each have half of the data"),
    "nested": ("one bootstrap", "each retraining resamples one bootstrap of the data"),
    "paper": ("the pool", "the published protocol: every retraining may draw from all of the data"),
    "update": ("all data", "retrainings differ by chance alone"),
}
"""What two retrainings share under each sampling, and what that stands for."""
UNDATED = Markup("<time></time>")
"""What stands for the day of the build in a page that is kept."""


def updated() -> Markup:
    """Return the day of the build, or that of the ``SOURCE_DATE_EPOCH`` of reproducible builds."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    day = datetime.fromtimestamp(float(seconds), UTC) if seconds else datetime.now(UTC)
    return Markup('<time datetime="{}">{} {:%B %Y}</time>').format(day.date(), day.day, day)


def url_prefixes(results: Results) -> dict[Sampling, str]:
    """Return the folder of the pages of each sampling, below that of the site: the first has none of its own."""
    parts = results.by_sampling or (results,)
    return {part.sampling: f"{part.sampling}/" if number else "" for number, part in enumerate(parts)}


def tested(results: Results) -> dict[str, str]:
    """Return the page of the board on each test that any dataset has."""
    tests = {"id", *(name for dataset in results.datasets for name in dataset.evalsets)}
    return {name: page for name, page in (("id", "index.html"), ("ood", "ood.html")) if name in tests}


@dataclass(frozen=True)
class Frame(Names):
    """All that a page shows of other results than its own. It can be sent to another process, and spelled in JSON."""

    sampling: Sampling
    kind: IntervalKind
    repository: str
    docs: str
    updated: Markup
    source: str
    """Origin of the results, the store first, without the user and password in a server's address."""
    folders: Mapping[Sampling, str]
    """The folders of ``url_prefixes``."""
    shared: Mapping[Sampling, Sequence[str]]
    """The pages that each sampling shares with the others, to switch between."""
    in_common: Sequence[tuple[str, str]]
    """Address, from the top of the site, and title of pages in the menu that the samplings have together."""

    def page(self, template: str, here: str = "", **values: Any) -> str:
        """Render a template; ``here`` is the page's own path, by default the template's, where links start."""
        here = here or template
        root = "../" * here.count("/")
        up = root + "../" * bool(self.folders[self.sampling])
        names = replace(self, root=root)
        return render(
            template,
            here=here,
            root=root,
            once=[(up + address, text) for address, text in self.in_common],
            source=self.source,
            reference=REFERENCE,
            evalsets=EVALSETS,
            top=up,
            repository=self.repository,
            docs=self.docs,
            updated=self.updated,
            name_of=names.method,
            pipeline=names.pipeline,
            look_of=names.look_of,
            linked=names.in_figure,
            to_html=partial(formats.to_html, named=names.linked),
            plain=formats.to_html,
            in_brief=sentences.in_brief,
            kind=described(self.kind, self.sampling),
            sampling=self.sampling,
            shares=SHARES,
            samplings={
                sampling: up + self.folders[sampling] + (here if here in pages else "index.html")
                for sampling, pages in self.shared.items()
                if len(self.folders) > 1
            },
            run_link=self.run_link,
            **values,
        )

    def undated(self, titles: Sequence[str], datasets: Sequence[Dataset]) -> "Frame":
        """Return the frame of a page that is kept in the cache, with the methods and datasets that it names alone."""
        return replace(
            self,
            updated=UNDATED,
            styles={title: self.styles[title] for title in titles},
            methods={title: slug(title) for title in titles},
            datasets={dataset.title: dataset.name for dataset in datasets},
        )

    def dated(self, text: str) -> str:
        """Return a page of the frame that ``undated`` returns, with the day of the build."""
        return text.replace(UNDATED, self.updated)

    def run_link(self, cell: Cell) -> str:
        """Return the address of a cell's run in the MLflow UI; empty if the store is not a server."""
        server = self.source.partition(", ")[0].rstrip("/")
        return f"{server}/#/runs/{cell.run_id}" if server.startswith("http") and cell.run_id else ""


def framed(results: Results, whole: Results, kind: IntervalKind, repository: str = "", docs: str = "") -> Frame:
    """Return the frame of the pages of one sampling's ``results``, which are a part of the ``whole`` of the site."""
    folders = url_prefixes(whole)
    of_all = [("decide.html", "Decide", whole.front), ("molecules.html", "Molecules", whole.front)]
    of_all += [("studies.html", "Studies", whole)] * bool(whole.records)
    store, comma, others = results.source.partition(", ")
    common = ["compare.html", "expect.html", "factors.html", "yours.html"]
    return Frame(
        root="",
        styles=styles_of(whole),
        methods={title: slug(title) for title in sorted(results.methods())},
        datasets={dataset.title: dataset.name for dataset in results.datasets},
        sampling=results.sampling,
        kind=kind,
        repository=repository,
        docs=docs,
        updated=updated(),
        source=f"{without_password(store)}{comma}{others}",
        folders=folders,
        shared={part.sampling: [*common, *tested(part).values()] for part in whole.by_sampling},
        in_common=[(f"{folders[part.sampling]}{path}", text) for path, text, part in of_all],
    )
