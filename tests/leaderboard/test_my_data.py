"""The end of a run on own data: the table of methods, the one to use, and the molecules that flip."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leaderboard import my_data
from leaderboard.read.results import Dataset, Results, collect
from leaderboard.site.decide import choices
from leaderboard.tables.summary import sets

from .conftest import keyed, noisy, sure


@pytest.fixture
def results(make_cell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Results:
    monkeypatch.setenv("CHURN_HOME", str(tmp_path))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)

    def cell(dataset: str, group: str, method: str, flips: float, seconds: float = 1.0):
        wrong = rng.random((6, 200)) < flips
        return make_cell(method, sure(y ^ wrong), y=y, dataset=dataset, seconds=seconds, about={"group": group})

    cells = [cell("assays", "own", method, flips) for method, flips in (("erm", 0.15), ("svm", 0.02))]
    cells.append(cell("assays", "own", "random_forest", 0.0, 50.0))
    for dataset, group in (("demo", "extra"), ("bace", "dev")):
        cells += [cell(dataset, group, "erm", 0.15), cell(dataset, group, "twin", 0.01)]
    return collect(cells, "memory")


def dataset_of(results: Results) -> Dataset:
    return next(dataset for dataset in results.datasets if dataset.name == "assays")


def test_the_calmest_method_within_the_limits_is_advised(results: Results) -> None:
    dataset = dataset_of(results)
    found = my_data.own(dataset)
    (sentence,) = found.sentences
    assert sentence.startswith("Use SVM: it has the least matched churn of the methods that have an AUROC of 0.65 or ")
    assert "These results show that its matched churn is lower than ERM's." in sentence
    assert [str(row[0]).split()[0] for row in found.table.rows] == ["RANDOM_FOREST", "SVM", "ERM"]
    assert found.flips.cell.title == "SVM", "the forest takes 50 times ERM's compute"


def test_own_data_are_never_averaged_with_others_and_decide_opens_on_them(results: Results) -> None:
    of = sets(results)
    assert [d.name for d in of["classification", "own"]] == ["assays"]
    assert {d.name for d in of["classification", "all"]} == {"bace", "demo"}
    first = choices(results)[0]
    assert (first["key"], first["own"]) == ("assays", True)


def test_the_answer_names_the_molecules_that_flip_and_writes_them_all(results, tmp_path, capsys):
    my_data.answer(results, ["assays"])
    flips = my_data.own(dataset_of(results)).flips
    table = tmp_path / "reports" / "assays-svm-paper-flips.csv"
    assert len(pd.read_csv(table)) == len(flips.table) > 0
    printed = capsys.readouterr().out
    assert f"The {len(flips.table)} of 200 that change: {table}" in printed
    assert printed.count("% of pairs") == min(my_data.FRONT, len(flips.table))
    assert "bace" not in printed


@pytest.mark.parametrize(
    ("rows", "positive", "runs", "told"),
    [
        (12, 6, 6, "the ID test has 12 rows, and a decision needs 30"),
        (200, 4, 6, "the ID test has 4 rows of '1', and a decision needs 10; a table of about 2,500 such rows"),
        (200, 100, 3, "a decision needs 5 retrainings, and has 3: --seeds 5"),
    ],
)
def test_with_too_little_nothing_is_recommended_and_what_it_takes_is_said(make_cell, rows, positive, runs, told):
    y = np.arange(rows) < positive
    values = sure(y ^ (np.random.default_rng(0).random((runs, rows)) < 0.1))
    found = my_data.own(own_dataset(make_cell, y.astype(int), erm=values, svm=values))
    (sentence,) = found.sentences
    assert sentence.startswith("Cannot decide yet: ")
    assert told in sentence
    assert found.flips is None


def own_dataset(make_cell, y: np.ndarray, **methods: np.ndarray) -> Dataset:
    cells = [make_cell(m, values, y=y, dataset="assays", about={"group": "own"}) for m, values in methods.items()]
    return dataset_of(collect(cells, "memory"))


def test_nothing_is_recommended_where_no_method_is_much_better_than_chance(make_cell):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    p = rng.uniform(0.05, 0.95, (2, 6, 300))
    erm, svm = np.stack([1 - p, p], axis=3)
    dataset = own_dataset(make_cell, y, erm=erm, svm=svm)
    found, (choice, *_) = my_data.own(dataset), choices(Results((dataset,)))
    (sentence,) = found.sentences
    assert "the ID test much better than chance: the highest AUROC is 0.5" in sentence
    assert sentence.endswith("a decision needs 0.65; churn health assays shows what may be wrong with the rows.")
    assert found.flips is None
    assert sentence == f"Cannot decide yet: {choice['lacking']}."
    assert all("AUROC 0.5" in method["unfit"] for method in choice["methods"])
    forest = np.where(y, 0.8, 0.2) + rng.uniform(-0.1, 0.1, (6, 300))
    found = my_data.own(own_dataset(make_cell, y, erm=erm, svm=svm, forest=np.stack([1 - forest, forest], axis=2)))
    assert found.sentences[-1].startswith("Use FOREST")


@pytest.mark.parametrize("noise", [0.1, 100.0])
def test_a_regression_and_many_classes_are_asked_for_more_than_chance_too(make_cell, noise):
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    close, far = (y + size * rng.normal(size=(6, 200)) for size in (noise, 2 * noise))
    of_numbers = own_dataset(make_cell, y, erm=far[..., None], svm=close[..., None])
    classes = rng.integers(0, 3, 200)
    scores = rng.normal(size=(2, 6, 200, 3)) * noise + 3 * np.eye(3)[classes]
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    of_classes = own_dataset(make_cell, classes, **dict(zip(("erm", "svm"), p / p.sum(-1, keepdims=True), strict=True)))
    told = [my_data.own(dataset).sentences[-1] for dataset in (of_numbers, of_classes)]
    assert all(("Use " in text) == (noise < 1) for text in told), told
    assert noise < 1 or ("Spearman's ρ is" in told[0] and "needs 0.30" in told[0])


def test_where_erm_calls_one_class_too_another_method_that_does_may_be_recommended(make_cell):
    rng = np.random.default_rng(0)
    y = (np.arange(400) < 12).astype(int)
    erm, svm = (0.15 + 0.1 * y + size * rng.normal(size=(6, 400)) for size in (0.03, 0.001))
    dataset = own_dataset(make_cell, y, **{m: np.stack([1 - p, p], axis=2) for m, p in (("erm", erm), ("svm", svm))})
    assert all("collapsed" in str(row[0]) for row in my_data.own(dataset).table.rows)
    assert my_data.own(dataset).sentences[-1].startswith("Use SVM")


def test_nothing_is_recommended_where_matched_churn_is_undefined(make_cell):
    y = np.repeat([0, 1, 2], [120, 15, 15])
    p = np.eye(3)[y] * 0.1 + [0.6, 0.1, 0.1] + 0.01 * np.random.default_rng(0).random((6, 150, 3))
    found = my_data.own(
        own_dataset(make_cell, y, erm=p / p.sum(axis=2, keepdims=True), svm=p / p.sum(axis=2)[..., None])
    )
    assert found.sentences[-1] == "Cannot decide yet: their matched churn is undefined."
    assert found.flips is None


def test_a_difference_that_is_shown_to_be_an_increase_is_not_called_lower(make_cell):
    rng = np.random.default_rng(27)
    y = (rng.random(200) < 0.4).astype(int)
    erm = np.concatenate([noisy(rng, y, 0.8, 20)[:10], noisy(rng, y, 4, 10)])
    cells = [
        keyed(make_cell(m, p, y=y, dataset="assays", about={"group": "own"}), sampling="halves")
        for m, p in (("erm", erm), ("svm", noisy(rng, y, 1.1, 10)))
    ]
    found = my_data.own(collect(cells).others[0].datasets[0])
    change = found.table.rows[0][2]
    assert change.low > 0, "at the train seeds that both have"
    assert "Use SVM" in found.sentences[-1]
    assert "These results do not show that its matched churn is lower than ERM's." in found.sentences[-1]
