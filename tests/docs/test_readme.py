"""The README says what the published results say."""

import re

import pandas as pd
import pytest

from benchmark.files import CHECKOUT

from .places import FROZEN, places, told
from .test_figures import intervals, turned

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
FOUND = " ".join(README.partition("## What we found")[2].partition("\n## ")[0].split())


def test_the_finding_has_the_figures_of_the_results() -> None:
    found = [*intervals(FOUND)]
    assert len(found) > 5
    assert {*found} <= told("halves") | told("paper") | {turned(of) for of in told("halves") | told("paper")}
    table = places("halves")
    features = {"Morgan counts": "counts", "RDKit descriptors": "descriptors", "MiniMol": "MiniMol's embeddings"}
    learner, *reads = re.split(r" [·+] ", table.index[0])
    *others, last = [features.get(name, name) for name in reads]
    assert f"Of {len(table)} pipelines, {learner.lower()} on {', '.join(others)} and {last} " in FOUND


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_range_of_churn_is_that_of_the_papers_datasets(page: str) -> None:
    text = " ".join((CHECKOUT / page).read_text(encoding="utf-8").split())
    ranges = [
        f"{churn.min():.0f} to {churn.max():.0f} %"
        for folder in (FROZEN, FROZEN / "halves")
        for churn in [pd.read_csv(folder / "magnitudes.csv")["Each prediction: Churn (%)"]]
    ]
    assert f"on {ranges[0]} if the samples are bootstraps of one training set, and on {ranges[1]} if they" in text
