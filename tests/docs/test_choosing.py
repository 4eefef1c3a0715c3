"""The page on choosing a method says what the published results say."""

import re

import pandas as pd
import pytest

from .places import FROZEN, cells, places, prose, text, told, unknown

PAGE = prose("docs/choosing.md")
NOW = text("docs/choosing.md").partition("## When rows are added")[0]
"""What is said of the results that come with the suite; the rest is said of studies of version 0.1.0."""


@pytest.mark.parametrize("name", ["places", "places-regression"])
def test_the_tables_of_the_page_are_those_of_the_results(name: str) -> None:
    lines = (NOW.partition("## If the target")[0 if name == "places" else 2]).splitlines()
    header, _, *rows = (cells(line) for line in lines if line.startswith("|"))
    table = places("halves", name)
    assert len(rows) > 5
    assert [row[0] for row in rows] == [title for title in table.index if title in {row[0] for row in rows}]
    for title, *figures in rows:
        assert figures == table.loc[title, header[1:]].tolist(), title


def test_each_interval_and_each_range_of_places_is_one_of_the_results() -> None:
    names = ("places", "places-regression", "factors-advice-classification", "factors-remedies-classification")
    assert not unknown(NOW, told("paper") | told("halves", *names))
    joint = "Kernel ridge · Morgan counts + atom pairs + RDKit descriptors + MiniMol"
    first, with_embeddings = (places("halves").loc[title, "Place"] for title in ("Kernel ridge", joint))
    assert f"on other families, theirs are {first} and {with_embeddings}." in PAGE


def study(name: str) -> pd.DataFrame:
    (path,) = FROZEN.rglob(f"study-{name}.csv")
    return pd.read_csv(path)


def test_what_is_said_of_equal_accuracy_follows_from_the_published_figures() -> None:
    found = study("knobs-selected").set_index("Method").filter(like="Churn (%) at ERM's accuracy")
    for title, word in (
        ("Random forest", "larger leaves flips"),
        ("SVM", "the SVM"),
        ("Logistic or ridge regression", "logistic regression"),
        ("Multi-kernel SVM", "the multi-kernel SVM flips"),
    ):
        value, low, high = found.loc[title]
        assert f"{word} {value:.1f} % [{low:.1f}, {high:.1f}]" in PAGE, title
    erm = study("representations-representations").query("Dataset == 'BACE' and Method == 'ERM'").iloc[0]
    assert f"a network flips {erm['Churn (%)']:.1f} %" in PAGE


def test_what_is_said_of_noise_is_in_the_results() -> None:
    results = text("RESULTS.md")
    (erm, low, high), (svm, *ends) = re.findall(r"label noise churn would be (\d+) % \[(\d+), (\d+)\] lower", results)
    assert f"ERM would be {erm} % [{low}, {high}] lower, and that of the SVM {svm} % [{ends[0]}, {ends[1]}]." in PAGE
    (share,) = re.findall(r"SVM, mean over 5 families: .*? which give (\S+ \[.*?\]) times", results)
    assert f"give only {share} times the SVM's real churn" in PAGE


def test_what_is_said_of_updates_follows_from_the_published_figures() -> None:
    found = study("updates-classification")
    mean = found[found["Dataset"] == "mean of 3 families"].set_index("Method")
    erm, old, svm = (mean.loc[title] for title in ("ERM", "Average of old and new", "SVM"))
    assert f"flips {erm['Flips (%)']:.1f} % of ERM's predictions, and {erm['by chance (%)']:.1f} % flip if" in PAGE
    bad = [f"{one['Bad flips (%)']:.1f} %" for one in (svm, erm, old)]
    assert "It has {} bad flips at an update, and ERM has {}: ".format(*bad) in PAGE
    assert f"halves bad flips, to {bad[2]}, at about the same accuracy" in PAGE
    change = [svm[f"Δ bad flips (pp){end}"] for end in ("", " low", " high")]
    assert "{:.1f} points [{:.1f}, {:.1f}] over families".format(*change).replace("-", "−") in PAGE
