"""Quantities of predictions, against scikit-learn, SciPy and plain loops."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from benchmark import metrics
from benchmark import quantities as q
from benchmark.types import Predictions


def predictions(values: np.ndarray, y: np.ndarray) -> Predictions:
    task = "classification" if values.shape[2] > 1 else "regression"
    ids = np.array([f"m{i:04d}" for i in range(len(y))])
    return Predictions(tuple(range(len(values))), ids, y, values, task)


@pytest.fixture(scope="module", params=[2, 3])
def p(request: pytest.FixtureRequest) -> Predictions:
    rng = np.random.default_rng(1)
    y = rng.integers(request.param, size=60)
    values = rng.dirichlet(np.full(request.param, 0.4), size=(7, 60)).astype(np.float32)
    values[np.arange(7), :, :] = (values + np.eye(request.param)[y]) / 2
    return predictions(values, y)


def test_precision_recall_f1_and_average_precision_are_scikit_learns(p):
    true = p.y == 1
    said = p.values.argmax(axis=2) == 1
    for ours, theirs in ((q.precision, sk.precision_score), (q.recall, sk.recall_score), (q.f1, sk.f1_score)):
        np.testing.assert_allclose(ours(p), [theirs(true, row) for row in said])
    expected = [sk.average_precision_score(true, run[:, 1]) for run in p.values]
    np.testing.assert_allclose(q.average_precision(p), expected)


def test_a_class_that_is_never_predicted_or_absent_gives_no_warning():
    never = predictions(np.tile([0.9, 0.1], (3, 4, 1)), np.array([0, 1, 0, 1]))
    assert q.precision(never).tolist() == q.f1(never).tolist() == [0, 0, 0]
    absent = predictions(np.tile([0.4, 0.6], (3, 4, 1)), np.zeros(4, dtype=int))
    assert q.recall(absent).tolist() == [0, 0, 0]
    assert np.isnan(q.average_precision(absent)).all()
    assert np.isnan(q.churn_of_class(absent, 1)).all()


def test_drift_is_the_absolute_difference_of_each_pair_of_runs(p):
    of_run = q.f1(p)
    pairs = list(combinations(range(7), 2))
    expected = np.mean([abs(of_run[i] - of_run[j]) for i, j in pairs])
    assert metrics.mean_over_pairs(q.drift(of_run)) == pytest.approx(expected)


def test_churn_by_true_class_is_a_double_loop_over_its_examples(p):
    said = p.values.argmax(axis=2)
    for label in (0, 1):
        matrix = q.churn_of_class(p, label)
        for i, j in combinations(range(7), 2):
            differ = [said[i, t] != said[j, t] for t in range(60) if p.y[t] == label]
            assert matrix[i, j] == matrix[j, i] == pytest.approx(np.mean(differ))


def test_each_example_contributes_its_share_of_pairs(p):
    said = p.values.argmax(axis=2)
    pairs = list(combinations(range(7), 2))
    expected = [np.mean([said[i, t] != said[j, t] for i, j in pairs]) for t in range(60)]
    np.testing.assert_allclose(q.example_churn(p), expected)
    assert q.example_churn(p).mean() == pytest.approx(metrics.mean_over_pairs(metrics.churn(p.values)))
    assert q.example_sym_kl(p).mean() == pytest.approx(metrics.mean_over_pairs(metrics.sym_kl(p.values)))
    assert q.example_accuracy(p).mean() == pytest.approx(metrics.accuracy(p.values, p.y).mean())


def test_symmetric_kl_of_an_example_is_scipys_relative_entropy_of_its_pairs(p):
    v = p.values.astype(np.float64)
    v /= v.sum(axis=2, keepdims=True)
    exact = predictions(v, p.y)
    pairs = list(combinations(range(7), 2))
    expected = [(stats.entropy(v[i, 3], v[j, 3]) + stats.entropy(v[j, 3], v[i, 3])) / 2 for i, j in pairs]
    assert q.example_sym_kl(exact)[3] == pytest.approx(np.mean(expected))


def test_of_a_regression_the_contributions_are_mean_absolute_differences_and_errors():
    rng = np.random.default_rng(2)
    y = rng.normal(size=20).astype(np.float32)
    p = predictions(y[None, :, None] + rng.normal(size=(6, 20, 1)).astype(np.float32), y)
    pairs = list(combinations(range(6), 2))
    expected = [np.mean([abs(p.values[i, t, 0] - p.values[j, t, 0]) for i, j in pairs]) for t in range(20)]
    np.testing.assert_allclose(q.example_churn(p), expected, rtol=1e-5)
    assert q.example_error(p).mean() == pytest.approx(metrics.mae(p.values, p.y).mean())


def test_one_run_has_no_pairs():
    p = predictions(np.array([[[0.9, 0.1]]]), np.array([0]))
    assert np.isnan(q.example_churn(p)).all()
    assert np.isnan(q.example_sym_kl(p)).all()


def test_entropy_is_scipys(p):
    np.testing.assert_allclose(q.entropy(p), stats.entropy(p.values, axis=2), rtol=1e-4, atol=1e-6)


def test_the_top_overlap_is_that_of_sets_and_ties_go_by_id():
    scores = np.array([[0.9, 0.8, 0.1, 0.1], [0.1, 0.8, 0.9, 0.1], [0.5, 0.5, 0.5, 0.5]])
    p = predictions(np.stack([1 - scores, scores], axis=-1), np.array([1, 1, 0, 0]))
    jaccard = q.top_jaccard(p, k=2)
    assert jaccard[0, 1] == pytest.approx(1 / 3)  # {0, 1} and {1, 2}
    assert jaccard[0, 2] == 1  # the tie takes the first two ids
    assert jaccard.diagonal().tolist() == [0, 0, 0]
    assert q.hit_rate(p, k=2).tolist() == [1, 0.5, 1]
    assert q.top_jaccard(p, k=10)[0, 1] == 1  # fewer than ten examples: all of them
    assert q.positive_fraction(p) == 0.5


def test_examples_with_a_probability_that_rounds_to_one_keep_their_order():
    rest = np.array([[1e-9, 1e-12, 1e-10, 0.5], [1e-12, 1e-9, 1e-10, 0.5]], dtype=np.float32)
    p = predictions(np.stack([rest, 1 - rest], axis=-1), np.ones(4, dtype=int))
    assert (p.values[:, :3, 1] == 1).all()
    assert q.top_jaccard(p, k=1)[0, 1] == 0


def test_the_larger_accuracy_after_a_change_is_what_it_mends_less_what_it_breaks(p):
    after = predictions(p.values[::-1].copy(), p.y)
    gained = q.good_flips(p, after).mean(axis=1) - q.bad_flips(p, after).mean(axis=1)
    before = metrics.accuracy(p.values, p.y)
    np.testing.assert_allclose(gained, metrics.accuracy(after.values, p.y) - before)


def test_memory_does_not_grow_with_pairs_times_examples():
    rng = np.random.default_rng(3)
    share = rng.random((100, 1164))
    p = predictions(np.stack([share, 1 - share], axis=-1).astype(np.float32), rng.integers(2, size=1164))
    q.average_precision(p)  # imports
    tracemalloc.start()
    for quantity in (q.example_churn, q.example_sym_kl, q.top_jaccard, q.hit_rate, q.f1, q.average_precision):
        quantity(p)
    q.churn_of_class(p, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * share.nbytes  # the pairs of all examples would take 40 times as much
