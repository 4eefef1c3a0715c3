"""The README says what the published results say."""

import re

import pandas as pd
import pytest

from benchmark.files import CHECKOUT
from benchmark.measure.catalogue import MATCHED_ACCURACY, MATCHED_CHURN
from leaderboard.read.published import PUBLISHED, gather
from leaderboard.tables.pairwise import compared
from leaderboard.tables.summary import complete_block, sets

from .results_md import results

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
FOUND = " ".join(README.partition("## What we found")[2].partition("\n## ")[0].split())
TABLES = CHECKOUT / "leaderboard" / "published" / "0.1.0" / "tables"


def test_the_finding_has_the_figures_of_the_results() -> None:
    churn = {sampling: results(sampling)["Matched churn (%)"].str.partition(" ")[0] for sampling in ("paper", "halves")}
    assert (
        f"from {churn['paper']['ERM']} to {churn['paper']['Bagging K=5']} % of test molecules over 29 families" in FOUND
    )
    assert f" of {churn['halves']['ERM']} percentage points" in FOUND
    text = (CHECKOUT / "RESULTS.md").read_text(encoding="utf-8")
    assert [int(n) for n in re.findall(r"Mean over \d+ datasets, (\d+) families", text)] == [31, 7, 29]
    shown = re.findall(r"removes ([\d.]+)(?: of [\d.]+ percentage points)? \[([\d.]+), ([\d.]+)\]", FOUND)
    gains = results("halves")["Δ matched churn (pp)"]
    methods = ("Bagging K=5", "Twin-bootstrap λ=100", "SVM")
    ends = [re.findall(r"[\d.]+", gains[name]) for name in methods]
    assert shown == [(value, high, low) for value, low, high in ends]


def test_the_svm_is_first_of_those_that_keep_accuracy() -> None:
    assert results("halves").query("Place == '1'").index.tolist() == ["SVM"]


@pytest.mark.slow
def test_codistillation_cannot_be_told_from_the_svm_but_is_less_accurate() -> None:
    datasets = complete_block(sets(gather(PUBLISHED).front)["classification", "wide"])[0]
    churn, accuracy = (
        compared(datasets, "Codistillation λ=100", "SVM", measure).elsewhere
        for measure in (MATCHED_CHURN, MATCHED_ACCURACY)
    )
    ends = (100 * value for value in (churn.value, churn.low, churn.high))
    assert "{:+.1f} [{:.1f}, {:+.1f}], but are less".format(*ends).replace("-", "−") in FOUND
    assert accuracy.high < 0


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_range_of_churn_is_that_of_the_papers_datasets(page: str) -> None:
    text = " ".join((CHECKOUT / page).read_text(encoding="utf-8").split())
    ranges = [
        f"{churn.min():.0f} to {churn.max():.0f} %"
        for folder in (TABLES, TABLES / "halves")
        for churn in [pd.read_csv(folder / "magnitudes.csv")["Each prediction: Churn (%)"]]
    ]
    assert f"on {ranges[0]} if the samples are bootstraps of one training set, and on {ranges[1]} if they" in text
