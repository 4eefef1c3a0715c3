"""Building blocks of measures, against SciPy and by hand."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from benchmark.measure import basics
from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.types import Predictions


@pytest.fixture(params=[2, 3])
def p(request: pytest.FixtureRequest) -> Predictions:
    rng = np.random.default_rng(1)
    values = rng.dirichlet(np.full(request.param, 0.4), size=(7, 60)).astype(np.float32)
    ids = np.array([f"m{i:04d}" for i in range(60)])
    return Predictions(tuple(range(7)), ids, rng.integers(request.param, size=60), values, "classification")


def test_the_lowest_class_wins_a_tie():
    assert basics.predicted_class(np.array([[[0.5, 0.5], [0.2, 0.8]]])).tolist() == [[0, 1]]


def test_the_mean_over_pairs_counts_each_pair_once_and_is_nan_without_a_pair(p):
    matrix = CHURN.of_runs(p)
    pairs = [matrix[i, j] for i, j in combinations(range(7), 2)]
    assert basics.mean_over_pairs(matrix) == CHURN.mean(p) == pytest.approx(sum(pairs) / 21)
    assert np.isnan(basics.mean_over_pairs(matrix[:1, :1]))


def test_entropy_is_scipys(p):
    np.testing.assert_allclose(basics.entropy(p), stats.entropy(p.values, axis=2), rtol=1e-4, atol=1e-6)


def test_the_gain_in_accuracy_is_the_good_flips_minus_the_bad_flips(p):
    after = Predictions(p.seeds, p.ids, p.y, p.values[::-1].copy(), "classification")
    gained = basics.good_flips(p, after).mean(axis=1) - basics.bad_flips(p, after).mean(axis=1)
    np.testing.assert_allclose(gained, ACCURACY.of_runs(after) - ACCURACY.of_runs(p))
