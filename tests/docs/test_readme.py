"""The README says what the published results say."""

from __future__ import annotations

import re

import pandas as pd

from benchmark.files import CHECKOUT

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
FOUND = " ".join(README.partition("## What we found")[2].partition("\n## ")[0].split())
TABLES = CHECKOUT / "leaderboard" / "published" / "0.1.0" / "tables"


def test_the_finding_has_the_published_figures() -> None:
    churn = {
        sampling: pd.read_csv(folder / "wide-classification.csv").set_index("Method")["Churn (%): by family"]
        for sampling, folder in (("paper", TABLES), ("halves", TABLES / "halves"))
    }
    averaged = re.search(r"from ([\d.]+) to ([\d.]+) % of test molecules over 25 families", FOUND)
    assert averaged
    assert averaged.groups() == tuple(f"{churn['paper'][name]:.1f}" for name in ("ERM", "Bagging K=5"))
    assert f" of {churn['halves']['ERM']:.1f} percentage points" in FOUND
    statements = pd.read_csv(TABLES / "halves" / "statements.csv").set_index("Method")
    shown = re.findall(r"([\d.]+)(?: of [\d.]+ percentage points)? \[([\d.]+), ([\d.]+)\]", FOUND)
    methods = ("Bagging K=5", "Twin-bootstrap λ=100", "SVM")
    head = "Δ churn (pp): Other families"
    assert shown == [
        tuple(f"{-statements.loc[name, head + end]:.1f}" for end in ("", " high", " low")) for name in methods
    ]


def test_no_network_that_keeps_accuracy_has_less_churn_than_the_svm() -> None:
    table = pd.read_csv(TABLES / "halves" / "wide-classification.csv").set_index("Method")
    placed = table[table["Place"].notna()]
    assert set(placed.index[placed["Churn (%): by family"] <= placed["Churn (%): by family"]["SVM"]]) == {
        "SVM",
        "Multi-kernel SVM",
    }
