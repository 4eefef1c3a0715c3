"""What churn owes to the parts of pipelines, and what remedies add, from cells: against plain loops."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from scipy import stats

from benchmark.measure.catalogue import MATCHED_ACCURACY, MATCHED_CHURN
from benchmark.store.cell import Cell
from leaderboard.figures.build import draw
from leaderboard.figures.factors import draw as of_factors
from leaderboard.figures.figure import Drawing
from leaderboard.read.results import Results, collect
from leaderboard.site.pages import Site
from leaderboard.tables.builders import factors
from leaderboard.tables.entries import FACTORS, build
from leaderboard.tables.table import Table, Value

from ...conftest import keyed, noisy

NOISE = {
    # title: method, learner, features, and how much runs differ
    "ERM": ("erm", "", "", 1.6),
    "ERM · MiniMol": ("erm", "", "minimol", 1.2),
    "Perceptron, epochs=5": ("mlp", "", "", 1.0),
    "Perceptron, epochs=5 · MiniMol": ("mlp", "", "minimol", 0.6),
    "Bagging K=5": ("bagging", "", "", 1.3),
    "Bagging K=5 · MiniMol": ("bagging", "", "minimol", 0.9),
    "Bagging K=5 · Perceptron, epochs=5 · MiniMol": ("bagging", "mlp:epochs=5", "minimol", 0.3),
    "SVM": ("svm", "", "", 0.8),
    "SVM · MiniMol": ("svm", "", "minimol", 0.4),
    "SVM, C=10.0": ("svm", "", "", 0.9),
    "GIN": ("gin", "", "", 1.4),
    "k-NN": ("knn", "", "", 0.1),
}
FAMILIES = 8
KEYS = [entry.key for entry in FACTORS]


@pytest.fixture(scope="module")
def cells(make_cell) -> list[Cell]:
    """Twelve pipelines on nine datasets of eight families; one lacks most of them."""
    made = []
    for d in range(FAMILIES + 1):
        rng = np.random.default_rng(d)
        y = (rng.random(150) < 0.5).astype(int)
        for title, (method, learner, features, noise) in NOISE.items():
            if method == "knn" and d > 3:
                continue
            values = noisy(np.random.default_rng(d), y, noise)
            about = {"family": f"f{min(d, FAMILIES - 1)}", "features": ("morgan:2048:2",)}
            params = {"C": 10.0} if "C=" in title else {"epochs": 5} if method == "mlp" else {}
            cell = make_cell(method, values, y=y, dataset=f"d{d}", title=title, about=about, params=params)
            made.append(keyed(cell, learner=learner, features=features))
    return made


@pytest.fixture(scope="module")
def results(cells: list[Cell]) -> Results:
    return collect(cells)


@pytest.fixture(scope="module")
def tables(results: Results) -> dict[str, Table]:
    return {table.key.split("-")[1]: table for table in build(results, keys=KEYS)}


def by_family(cells: list[Cell], title: str) -> dict[str, np.ndarray]:
    """Churn and accuracy (F,) of a pipeline: the mean over the datasets of each family."""
    of = {"churn": MATCHED_CHURN, "accuracy": MATCHED_ACCURACY}
    mine = [cell for cell in cells if cell.title == title]
    values = {key: np.array([measure.mean(cell.predictions["id"]) for cell in mine]) for key, measure in of.items()}
    return {key: np.array([*each[: FAMILIES - 1], each[FAMILIES - 1 :].mean()]) for key, each in values.items()}


def check(value: Value, differences: np.ndarray) -> None:
    """A value is the mean difference in percentage points, with Student's interval over families."""
    low, high = stats.t.interval(0.95, len(differences) - 1, differences.mean(), stats.sem(differences))
    assert (value.number, value.low, value.high) == pytest.approx((100 * differences.mean(), 100 * low, 100 * high))


def test_the_variance_of_made_up_churn_goes_with_the_parts_that_made_it(results, tables) -> None:
    table = tables["variances"]
    assert table.header == ("Part", "Matched churn (%)", "Δ matched churn (%)", "Matched accuracy (%)")
    of = {row[0]: row[1].number for row in table.rows}
    assert sum(of.values()) == pytest.approx(100)
    assert of["Learner"] + of["Features"] + of["Remedy"] + of["Tuning"] > 50
    assert of["Features"] > of["Remedy"] > abs(of["Learner × features"])
    assert "Tuning × remedy" not in of
    versus = {row[0]: row[2].number for row in table.rows}
    ratio = of["Learner"] / versus["Learner"]
    assert {part: x / ratio for part, x in of.items() if part != "Family of datasets"} == pytest.approx(
        {part: x for part, x in versus.items() if part != "Family of datasets"}, abs=0.5
    ), "a difference from ERM takes nothing but its churn from each family"
    counts = "3 kinds of learner, 2 kinds of features, 2 kinds of remedy and 2 kinds of tuning"
    assert table.notes[0] == f"10 pipelines on 9 datasets of 8 families, with {counts}."
    assert table.notes[2] == (
        "Pipelines left out: 1 with settings tried on one kind of features, of which one is to be transferred and "
        "1 without results on all of these datasets."
    )
    assert "as no learner reads it beside other features: SMILES." in table.notes[1]


def test_the_first_of_the_other_families_is_compared_with_what_hindsight_would_have_chosen(cells) -> None:
    titles = [title for title, (*_, noise) in NOISE.items() if noise >= 0.8]
    of = {(cell.title, cell.key.dataset): cell for cell in cells if cell.title in titles}
    for d in ("d0", "d1", "d2"):  # where another method has the least churn
        one, other = of["SVM", d], of["ERM", d]
        of["SVM", d] = replace(one, predictions=other.predictions)
    mixed = [*of.values()]
    (table,) = build(collect(mixed), keys=("factors-advice-classification",))
    churn = np.column_stack([by_family(mixed, title)["churn"] for title in titles])
    reached = np.array([churn[i, np.delete(churn, i, axis=0).mean(axis=0).argmin()] for i in range(FAMILIES)])
    first, hindsight = table.rows
    assert first[0] == "nothing: the first of all"
    check(first[1], reached)
    check(hindsight[2], churn.min(axis=1) - reached)


def test_an_effect_is_the_mean_over_pairs_of_pipelines_that_differ_in_one_part(cells, tables) -> None:
    pairs = {
        ("Features", "MiniMol"): [
            ("ERM · MiniMol", "ERM"),
            ("Perceptron, epochs=5 · MiniMol", "Perceptron, epochs=5"),
            ("Bagging K=5 · MiniMol", "Bagging K=5"),
            ("SVM · MiniMol", "SVM"),
        ],
        ("Learner", "SVM"): [("SVM", "ERM"), ("SVM · MiniMol", "ERM · MiniMol")],
        ("Remedy", "Bagging K=5"): [
            ("Bagging K=5", "ERM"),
            ("Bagging K=5 · MiniMol", "ERM · MiniMol"),
            ("Bagging K=5 · Perceptron, epochs=5 · MiniMol", "Perceptron, epochs=5 · MiniMol"),
        ],
    }
    rows = {row[:2]: row[2:] for row in tables["effects"].rows}
    assert {(part, level) for part, level in rows if part == "Tuning"} == {("Tuning", "epochs=5"), ("Tuning", "C=10.0")}
    for key, several in pairs.items():
        count, *values = rows[key]
        assert count.number == len(several)
        for value, measure in zip(values, ("churn", "accuracy"), strict=True):
            each = [by_family(cells, a)[measure] - by_family(cells, b)[measure] for a, b in several]
            check(value, np.mean(each, axis=0))


def test_a_remedy_is_compared_with_its_pipeline_and_with_the_best_that_other_families_choose(cells, tables) -> None:
    rows = {row[0]: row[1:] for row in tables["remedies"].rows}
    assert [*rows] == sorted((t for t in NOISE if "Bagging" in t), key=lambda t: by_family(cells, t)["churn"].mean())
    plain = ["ERM", "ERM · MiniMol", "Perceptron, epochs=5", "Perceptron, epochs=5 · MiniMol"]
    of_plain = {title: by_family(cells, title) for title in plain}
    for title, values in rows.items():
        mine = by_family(cells, title)
        without = title.replace("Bagging K=5 · P", "P").replace("Bagging K=5", "ERM")
        check(values[0], mine["churn"] - of_plain[without]["churn"])
        chosen = []
        for f in range(FAMILIES):
            mean = {t: {k: np.delete(v, f).mean() for k, v in of.items()} for t, of in of_plain.items()}
            near = [t for t in plain if mean[t]["accuracy"] >= max(m["accuracy"] for m in mean.values()) - 0.005]
            chosen.append(min(near, key=lambda t: mean[t]["churn"]))
        for value, measure in zip(values[2:], ("churn", "accuracy"), strict=True):
            check(value, np.array([mine[measure][f] - of_plain[t][measure][f] for f, t in enumerate(chosen)]))


def test_the_answer_names_the_remedies_that_still_help_and_stands_on_a_page_with_the_figure(results) -> None:
    lines = [*factors.answers(results, "runs", "classification")]
    assert lines[0].startswith("Classification: of the variance of matched churn, ")
    assert "goes with the " in lines[0]
    told = [int(x.replace("−", "-")) for x in re.findall(r"(−?\d+) %", lines[0])]
    assert sum(told) == pytest.approx(100, abs=len(told) / 2), "each is rounded"
    assert lines[-2].startswith("Classification: of 3 pipelines with a remedy, 3 churn less than the same without it, ")
    best = "1 churns less than the best plain pipeline of the same learner, without losing accuracy: "
    assert f"{best}Bagging K=5 · Perceptron, epochs=5 · MiniMol (−" in lines[-1]
    shares = factors.grid(results, "runs", "classification").varied.shares
    figure = draw(Drawing(of_factors, ("classification", shares)))
    assert f"of matched churn: Learner {100 * shares['matched churn']['learner',].value:.0f} %; Features " in figure.alt
    shown = Site(results, results, "runs", {}, figures=[figure])
    page = dict(shown.illustrated())["factors.html"]
    assert all(unescape(page).count(line) == 1 for line in lines)
    assert page.count("<svg") == 1
    assert page.count("<table") == 4
    assert '<a href="factors.html" aria-current="page">What matters</a>' in page
    (advice,) = (table.key for table in shown.tables if table.key.startswith("factors-advice-"))
    decide = next(text for name, text in shown.overall() if name == "decide.html")
    assert f'href="factors.html#table-{advice}"' in decide
    assert f'id="table-{advice}"' in page


def test_a_regression_goes_by_one_minus_icc_and_the_mae_as_a_share_of_erms(make_cell) -> None:
    mae: dict[str, list[float]] = {"ERM": [], "SVM": []}
    made = []
    for d in range(6):
        rng = np.random.default_rng(d)
        y = rng.normal(size=60)
        for title, noise in (("ERM", 0.5), ("SVM", 0.2)):
            values = (y + noise * rng.normal(size=(4, 60)))[:, :, None]
            mae[title].append(float(np.abs(values[..., 0] - y).mean()))
            made.append(make_cell(title.lower(), values, y=y, dataset=f"d{d}", title=title, about={"group": "wide"}))
    tables = {table.key: table for table in build(collect(made), keys=KEYS)}
    assert [*tables] == ["factors-variances-regression", "factors-effects-regression"]
    assert tables["factors-variances-regression"].header[1:] == ("1 − ICC (%)", "Δ 1 − ICC (%)", "Log MAE (%)")
    ((*what, _, quality),) = tables["factors-effects-regression"].rows
    assert what[:2] == ["Learner", "SVM"]
    check(quality, np.array(mae["SVM"]) / np.array(mae["ERM"]) - 1)


def test_too_few_families_and_results_without_erm_have_no_factors(cells) -> None:
    few = [cell for cell in cells if cell.key.dataset in ("d0", "d1", "d2", "d3")]
    bare = [cell for cell in cells if cell.key.method != "erm"]
    for some in (few, bare, []):
        assert build(collect(some), keys=KEYS) == []
        assert not [*factors.answers(collect(some), "runs", "classification")]
