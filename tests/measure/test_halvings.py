"""Churn between halves of a training pool: unbiased for the population, with an interval for the pool at hand.

The population is known: examples of two classes are drawn from two normal distributions, and a model assigns a test
example to the nearer mean of its training rows.
"""

import numpy as np
import pytest

from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.measure.intervals import Estimate, jackknife
from benchmark.types import Predictions

DIMENSIONS, POOL, HALVINGS = 20, 120, 10
APART = np.concatenate([np.full(3, 0.5), np.zeros(DIMENSIONS - 3)])
TESTS = np.random.default_rng(9).normal(size=(300, DIMENSIONS))


def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, DIMENSIONS)) + np.outer(2 * y - 1, APART), y


def predicted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    one, zero = x[y == 1].mean(axis=0), x[y == 0].mean(axis=0)
    return (TESTS - (one + zero) / 2) @ (one - zero) > 0


def churns(rng: np.random.Generator, x: np.ndarray, y: np.ndarray, halvings: int) -> np.ndarray:
    """Churn between the halves of random halvings of a pool."""
    halves = [np.split(rng.permutation(len(y)), 2) for _ in range(halvings)]
    return np.array([np.mean(predicted(x[a], y[a]) != predicted(x[b], y[b])) for a, b in halves])


@pytest.mark.slow
def test_churn_between_halves_is_unbiased_for_independent_samples_of_half_the_size():
    rng = np.random.default_rng(0)
    apart = [np.mean(predicted(*sample(rng, POOL // 2)) != predicted(*sample(rng, POOL // 2))) for _ in range(3000)]
    within = [churns(rng, *sample(rng, POOL), HALVINGS).mean() for _ in range(600)]
    error = np.hypot(np.std(apart) / np.sqrt(len(apart)), np.std(within) / np.sqrt(len(within)))
    assert np.mean(within) == pytest.approx(np.mean(apart), abs=3 * error)
    assert error < 0.002


@pytest.mark.long
def test_the_interval_covers_the_mean_over_all_halvings_of_the_pool_but_not_that_of_other_pools():
    rng = np.random.default_rng(1)
    truth = np.mean([np.mean(predicted(*sample(rng, 60)) != predicted(*sample(rng, 60))) for _ in range(3000)])
    of_pool, of_population = 0, 0
    trials = 400
    for _ in range(trials):
        values = churns(rng, *sample(rng, POOL), 200)
        estimate: Estimate = jackknife([values[:HALVINGS]])
        of_pool += estimate.low <= values[HALVINGS:].mean() <= estimate.high
        of_population += estimate.low <= truth <= estimate.high
    assert 0.92 <= of_pool / trials <= 0.98
    assert 0.55 <= of_population / trials <= 0.8, "as the page with the definitions says"


def test_measures_under_halves_have_a_value_for_each_halving_and_compare_nothing_else():
    rng = np.random.default_rng(2)
    p = rng.random((30, 40))
    seeds = (*range(1, 27), 29, 30, 33, 34)
    firsts = range(0, 30, 2)
    y = rng.integers(0, 2, 40)
    predictions = Predictions(
        seeds, np.arange(40).astype(str), y, np.stack([1 - p, p], axis=-1), "classification", "halves"
    )
    classes = p > 0.5
    by_hand = [np.mean(classes[i] != classes[i + 1]) for i in firsts]
    np.testing.assert_allclose(CHURN.of_runs(predictions), by_hand)
    assert CHURN.mean(predictions) == pytest.approx(np.mean(by_hand))
    assert CHURN.of_examples is not None
    each = np.mean([classes[i] != classes[i + 1] for i in firsts], axis=0)
    np.testing.assert_allclose(CHURN.of_examples(predictions), each)
    right = [(classes[i] == y).mean() / 2 + (classes[i + 1] == y).mean() / 2 for i in firsts]
    np.testing.assert_allclose(ACCURACY.of_runs(predictions), right)
    without_a_half = predictions.only([0, 1, 2, 4, 5])
    np.testing.assert_allclose(CHURN.of_runs(without_a_half), [by_hand[0], by_hand[2]])
    assert CHURN.of_runs(predictions.only([2, 4])).shape == (0,)
