"""Metrics against double loops, and what every one of them has to keep."""

from __future__ import annotations

import doctest
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error

from benchmark import metrics

RNG = np.random.default_rng(0)
RUNS, TESTS = range(5), range(40)
PROBABILITIES = RNG.dirichlet([1, 1, 1], size=(5, 40))
CLASSES = RNG.integers(3, size=40)
NUMBERS = RNG.normal(size=(5, 40, 1)).astype(np.float32)
TARGETS = RNG.normal(size=40).astype(np.float32)

VALUES = {"classification": PROBABILITIES, "regression": NUMBERS}
TRUTH = {"classification": CLASSES, "regression": TARGETS}
PAIRWISE = [(task, name) for task, named in metrics.PAIRWISE.items() for name in named]
PER_RUN = [(task, name) for task, named in metrics.PER_RUN.items() for name in named]


def test_the_examples_in_the_docstrings_hold():
    failed, tried = doctest.testmod(metrics)
    assert (failed, tried >= 2) == (0, True)


def test_accuracy_log_loss_and_mae_are_scikit_learns_for_each_run():
    truth = CLASSES.copy()
    for run in RUNS:
        guess = PROBABILITIES[run].argmax(axis=1)
        assert metrics.accuracy(PROBABILITIES, truth)[run] == pytest.approx(accuracy_score(truth, guess))
        expected = log_loss(truth, PROBABILITIES[run], labels=[0, 1, 2])
        assert metrics.log_loss(PROBABILITIES, truth)[run] == pytest.approx(expected)
        expected = mean_absolute_error(TARGETS, NUMBERS[run, :, 0])
        assert metrics.mae(NUMBERS, TARGETS)[run] == pytest.approx(expected)


def test_churn_is_the_share_of_examples_whose_most_probable_class_differs():
    matrix = metrics.churn(PROBABILITIES)
    for i, j in combinations(RUNS, 2):
        flips = [
            max(range(3), key=list(PROBABILITIES[i, t]).__getitem__) != PROBABILITIES[j, t].argmax() for t in TESTS
        ]
        assert matrix[i, j] == pytest.approx(sum(flips) / 40)
    assert matrix[0, 1:].min() > 0


def test_sym_kl_is_half_the_sum_of_both_relative_entropies_in_nats():
    matrix = metrics.sym_kl(PROBABILITIES)
    for i, j in combinations(RUNS, 2):
        both = [entropy(p, q) + entropy(q, p) for p, q in zip(PROBABILITIES[i], PROBABILITIES[j], strict=True)]
        assert matrix[i, j] == pytest.approx(0.5 * np.mean(both))


def test_the_churn_of_a_regression_is_the_mean_absolute_difference():
    matrix = metrics.PAIRWISE["regression"]["churn"](NUMBERS)
    for i, j in combinations(RUNS, 2):
        differences = [abs(float(NUMBERS[i, t, 0]) - float(NUMBERS[j, t, 0])) for t in TESTS]
        assert matrix[i, j] == pytest.approx(sum(differences) / 40)


@pytest.mark.parametrize(("task", "name"), PAIRWISE)
def test_a_pairwise_metric_is_symmetric_and_zero_on_itself(task, name):
    values = VALUES[task]
    matrix = metrics.PAIRWISE[task][name](values)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 0)
    assert matrix[np.triu_indices(5, k=1)].min() > 0
    np.testing.assert_array_equal(metrics.PAIRWISE[task][name](values[[2, 2, 2]]), 0)


@pytest.mark.parametrize(("task", "name"), PAIRWISE)
def test_a_pairwise_metric_ignores_the_order_of_examples_and_follows_that_of_runs(task, name):
    metric, values = metrics.PAIRWISE[task][name], VALUES[task]
    examples, runs = RNG.permutation(40), RNG.permutation(5)
    np.testing.assert_allclose(metric(values[:, examples]), metric(values))
    np.testing.assert_allclose(metric(values[runs]), metric(values)[np.ix_(runs, runs)])


@pytest.mark.parametrize(("task", "name"), PER_RUN)
def test_a_metric_of_each_run_ignores_the_order_of_examples_and_the_other_runs(task, name):
    metric, values, truth = metrics.PER_RUN[task][name], VALUES[task], TRUTH[task]
    examples = RNG.permutation(40)
    np.testing.assert_allclose(metric(values[:, examples], truth[examples]), metric(values, truth))
    np.testing.assert_allclose(metric(values[3:4], truth), metric(values, truth)[3:4])


def test_the_lowest_class_wins_a_tie():
    assert metrics.predicted_class(np.array([[[0.5, 0.5], [0.2, 0.8]]])).tolist() == [[0, 1]]


def test_certain_and_wrong_predictions_have_a_finite_loss_and_divergence():
    values = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    assert metrics.log_loss(values, np.array([0])) == pytest.approx([0, -np.log(1e-12)])
    assert metrics.sym_kl(values)[0, 1] == pytest.approx(-np.log(1e-12))


def test_the_mean_over_pairs_counts_each_pair_once_and_is_nan_without_a_pair():
    matrix = metrics.churn(PROBABILITIES)
    pairs = [matrix[i, j] for i, j in combinations(RUNS, 2)]
    assert metrics.mean_over_pairs(matrix) == pytest.approx(sum(pairs) / 10)
    assert np.isnan(metrics.mean_over_pairs(matrix[:1, :1]))
