"""The page on choosing a method says what the published results say."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from benchmark.files import CHECKOUT

PAGE = (CHECKOUT / "docs" / "choosing.md").read_text(encoding="utf-8")
CLASSES, NUMBERS = PAGE.split("## If the target is a number")
TABLES = CHECKOUT / "leaderboard" / "published" / "0.1.0" / "tables"


@pytest.fixture(scope="module")
def frontier() -> pd.DataFrame:
    return pd.read_csv(TABLES / "study-frontier-frontier.csv").set_index("Method")


@pytest.fixture(scope="module")
def of_numbers() -> pd.DataFrame:
    return pd.read_csv(TABLES / "study-frontier-task-regression-frontier.csv").set_index("Method")


def assert_as_published(text: str, frontier: pd.DataFrame, columns: list[str], digits: int) -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", text, flags=re.M)
    assert [row[0] for row in rows] == [title for title in frontier.index if title in {row[0] for row in rows}]
    for title, *figures in rows:
        assert figures == [f"{frontier.loc[title, column]:.{digits}f}" for column in columns], title
    assert rows[-1][0] == "ERM"


def test_the_table_has_the_published_figures_from_the_calmest_to_erm(frontier: pd.DataFrame) -> None:
    assert_as_published(CLASSES, frontier, ["Churn (%)", "Accuracy (%)", "Cost / ERM's"], 1)


def test_the_table_of_regressions_has_the_published_figures(of_numbers: pd.DataFrame) -> None:
    assert_as_published(NUMBERS, of_numbers, ["Churn / ERM's", "MAE / ERM's", "Cost / ERM's"], 2)


def test_what_is_said_of_regressions_follows_from_the_published_figures(of_numbers: pd.DataFrame) -> None:
    assert of_numbers["MAE / ERM's"].idxmin() == "Gaussian process"
    remarks = pd.read_csv(TABLES / "halves" / "wide-regression.csv").set_index("Method")["Remarks"]
    assert "† on" not in remarks["Gaussian process"]
    shown = re.findall(r"† on ([^;]*)", remarks["SVM"])
    assert [len(names.split(", ")) for names in shown] == [3]


def test_what_is_said_of_methods_follows_from_the_published_figures(frontier: pd.DataFrame) -> None:
    churn, accuracy = frontier["Churn (%)"], frontier["Accuracy (%)"]
    saved = 1 - churn / churn["ERM"]
    assert saved["SVM"] > 0.38
    assert saved["Multi-kernel SVM"] > 0.38
    assert min(accuracy["SVM"], accuracy["Multi-kernel SVM"]) > accuracy["ERM"]
    assert set(accuracy.nlargest(2).index) == {"Extra trees", "Random forest"}
    assert accuracy.max() - accuracy["Multi-kernel SVM"] < 1
    assert 0.15 < saved["Extra trees"] < saved["Random forest"] < 0.28
    assert 0.04 < saved["Bagging K=5"] < 0.08
    assert saved[["Deep ensemble K=5", "SWA", "MC dropout"]].max() < 0.02
    uncoupled = ["Bagging K=5", "Bagging K=2", "SWA", "Deep ensemble K=5"]
    networks = churn[["Twin-shared λ=100", "Twin-bootstrap λ=100", *uncoupled]]
    assert networks.idxmin() == "Twin-shared λ=100"
    assert churn["Codistillation λ=100"] < churn["Twin-shared λ=100"]
    assert 0.7 < accuracy["ERM"] - accuracy["Codistillation λ=100"] < 1


def study(name: str) -> pd.DataFrame:
    (path,) = TABLES.rglob(f"study-{name}.csv")
    return pd.read_csv(path)


def test_what_is_said_of_remedies_follows_from_the_published_figures() -> None:
    found = study("remedies-frontier").set_index("Method")
    churn, accuracy = found["Churn (%)"], found["Accuracy (%)"]
    useless = [t for t in found.index if t.startswith(("Label smoothing", "Mixup", "Logit penalty", "Confidence"))]
    assert len(useless) == 4
    assert (churn[useless] > churn["ERM"]).all()
    for title in ("Distilled SVM", "Twin-shared λ=100, one deployed", "Codistillation λ=100, one deployed"):
        assert churn["SVM"] < churn[title] < churn["ERM"] - 5
        assert accuracy["SVM"] > accuracy[title]
    assert len(found) == 34


def test_what_is_said_of_features_follows_from_the_published_figures() -> None:
    found = study("representations-representations")
    mean = found[(found["Dataset"] == "mean of 5 families") & (found["Features"] == "atom_pairs:4096")].set_index(
        "Method"
    )
    assert (-mean["Δ churn (pp)"]).round(1).to_dict() == {"ERM": 5.3, "SVM": 3.8, "Random forest": 4.9}
    assert (mean["Δ churn (pp) high"] < 0).all()
    assert (mean["Δ accuracy (pp)"].round(1).min(), mean["Δ accuracy (pp)"].round(1).max()) == (0.9, 1.6)
    assert (mean["Δ accuracy (pp) low"] > 0).all()


def test_what_is_said_of_equal_accuracy_follows_from_the_published_figures() -> None:
    found = study("knobs-selected").set_index("Method")["Churn (%) at ERM's accuracy"]
    figures = re.search(
        r"a network flips ([\d.]+) %, .*? leaves\s+([\d.]+) %, .*? regression ([\d.]+) %, .*? SVM ([\d.]+) %",
        PAGE,
        re.S,
    )
    assert figures is not None
    titles = ("Random forest", "Logistic or ridge regression", "Multi-kernel SVM")
    assert [float(f) for f in figures.groups()[1:]] == [round(found[title], 1) for title in titles]
    erm = study("representations-representations").query("Dataset == 'BACE' and Method == 'ERM'").iloc[0]
    assert float(figures[1]) == round(erm["Churn (%)"], 1)


def test_what_is_said_of_noise_follows_from_the_published_figures() -> None:
    found = study("label-floor-worlds")
    found = found[found["Dataset"] != "BBBP"]  # of the family of BBB-Martins, which it follows
    gone = 1 - found["Churn, without noise (%)"] / found["Churn, drawn anew (%)"]
    both = gone.groupby(found["Method"]).mean()
    assert {method: round(100 * share) for method, share in both.items()} == {"ERM": 60, "SVM": 35}


def test_what_is_said_of_updates_follows_from_the_published_figures() -> None:
    found = study("updates-classification")
    mean = found[found["Dataset"] == "mean of 3 families"].set_index("Method")
    erm, old, svm = (mean.loc[title] for title in ("ERM", "Average of old and new", "SVM"))
    assert (round(erm["Flips (%)"], 1), round(erm["by chance (%)"], 1)) == (7.6, 2.9)
    assert [round(one["Bad flips (%)"], 1) for one in (svm, erm, old)] == [1.2, 3.4, 1.7]
    assert svm["by chance (%)"] == 0
    assert abs(old["Δ accuracy (pp)"]) < 0.3
    single = found[(found["Method"] == "Average of old and new") & (found["Order"] == "random")]
    assert len(single) == 3
    assert (single["Δ bad flips (pp) high"] < 0).all()
    assert old["Δ bad flips (pp) high"] >= 0
    learned = ["Anchor λ=300", "Distilled incumbent, weight 0.5", "RCP anchor α=0.5", "Focal distillation α=1 β=5"]
    assert mean.loc[learned, "Bad flips (%)"].min() > old["Bad flips (%)"]
    numbers = study("updates-regression").set_index(["Dataset", "Method"])
    moonshot = numbers.loc["SARS-CoV-2 Mpro (Moonshot)"]["MAE"]
    assert round(100 * (moonshot["Average of old and new"] / moonshot["ERM"] - 1)) == 9
