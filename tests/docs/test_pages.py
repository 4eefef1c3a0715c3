"""The README and pages of the documentation say what the suite does and what the published results say."""

import re
import runpy

import pandas as pd
import pytest

from benchmark.files import CHECKOUT
from benchmark.types import SAMPLINGS
from leaderboard.tables.boards import MARKS, SUSPICIONS
from leaderboard.tables.order import FAMILIES, LIMIT
from leaderboard.tables.summary import LEARNABLE
from leaderboard.write import cited

from .places import FROZEN, cells, intervals, places, prose, text, told, unknown

# The README


def test_the_finding_has_the_figures_of_the_results() -> None:
    section = " ".join(text("README.md").partition("## What we found")[2].partition("\n## ")[0].split())
    assert len([*intervals(section)]) > 5
    assert not unknown(section, told("halves") | told("paper"))
    table = places("halves")
    features = {"Morgan counts": "counts", "RDKit descriptors": "descriptors", "MiniMol": "MiniMol's embeddings"}
    learner, *reads = re.split(r" [·+] ", table.index[0])
    *others, last = [features.get(name, name) for name in reads]
    assert f"Of {len(table)} pipelines, {learner.lower()} on {', '.join(others)} and {last} " in section


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_range_of_churn_is_that_of_the_papers_datasets(page: str) -> None:
    ranges = [
        f"{churn.min():.0f} to {churn.max():.0f} %"
        for folder in (FROZEN, FROZEN / "halves")
        for churn in [pd.read_csv(folder / "magnitudes.csv")["Each prediction: Churn (%)"]]
    ]
    said = f"on {ranges[0]} if the samples are bootstraps of one training set, and on {ranges[1]} if they"
    assert said in prose(page)


# The glossary


def test_every_sampling_mark_and_badge_is_a_term() -> None:
    terms = re.findall(r"^## (.+)$", text("docs/glossary.md"), flags=re.M)
    named = {re.sub(r" \(.*\)", "", term).lower() for term in terms}
    assert {*SAMPLINGS, "collapsed", "control", *SUSPICIONS} <= named
    assert {"baseline", "verified", "self-reported", "yours"} <= named
    signs = {sign for term in terms for sign in re.findall(r"\((.)\)", term)}
    assert {sign[0] for sign in MARKS if not sign.isalpha()} <= signs


# Measures


def test_the_rule_of_the_page_is_that_of_the_board() -> None:
    page = prose("docs/measures.md")
    assert f"above −{100 * LIMIT['classification']:g} percentage point" in page
    assert f"must lie below +{100 * LIMIT['regression']:g} %" in page
    assert FAMILIES == 5
    assert "Fewer than five families" in page
    assert f"AUROC of at least {LEARNABLE}" in page


@pytest.mark.long
def test_the_figures_of_the_page_are_those_of_the_published_predictions() -> None:
    page, code = prose("docs/measures.md"), runpy.run_path(str(CHECKOUT / "docs" / "_build" / "invariance.py"))
    cuts, noise, levels = code["tables"](code["blocks"]())
    for title, values in zip(code["METHODS"], noise, strict=True):
        cells = [f"{churn:.1f} / {accuracy:.1f}" for churn, accuracy in zip(*[iter(values)] * 2, strict=True)]
        assert f"| {title} | {' | '.join(cells)} |" in page
    for churn, accuracy in levels:
        assert f"{churn:.1f} / {accuracy:.1f}" in page
    churn, corrected, matched, accuracy, _ = cuts["SVM"]
    middle, last = code["CUTS"].index(0.5), code["CUTS"].index(0.65)
    said = re.search(r"from ([\d.]+) to ([\d.]+) %, and its accuracy from ([\d.]+) to ([\d.]+) %", page)
    assert said is not None
    assert said.groups() == tuple(f"{of[at]:.1f}" for of in (churn, accuracy) for at in (middle, last))
    assert f"rises from {corrected[middle]:.1f} to {corrected[last]:.1f} %" in page
    assert f"stays at {matched[middle]:.1f} %" in page
    assert max(matched) - min(matched) < 1e-9


# Statistics, results and the FAQ


def test_the_coverage_on_real_data_is_that_of_the_page_of_definitions() -> None:
    definitions = text("leaderboard/templates/definitions.html")
    rows = re.findall(r"<tr>(<th scope=\"row\".*?)</tr>", definitions)
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    on_site = {row[0]: row[1:] for row in found if len(row) == 5}
    on_page = map(cells, text("docs/statistics.md").splitlines())
    shown = {row[0]: row[1:] for row in on_page if row[0].startswith(("DILI,", "BACE,"))}
    assert len(shown) == 8
    assert shown.items() <= on_site.items()
    churns = [float(row[3].split()[0]) for name, row in shown.items() if "churn of" in name]
    lowest, highest = re.search(r"hold the true churn in (\d+) to (\d+) %", prose("docs/paper.md")).groups()
    assert (round(min(churns)), round(max(churns))) == (int(lowest), int(highest))


def test_the_entry_and_the_addresses_on_citing_are_those_of_the_suite() -> None:
    page = text("docs/results.md")
    one, _ = cited.find("halves/places")
    assert one.bibtex in page
    assert cited.versions()[-1].name in page
    for address in re.findall(r"^churn cite (\S+)$", page, flags=re.M):
        cited.find(address)


def test_the_places_of_bagging_are_those_of_the_results() -> None:
    first, other = (places(sampling).loc["Bagging K=5", "Place"] for sampling in ("paper", "halves"))
    assert first == "1"
    said = f"Bagging comes first under the paper's sampling and has the places {other} under `halves`"
    assert said in prose("docs/faq.md")
