"""What to cite: references in BibTeX, and pages of published numbers (see ``leaderboard.write.cited``)."""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from benchmark import __version__
from benchmark.files import shipped_datasets
from leaderboard.read.published import PUBLISHED
from leaderboard.read.results import LEADING, Dataset, Results
from leaderboard.write import cited
from leaderboard.write.formats import to_html
from leaderboard.write.templates import render

HOME = "cite"
PAPER = """@misc{prastalo2026churn,
  author = {Prastalo, Gordan and Jablonka, Kevin Maik},
  title  = {Reducing cross-sample prediction churn in scientific machine learning},
  year   = {2026},
}
"""
SUITE = f"""@software{{churnbenchmark,
  title   = {{churn-benchmark: cross-sample prediction churn, measured and ranked}},
  version = {{{__version__}}},
  year    = {{2026}},
}}
"""


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
            content = page("cite.html", root=root, top=root, one=one, table=to_html(one.table, addressed=True))
            yield f"{HOME}/{one.version}/{one.name}.html", content
            yield f"{HOME}/{one.version}/{one.name}.csv", one.csv.read_text(encoding="utf-8")
        groups = {place: [one for one in tables if one.name.startswith(f"{place}/")] for place in (*LEADING, "studies")}
        versions.append((folder.name, {place: some for place, some in groups.items() if some}))
    yield f"{HOME}/index.html", page("cited.html", root="../", top="../", versions=versions)


def sources(datasets: Iterable[Dataset]) -> list[str]:
    """Return the entries of ``datasets/datasets.bib`` that ``datasets`` cite."""
    path = shipped_datasets() / "datasets.bib"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    entries = {entry[1]: entry[0] for entry in re.finditer(r"^@\w+\{([^,]+),.*?^\}\n", text, flags=re.M | re.S)}
    keys = dict.fromkeys(key for dataset in datasets for key in re.split(r"[,;\s]+", dataset.facts.dataset.cite))
    return [entries[key] for key in keys if key in entries]


def bibtex(results: Results) -> str:
    """Return the BibTeX of the paper, the suite, and the sources of all datasets of ``results``."""
    return "\n".join([PAPER, SUITE, *sources(results.datasets)])
