"""The table that compares samplings: answers that follow from the intervals."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from benchmark.measure.catalogue import CHURN
from benchmark.measure.intervals import jackknife
from benchmark.store.cell import Cell
from leaderboard.read.results import Results, collect
from leaderboard.tables.builders.samplings import claims
from leaderboard.tables.entries import build

from ...conftest import flipping, keyed, sure

FLIPS = {
    "paper": {"erm": 0.3, "bagging": 0.05, "deep_ensemble": 0.3},
    "halves": {"erm": 0.3, "bagging": 0.3, "deep_ensemble": 0.05},
}
DATASETS = ("a", "b", "c")


@pytest.fixture(scope="module")
def whole(make_cell) -> Results:
    params = {"bagging": {"k": 5}, "deep_ensemble": {"k": 5}}

    def cells(sampling: str) -> Iterator[Cell]:
        for d in DATASETS:
            for method, rate in FLIPS[sampling].items():
                rng = np.random.default_rng(sum(map(ord, f"{sampling}{d}{method}")))
                made = make_cell(method, sure(flipping(rng, rate, 10, 300)), dataset=d, params=params.get(method))
                yield keyed(made, sampling=sampling)

    return collect([*cells("paper"), *cells("halves")])


def test_an_answer_is_the_paired_difference_over_families_and_follows_from_its_interval(whole):
    every = claims(whole, "runs").rows
    rows = {row[0]: row for row in every if row[1] in ("churn", "accuracy")}
    assert len(rows) == 3, "questions about methods that were not run are left out"
    measures = [*("churn", "matched churn") * 2, "accuracy", "matched accuracy"]
    assert [row[1] for row in every if row[0] in rows] == measures
    _, _, paper, published, halves = rows["Does bagging with K=5 churn less than ERM?"]
    assert paper == "yes"
    assert published.text.startswith("yes: −")
    assert published.text.endswith("3 of 3")
    assert halves.text.startswith("unclear: ")
    _, tests, agreement = claims(whole, "runs").notes
    assert "not adjusted for their number: 12 tests, of 3 questions by two measures under 2 samplings" in tests
    assert agreement.startswith("Answers in agreement with the paper's: 3 of 3 under paper")
    assert rows["Does a deep ensemble (K=5) churn less than ERM?"][4].text.startswith("yes: −")
    each = []
    for dataset in whole.front.datasets:
        ours, erm = (CHURN.of_runs(dataset.entry(title).tests[0]) for title in ("BAGGING", "ERM"))
        each.append(jackknife([ours - erm]))
    assert halves.number == pytest.approx(100 * np.mean([e.value for e in each]))
    half = np.sqrt(np.sum([(e.high - e.value) ** 2 for e in each])) / 3
    assert halves.high - halves.number == pytest.approx(100 * half)


def test_one_sampling_has_nothing_to_compare(whole):
    paper = replace(whole, others=())
    assert [len(build(some, keys=("claims",))) for some in (paper, whole)] == [0, 1]


def test_a_study_stands_in_for_a_method_that_the_boards_lack_but_adds_no_split(whole):
    cells = [cell for part in whole.every for dataset in part.datasets for cell in dataset.cells]
    of_study = [keyed(cell.with_facts(study="some"), canonical_seed=7) for cell in cells]
    with_splits = collect([*cells, *of_study])
    assert claims(with_splits, "runs").rows == claims(whole, "runs").rows
    moved = [cell.with_facts(study="some") if cell.key.method == "bagging" else cell for cell in cells]
    assert claims(collect(moved), "runs").rows == claims(whole, "runs").rows
