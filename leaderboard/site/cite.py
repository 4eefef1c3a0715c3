"""Pages of published numbers with addresses that never change: see ``leaderboard.write.cited``."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from leaderboard.read.published import PUBLISHED
from leaderboard.read.results import LEADING, Results
from leaderboard.write import cited
from leaderboard.write.formats import to_html
from leaderboard.write.templates import render

HOME = "cite"


def has(results: Results) -> bool:
    """Tell whether a site of these results has such pages: if they are all that comes with the suite."""
    return Path(results.source).resolve() == PUBLISHED


def files(repository: str = "", docs: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and content of an index, and of a page for each table of every published version.

    ``repository`` and ``docs`` are addresses that pages link to.
    """
    page = partial(render, repository=repository, docs=docs, here="", once=[], samplings={})
    versions = []
    for folder in reversed(cited.versions()):
        tables = list(cited.tables(folder))
        for one in tables:
            root = "../" * (2 + one.name.count("/"))
            content = page("cite.html", root=root, one=one, table=to_html(one.table, addressed=True))
            yield f"{HOME}/{one.version}/{one.name}.html", content
            yield f"{HOME}/{one.version}/{one.name}.csv", one.csv.read_text(encoding="utf-8")
        groups = {place: [one for one in tables if one.name.startswith(f"{place}/")] for place in (*LEADING, "studies")}
        versions.append((folder.name, {place: some for place, some in groups.items() if some}))
    yield f"{HOME}/index.html", page("cited.html", root="../", versions=versions)
