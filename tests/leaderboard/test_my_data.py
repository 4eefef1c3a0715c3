"""The end of a run on own data: the table of methods, the one to use, and the molecules that flip."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leaderboard import my_data
from leaderboard.read.results import Dataset, Results, collect
from leaderboard.site.decide import choices
from leaderboard.tables.summary import sets


@pytest.fixture
def results(make_cell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Results:
    monkeypatch.setenv("CHURN_HOME", str(tmp_path))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)

    def cell(dataset: str, group: str, method: str, flips: float, seconds: float = 1.0):
        wrong = rng.random((6, 200)) < flips
        p = np.where(y ^ wrong, 0.9, 0.1)
        values = np.stack([1 - p, p], axis=2)
        return make_cell(method, values, y=y, dataset=dataset, seconds=seconds, about={"group": group})

    cells = [
        cell("assays", "own", "erm", 0.15),
        cell("assays", "own", "svm", 0.02),
        cell("assays", "own", "random_forest", 0.0, 50.0),
        cell("demo", "extra", "erm", 0.15),
        cell("demo", "extra", "twin", 0.01),
        cell("bace", "dev", "erm", 0.15),
        cell("bace", "dev", "twin", 0.01),
    ]
    return collect(cells, "memory")


def dataset_of(results: Results) -> Dataset:
    return next(dataset for dataset in results.datasets if dataset.name == "assays")


def test_the_calmest_method_within_the_limits_is_advised(results: Results) -> None:
    dataset = dataset_of(results)
    found = my_data.own(dataset)
    (sentence,) = found.sentences
    assert sentence.startswith("Use SVM: it has the least matched churn of the methods that lose at most 1 point of")
    assert "These results show that its matched churn is lower than ERM's." in sentence
    assert [str(row[0]).split()[0] for row in found.table.rows] == ["RANDOM_FOREST", "SVM", "ERM"]
    assert found.flips is not None
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
    assert flips is not None
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
        (
            200,
            4,
            6,
            "the ID test has 4 rows of '1', and a decision needs 10; a table of about 2,500 such rows would do",
        ),
        (200, 100, 3, "a decision needs 5 retrainings, and has 3: --seeds 5"),
    ],
)
def test_with_too_little_nothing_is_recommended_and_what_it_takes_is_said(make_cell, rows, positive, runs, told):
    y = np.arange(rows) < positive
    p = np.where(y ^ (np.random.default_rng(0).random((runs, rows)) < 0.1), 0.9, 0.1)
    values = np.stack([1 - p, p], axis=2)
    methods = [make_cell(m, values, y=y.astype(int), dataset="assays", about={"group": "own"}) for m in ("erm", "svm")]
    found = my_data.own(dataset_of(collect(methods, "memory")))
    (sentence,) = found.sentences
    assert sentence.startswith("Cannot decide yet: ")
    assert told in sentence
    assert found.flips is None
