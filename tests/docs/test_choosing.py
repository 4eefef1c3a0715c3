"""The page on choosing a method says what the published results say."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmark.files import CHECKOUT
from benchmark.measure.catalogue import MAE, MATCHED_ACCURACY, MATCHED_CHURN, ONE_MINUS_ICC, RECALL_OF_RARER
from benchmark.measure.intervals import Estimate
from benchmark.measure.measure import Measure
from benchmark.types import Predictions
from leaderboard.read.published import PUBLISHED, gather
from leaderboard.read.results import Dataset, Results, unit_weights
from leaderboard.tables.pairwise import compared
from leaderboard.tables.summary import complete_block, sets

from .results_md import cells, results

PAGE = " ".join((CHECKOUT / "docs" / "choosing.md").read_text(encoding="utf-8").split())
LINES = (CHECKOUT / "docs" / "choosing.md").read_text(encoding="utf-8").splitlines()
TABLES = CHECKOUT / "leaderboard" / "published" / "0.1.0" / "tables"
AVERAGED = ("Deep ensemble K=5", "SWA", "MC dropout")


def shown(estimate: Estimate, sign: str = "+", scale: float = 100) -> str:
    """An estimate in points, as ``−4.1 points [−6.1, −2.0]`` without the word; with ``sign="-"`` a fall as a gain."""
    value, low, high = scale * estimate.value, scale * estimate.low, scale * estimate.high
    if sign == "-":
        return f"{-value:.1f} [{-high:.1f}, {-low:.1f}]"
    return f"{value:+.1f} [{low:+.1f}, {high:+.1f}]".replace("-", "−").replace("[+", "[")


def said(text: str) -> str:
    """The page with units left out between a value and its interval, and without plus signs in intervals."""
    return re.sub(r" (?:points?|%) \[", " [", text).replace("[+", "[")


@pytest.fixture(scope="module")
def halves() -> Results:
    return gather(PUBLISHED).front


@pytest.fixture(scope="module")
def families(halves: Results) -> Sequence[Dataset]:
    return complete_block(sets(halves)["classification", "wide"])[0]


def difference(datasets: Sequence[Dataset], first: str, second: str, measure: Measure) -> Estimate:
    pair = compared(datasets, first, second, measure)
    assert pair is not None
    return pair.elsewhere


def test_the_table_is_that_of_the_results() -> None:
    table = results("halves")
    rows = [cells(line) for line in LINES if re.match(r"\| [^|]+ \| (\d+|–) \| [\d.]+ \[", line)]
    assert len(rows) == 8
    assert [row[0] for row in rows[:6]] == [title for title in table.index if title in {row[0] for row in rows[:6]}]
    columns = ["Place", "Matched churn (%)", "Δ matched accuracy (pp)", "Compute (× ERM)"]
    for title, *figures in rows:
        assert figures == table.loc[title, columns].tolist(), title


def test_gains_of_the_list_are_those_of_the_results() -> None:
    table = results("halves")["Δ matched churn (pp)"]

    def gain(title: str) -> str:
        value, low, high = re.findall(r"[\d.]+", table[title])
        return f"{value} [{high}, {low}]"

    text = said(PAGE)
    for start, titles in (
        ("Its matched churn is lower than a network's by", ["SVM"]),
        ("Matched churn falls by", ["Twin-shared λ=100"]),
        ("between the two: matched churn falls by", ["Codistillation λ=100"]),
        ("Bagging five networks removes", ["Bagging K=5"]),
    ):
        assert f"{start} {gain(titles[0])}" in text, titles
    three = [gain(title) for title in ("Random forest", "Gaussian process", "Extra trees")]
    assert f"by {three[0]}, {three[1]} and {three[2]}." in text
    assert min(float(re.findall(r"−[\d.]+", table[t])[1].replace("−", "-")) for t in AVERAGED) == -0.5
    paper = re.findall(r"[\d.]+", results("paper").loc["Bagging K=5", "Δ matched churn (pp)"])
    assert f"bagging removes {paper[0]} [{paper[2]}, {paper[1]}]" in text


@pytest.mark.slow
def test_what_is_said_of_other_families_follows_from_the_published_predictions(halves, families) -> None:
    text = said(PAGE)
    erm = {
        t: difference(families, t, "ERM", RECALL_OF_RARER) for t in ("SVM", "Twin-shared λ=100", "Codistillation λ=100")
    }
    assert f"recall changes by {shown(erm['SVM'])}, so" in text
    assert f"recall changes by {shown(erm['Twin-shared λ=100'])} and {shown(erm['Codistillation λ=100'])}." in text
    simpd = [dataset for dataset in families if dataset.name.startswith("simpd")]
    assert len({dataset.family for dataset in simpd}) == 13
    paper = shown(difference(halves.headline(), "Multi-kernel SVM", "SVM", MATCHED_CHURN))
    other = shown(difference(simpd, "Multi-kernel SVM", "SVM", MATCHED_CHURN))
    assert f"on the paper's seven families, {paper}, but not on the 13 of SIMPD, {other}." in text
    tables = ("mof_thermal", "mof_solvent", "glass", "expt_is_metal")
    losses = [
        -100 * pair.mean.value
        for name in tables
        if (pair := compared([d for d in families if d.name == name], "SVM", "ERM", MATCHED_ACCURACY))
    ]
    assert [round(loss, 1) > 3 for loss in losses] == [True, True, True, False]
    assert f"loses {min(losses[:3]):.1f} to {max(losses[:3]):.1f} points of matched accuracy" in text


@pytest.mark.slow
def test_what_is_said_of_unlike_molecules_follows_from_the_published_predictions(families) -> None:
    of_family: dict[str, list[float]] = {}
    for dataset in families:
        cells = [dataset.entry(title).cells.values() for title in ("Gaussian process", "Random forest")]
        tests = [[c.predictions["ood"] for c in each if "ood" in c.predictions] for each in cells]
        if all(tests):
            better, worse = (sum(map(MATCHED_ACCURACY.mean, each)) / len(each) for each in tests)
            of_family.setdefault(dataset.family, []).append(better - worse)
    means = np.array([np.mean(values) for values in of_family.values()])
    assert f"(OOD tests, {len(means)} families)" in PAGE
    low, high = stats.t.interval(0.95, len(means) - 1, means.mean(), stats.sem(means))
    assert f"has {100 * means.mean():.1f} points [{100 * low:.1f}, {100 * high:.1f}] more matched accuracy" in PAGE


@pytest.mark.slow
def test_what_is_said_of_regressions_follows_from_the_published_predictions(halves) -> None:
    datasets = complete_block(sets(halves)["regression", "wide"])[0]
    frontier = pd.read_csv(TABLES / "study-frontier-task-regression-frontier.csv").set_index("Method")
    assert len({dataset.family for dataset in datasets}) == 25
    weights = unit_weights(datasets)
    rows = [cells(line) for line in LINES if re.match(r"\| [^|]+ \| [\d.]+ \| [\d.]+ \| [\d.]+ \|$", line)]
    assert len(rows) == 7
    for title, *figures in rows:
        each = [ONE_MINUS_ICC.mean(c.predictions["id"]) for d in datasets for c in d.entry(title).cells.values()]
        assert figures[0] == f"{100 * weights @ np.array(each):.1f}", title
        assert figures[1:] == [f"{frontier.loc[title, column]:.2f}" for column in ("MAE / ERM's", "Cost / ERM's")]
    gains = {t: difference(datasets, t, "ERM", ONE_MINUS_ICC) for t in ("Gaussian process", "SVM")}
    gains |= {t: difference(datasets, t, "ERM", ONE_MINUS_ICC) for t in ("Codistillation λ=3", "Twin-shared λ=3")}
    text = said(PAGE)
    assert f"lower than a network's by {shown(gains['Gaussian process'], '-')}" in text
    assert f"has a lower 1 − ICC still, by {shown(gains['SVM'], '-')}" in text
    assert all(1 < -100 * gains[title].value < 2 for title in ("Codistillation λ=3", "Twin-shared λ=3"))
    change = {}
    for title in ("Gaussian process", "SVM"):
        ratio = {d.family: MAE.mean(_id(d, title)) / MAE.mean(_id(d, "ERM")) - 1 for d in datasets}
        values = np.array(list(ratio.values()))
        assert len(values) == len(datasets) == 25
        low, high = stats.t.interval(0.95, 24, values.mean(), stats.sem(values))
        change[title] = 100 * values.mean(), 100 * low, 100 * high
    value, low, high = change["Gaussian process"]
    assert f"its MAE by {-value:.1f} [{-high:.1f}, {-low:.1f}]" in text
    value, low, high = change["SVM"]
    assert f"({value:.1f} [{low:.1f}, +{high:.1f}])".replace("-", "−") in text
    assert high > 2


def _id(dataset: Dataset, title: str) -> Predictions:
    (cell,) = dataset.entry(title).cells.values()
    return cell.predictions["id"]


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
    text = (CHECKOUT / "RESULTS.md").read_text(encoding="utf-8")
    (erm, low, high), (svm, *ends) = re.findall(r"label noise churn would be (\d+) % \[(\d+), (\d+)\] lower", text)
    assert f"ERM would be {erm} % [{low}, {high}] lower, and that of the SVM {svm} % [{ends[0]}, {ends[1]}]." in PAGE
    (share,) = re.findall(r"SVM, mean over 5 families: .*? which give (\S+ \[.*?\]) times", text)
    assert f"give only {share} times the SVM's real churn" in PAGE


def test_what_is_said_of_updates_follows_from_the_published_figures() -> None:
    found = study("updates-classification")
    mean = found[found["Dataset"] == "mean of 3 families"].set_index("Method")
    erm, old, svm = (mean.loc[title] for title in ("ERM", "Average of old and new", "SVM"))
    assert (round(erm["Flips (%)"], 1), round(erm["by chance (%)"], 1)) == (7.6, 2.9)
    assert [round(one["Bad flips (%)"], 1) for one in (svm, erm, old)] == [1.2, 3.4, 1.7]
    assert svm["by chance (%)"] == 0
    change = [svm[f"Δ bad flips (pp){end}"] for end in ("", " low", " high")]
    assert "{:.1f} points [{:.1f}, {:.1f}] over families".format(*change).replace("-", "−") in PAGE
    assert {*found["Order"].dropna()} == {"random"}
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
