"""Changes by an update: counted by hand, and chance told apart from new data in a simulation."""

import numpy as np
import pytest
from scipy.stats import norm

from benchmark.measure.updates import by_pair, changes, paired
from benchmark.types import Predictions


def test_flips_of_classes_are_counted_by_hand():
    y = np.array([0, 0, 1, 1, 1])
    old, new = np.array([0, 1, 1, 0, 1]), np.array([0, 0, 0, 1, 1])
    found = changes(np.eye(2)[old][None], np.eye(2)[new][None], y, "classification")
    assert (found.flips, found.good, found.bad) == (3 / 5, 2 / 5, 1 / 5)
    assert found.turnover == 1, "the list of one: the first of the old ones is example 1, of the new ones example 3"


def test_among_three_classes_a_flip_from_wrong_to_wrong_is_neither_good_nor_bad():
    found = changes(np.eye(3)[[[1]]], np.eye(3)[[[2]]], np.array([0]), "classification")
    assert (found.flips, found.good, found.bad) == (1, 0, 0)


def test_numbers_flip_beyond_the_tolerance_for_better_or_worse():
    y = np.array([1.0, 1.0, 1.0, 1.0])
    old, new = np.array([1.0, 0.0, 1.0, 1.0]), np.array([1.6, 1.0, 1.5, 0.9])
    found = changes(old[None, :, None], new[None, :, None], y, "regression", 0.55)
    assert (found.flips, found.good, found.bad) == (0.5, 0.25, 0.25)
    assert changes(old[None, :, None], new[None, :, None], y, "regression", 1.0).flips == 0


def test_the_top_list_keeps_what_both_rank_highest():
    old, new = np.arange(20.0), np.arange(20.0)
    new[[19, 0]] = new[[0, 19]]
    found = changes(old[None, :, None], new[None, :, None], old, "regression")
    assert found.turnover == 0.5


def predictions(p: np.ndarray, y: np.ndarray) -> Predictions:
    seeds = tuple(range(1, len(p) + 1))
    return Predictions(seeds, np.arange(len(y)).astype(str), y, np.stack([1 - p, p], axis=2), "classification")


def test_a_new_run_is_compared_with_the_old_one_of_its_partner():
    y = np.array([0, 1, 1])
    old, new = predictions(np.arange(12).reshape(4, 3) / 12, y), predictions(np.zeros((4, 3)), y)
    before, after = paired(old, new)
    assert np.array_equal(before, old.values[[1, 0, 3, 2]])
    assert after is new.values
    with pytest.raises(ValueError, match="train seed 1 is missing"):
        paired(old.only([1]), new.only([1]))
    with pytest.raises(ValueError, match="different examples"):
        paired(old, new.on(np.array([0, 1])))


def test_pairs_are_averaged_and_the_last_three_of_an_odd_number():
    assert by_pair(np.array([1.0, 3.0, 5.0, 6.0])).tolist() == [2.0, 5.5]
    assert by_pair(np.array([1.0, 3.0, 5.0])).tolist() == [3.0]


@pytest.mark.parametrize("said", [0.0, 0.08])
def test_flips_by_new_rows_are_what_the_simulation_put_in_and_nothing_where_it_put_nothing(said):
    """A model's score is signal + its own noise; new rows move the signal of some examples across the threshold."""
    rng = np.random.default_rng(7)
    runs, examples, repeats = 10, 4000, 20
    excess, expected = [], []
    for _ in range(repeats):
        signal = rng.choice([-1.0, 1.0], examples) * rng.uniform(0.5, 3, examples)
        moved = np.where(rng.random(examples) < said, -signal, signal)
        y = (signal > 0).astype(np.int64)
        old, new = (predictions((s + rng.normal(size=(runs, examples)) > 0).astype(float), y) for s in (signal, moved))
        by_new, by_chance = (changes(*paired(old, p), y, "classification").flips for p in (new, old))
        excess.append((by_new - by_chance).mean())
        right = norm.cdf(np.abs(signal))
        expected.append((said * (2 * right - 1) ** 2).mean())  # P(flip | moved) − P(flip): p² + (1 − p)² − 2p(1 − p)
    error = np.std(excess, ddof=1) / repeats**0.5
    assert abs(np.mean(excess) - np.mean(expected)) < 3 * error
    assert (abs(np.mean(excess)) < 3 * error) == (said == 0)
