"""References to cite: the paper, the suite, and the datasets shown."""

import re
from collections.abc import Iterable

from benchmark import __version__
from benchmark.files import shipped_datasets
from leaderboard.read.results import Dataset, Results

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
