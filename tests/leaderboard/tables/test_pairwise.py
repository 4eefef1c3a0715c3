"""Two methods compared: against scipy, loops and the published numbers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from benchmark.errors import UserError
from benchmark.measure.catalogue import ACCURACY, CHURN
from leaderboard.read import published
from leaderboard.read.results import Results
from leaderboard.tables.pairwise import answer, compared, flipping_alone, matrix, title_of, to_table


@pytest.fixture(scope="module")
def board() -> Results:
    return published.gather(published.PUBLISHED)


def under(results: Results, sampling: str) -> Results:
    return next(part for part in results.every if part.sampling == sampling)


def test_accuracy_is_compared_as_by_students_paired_test(world: Results):
    (mid,) = (d for d in world.headline() if d.name == "mid")
    pair = compared([mid], "BAGGING", "ERM", ACCURACY)
    right = [
        (p.values.argmax(2) == p.y).mean(1)
        for p in (mid.entry(t).cells[99].predictions["id"] for t in ("BAGGING", "ERM"))
    ]
    theirs = stats.ttest_rel(*right)
    interval = theirs.confidence_interval()
    assert (pair.mean.low, pair.mean.high, pair.mean.p) == pytest.approx((interval.low, interval.high, theirs.pvalue))


def test_the_mean_over_families_has_the_test_of_its_interval(world: Results):
    for measure in (CHURN, ACCURACY):
        for a, b in combinations(("ERM", "BAGGING", "WRONG"), 2):
            pair = compared(world.headline(), a, b, measure)
            assert len(pair.families) == 2
            assert pair.mean.value == pytest.approx(np.mean([e.value for e in pair.families]))
            assert (pair.mean.p < 0.05) == pair.mean.excludes_zero
            assert pair.reversed.mean.value == -pair.mean.value
            assert pair.reversed.wins == pair.wins[::-1]


def test_all_pairs_are_adjusted_together(world: Results):
    pairs = matrix(world)
    titles = {title for p in pairs for title in (p.first, p.second)}
    assert len(titles) == 3
    assert len(pairs) == 3
    adjusted = multipletests([p.mean.p for p in pairs], method="holm")[1]
    assert [p.adjusted for p in pairs] == pytest.approx(adjusted.tolist())


def test_examples_that_flip_under_one_method_alone_are_counted(world: Results):
    (mid,) = (d for d in world.headline() if d.name == "mid")
    classes = [mid.entry(t).cells[99].predictions["id"].values.argmax(2) for t in ("ERM", "BAGGING")]
    flips = [np.array([len(set(column)) > 1 for column in of.T]) for of in classes]
    assert flipping_alone(mid, "ERM", "BAGGING") == ((flips[0] > flips[1]).sum(), (flips[1] > flips[0]).sum())


def test_twin_and_bagging_are_told_apart_as_in_an_independent_computation(board: Results):
    paper = under(board, "paper")
    titles = [title_of(paper, text) for text in ("twin", "bagging")]
    differences = []
    for measure in (CHURN, ACCURACY):
        pair = compared(paper.headline(), *titles, measure)
        families: dict[str, list[float]] = {}
        for dataset in paper.headline():
            a, b = (dataset.entry(title).cells[99].predictions["id"] for title in titles)
            if measure is CHURN:
                of = [np.mean([(x != y).mean() for x, y in combinations(p.values.argmax(2), 2)]) for p in (a, b)]
            else:
                of = [(p.values.argmax(2) == p.y).mean() for p in (a, b)]
            families.setdefault(dataset.family, []).append(of[0] - of[1])
        by_hand = np.mean([np.mean(values) for values in families.values()])
        assert pair.mean.value == pytest.approx(by_hand)
        differences.append(by_hand)
    assert differences == pytest.approx([-0.013, -0.030], abs=0.006)
    churn, accuracy = answer(paper, *titles)
    assert churn.startswith("Twin-bootstrap λ=300 churns less than Bagging K=5: −")
    assert accuracy.startswith("Twin-bootstrap λ=300 is less accurate than Bagging K=5: −")
    table = to_table(paper, *titles)
    assert table.rows[-1][0] == "Mean over 7 families"
    assert table.rows[-1][1].number == pytest.approx(100 * differences[0])


def test_an_unknown_method_and_one_that_no_headline_dataset_has_are_refused(board: Results):
    with pytest.raises(UserError, match="did you mean 'bagging'"):
        title_of(board, "baging")
    with pytest.raises(UserError, match="no headline dataset has both"):
        to_table(board, "ERM", "nothing")
