"""The variance between canonical splits, against simulations with known truth and Student's interval."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmark.measure.intervals import jackknife
from leaderboard.stats.splits import Between, between, over_other_splits

RNG = np.random.default_rng(0)


def test_the_variance_between_splits_is_found_beside_that_of_retrainings():
    found = []
    for _ in range(2000):
        splits = RNG.normal(0, 2.0, size=(8, 3))
        runs = splits[..., None] + RNG.normal(0, 3.0, size=(8, 3, 10))
        within = runs.var(axis=2, ddof=1) / 10
        found.append(between(runs.mean(axis=2).tolist(), within.tolist()))
    assert np.mean([one.variance for one in found]) == pytest.approx(4.0, rel=0.03)
    assert {one.df for one in found} == {16}


def test_without_retraining_noise_it_is_the_variance_of_the_splits_and_never_below_0():
    values = [[1.0, 2.0, 4.0], [7.0, 3.0]]
    by_hand = (2 * np.var(values[0], ddof=1) + np.var(values[1], ddof=1)) / 3
    assert between(values, [[0, 0, 0], [0, 0]]) == (pytest.approx(by_hand), 3)
    assert between([[1.0, 1.1]], [[5.0, 5.0]]).variance == 0


def test_datasets_of_one_split_say_nothing():
    assert between([], []).df == 0
    assert between([[1.0]], [[0.1]]).df == 0


def test_the_interval_for_other_splits_covers_the_mean_over_all_splits():
    """Five datasets on one split each; the variance between splits is known from others with three."""
    covered, narrow, repetitions = 0, 0, 1500
    for _ in range(repetitions):
        reference = RNG.normal(0, 2.0, size=(6, 3))
        runs = reference[..., None] + RNG.normal(0, 3.0, size=(6, 3, 10))
        varying = between(runs.mean(axis=2).tolist(), (runs.var(axis=2, ddof=1) / 10).tolist())
        here = RNG.normal(0, 2.0, size=5)[:, None] + RNG.normal(0, 3.0, size=(5, 10))
        each, weights = [jackknife([of]) for of in here], np.full(5, 0.2)
        wide = over_other_splits(each, weights, [1] * 5, varying)
        covered += wide.low <= 0 <= wide.high
        same = over_other_splits(each, weights, [1] * 5, Between(0.0, 1))
        narrow += same.low <= 0 <= same.high
    assert stats.binom.ppf(0.001, repetitions, 0.94) <= covered <= repetitions * 0.985
    assert narrow < 0.75 * repetitions, "what holds on these splits need not hold on others"


def test_splits_that_do_not_vary_leave_students_interval():
    one = jackknife([np.array([0.70, 0.74, 0.78, 0.71])])
    same = over_other_splits([one], np.ones(1), [1], Between(0.0, 4))
    assert (same.low, same.high, same.p) == pytest.approx((one.low, one.high, one.p))
