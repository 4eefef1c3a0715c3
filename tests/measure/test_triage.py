"""Triage curves, against counting by hand, random orders and plain loops."""

from itertools import combinations

import numpy as np
import pytest

from benchmark.measure.basics import entropy
from benchmark.measure.catalogue import example_flips
from benchmark.measure.triage import DECILE, SUBSETS, by_churn, by_entropy, by_mean_entropy, gain, mean_recall, measured


def test_the_curve_counts_flips_in_the_order_of_the_score_and_without_flips_has_no_recall():
    curve = gain(np.array([3.0, 1.0, 2.0, 0.0]), np.array([0.2, 0.0, 0.6, 0.2]))
    np.testing.assert_allclose(curve.captured, [0, 0.2, 0.8, 0.8, 1.0])
    assert curve.recall(0.5) == pytest.approx(0.8)
    assert curve.recall(0.375) == pytest.approx(0.5)  # between examples: in proportion
    assert curve.area == pytest.approx(np.mean([0.2, 0.8 / 2, 0.8 / 3, 1.0 / 4]))
    assert np.isnan(gain(np.arange(5.0), np.zeros(5)).recall(DECILE))


def test_equal_scores_count_as_the_mean_over_their_orders():
    rng = np.random.default_rng(0)
    score, flips = rng.integers(3, size=30).astype(float), rng.random(30)
    recalls, areas = [], []
    for _ in range(4000):
        order = np.lexsort((rng.random(30), -score))
        captured = np.cumsum(flips[order])
        recalls.append(captured[5] / flips.sum())
        areas.append(np.mean(captured / np.arange(1, 31)))
    curve = gain(score, flips)
    assert curve.recall(6 / 30) == pytest.approx(np.mean(recalls), abs=0.003)
    assert curve.area == pytest.approx(np.mean(areas), abs=0.003)


def test_the_churn_of_few_runs_is_judged_by_the_others_and_that_of_all_by_the_same_runs(predictions):
    p = predictions(6)
    expected = []
    for chosen in combinations(range(6), 2):
        others = [run for run in range(6) if run not in chosen]
        expected.append(gain(example_flips(p.only(list(chosen))), example_flips(p.only(others))).recall(DECILE))
    assert mean_recall(by_churn(p, 2), DECILE) == pytest.approx(np.mean(expected))
    (curve,) = by_churn(p, 6)
    assert curve.captured == pytest.approx(gain(example_flips(p), example_flips(p)).captured)
    (five, *_) = by_churn(p, 5)  # one run is left, which has no pair
    assert five.rate == pytest.approx(example_flips(p).mean())


def test_entropy_is_judged_by_the_other_runs_and_as_in_the_paper_by_all(predictions):
    p = predictions(5)
    others = [[run for run in range(5) if run != one] for one in range(5)]
    expected = [gain(entropy(p)[one], example_flips(p.only(rest))).captured for one, rest in enumerate(others)]
    np.testing.assert_allclose([curve.captured for curve in by_entropy(p)], expected)
    (mean,) = by_mean_entropy(p)
    assert mean.captured == pytest.approx(gain(entropy(p).mean(axis=0), example_flips(p)).captured)


def test_churn_and_entropy_are_compared_where_other_runs_judge_both(predictions):
    p = predictions(6)
    churn, entropy = by_churn(p, 2), by_entropy(p)
    assert measured(p)["recall, difference"] == pytest.approx(mean_recall(churn, DECILE) - mean_recall(entropy, DECILE))
    areas = [np.mean([curve.area for curve in curves]) for curves in (churn, entropy)]
    assert measured(p)["area, difference"] == pytest.approx(areas[0] - areas[1])


def test_sets_of_many_runs_are_sampled_reproducibly(predictions):
    p = predictions(20)
    once, again = by_churn(p, 5), by_churn(p, 5)
    assert len(once) == SUBSETS
    assert all((a.captured == b.captured).all() for a, b in zip(once, again, strict=True))


@pytest.mark.parametrize("k", [0, 1, 6])
def test_the_number_of_runs_of_a_score_must_be_valid(predictions, k):
    with pytest.raises(ValueError, match="2 to 5 of 5 runs"):
        by_churn(predictions(5), k)
