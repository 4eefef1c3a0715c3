"""Changes by an update: counted by hand, and chance told apart from new data in a simulation."""

import numpy as np
import pytest

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
