"""What to cite: the paper, the suite, and the datasets that are shown."""

from __future__ import annotations

import re

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


def entries() -> dict[str, str]:
    """The entries of ``datasets/datasets.bib`` by key."""
    path = shipped_datasets() / "datasets.bib"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return {entry[1]: entry[0] for entry in re.finditer(r"^@\w+\{([^,]+),.*?^\}\n", text, flags=re.M | re.S)}


def keys(dataset: Dataset) -> list[str]:
    """The sources of a dataset, as keys of those entries."""
    return [key for key in re.split(r"[,;\s]+", dataset.facts.dataset.cite) if key]


def bibtex(results: Results) -> str:
    """The paper, the suite, then the sources of all datasets of ``results``."""
    known = entries()
    cited = dict.fromkeys(key for dataset in results.datasets for key in keys(dataset))
    return "\n".join([PAPER, SUITE, *(known[key] for key in cited if key in known)])
