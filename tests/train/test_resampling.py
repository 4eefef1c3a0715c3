"""All methods at a train seed see the same bootstraps, whatever else is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.run.check import synthetic
from benchmark.train.resampling import STREAMS, bootstrap, generator, overlap, overlapping, shards

PROBLEM = synthetic("classification", n=5000, features=16)
ROWS = bootstrap(PROBLEM, [1, 2, 3], members=4)


def test_bootstraps_are_rows_of_the_training_pool_for_each_seed_and_member():
    assert ROWS.shape == (3, 4, 5000)
    assert ROWS.dtype == np.int64
    assert (ROWS.min(), ROWS.max()) == (0, 4999)


def test_a_bootstrap_does_not_depend_on_the_other_seeds_or_members():
    np.testing.assert_array_equal(bootstrap(PROBLEM, [2], members=4)[0], ROWS[1])
    np.testing.assert_array_equal(bootstrap(PROBLEM, [3, 7, 1], members=2)[[2, 0]], ROWS[[0, 2], :2])


def test_a_bootstrap_holds_63_percent_of_the_pool():
    shares = [len(np.unique(rows)) / 5000 for rows in ROWS.reshape(-1, 5000)]
    assert shares == pytest.approx([1 - np.exp(-1)] * 12, abs=0.015)  # 3 standard deviations


def test_bootstraps_are_independent_across_seeds_and_members():
    counts = np.stack([np.bincount(rows, minlength=5000) for rows in ROWS.reshape(-1, 5000)])
    correlations = np.corrcoef(counts)[np.triu_indices(12, k=1)]
    assert np.abs(correlations).max() < 0.06  # 4 standard deviations of independent draws


def test_each_stream_seed_and_member_has_its_own_draws():
    keys = [(stream, seed, member) for stream in STREAMS for seed in (0, 1, 2, 99) for member in (0, 1, 2)]
    draws = {generator(*key).integers(2**63) for key in keys}
    assert len(draws) == len(keys)
    assert draws == {generator(*key).integers(2**63) for key in reversed(keys)}


@pytest.mark.parametrize("n", [16, 17, 160, 161])
@pytest.mark.parametrize("seed", [1, 2, 3, 99])
def test_shards_divide_the_molecules_of_the_bootstrap_that_erm_sees(n, seed):
    problem = synthetic("regression", n=n)
    (parts,) = shards(problem, [seed])
    assert parts.shape == (2, n // 2)
    assert not set(parts[0]) & set(parts[1])
    drawn = np.bincount(bootstrap(problem, [seed])[0, 0], minlength=n)
    left_out = drawn - np.bincount(parts.ravel(), minlength=n)
    assert (left_out >= 0).all()
    assert left_out.sum() == n % 2


def test_shards_depend_on_their_seed_alone_and_break_ties_at_random():
    problem = synthetic("classification")
    many = shards(problem, range(1, 200))
    np.testing.assert_array_equal(shards(problem, [9, 2]), many[[8, 1]])
    ids = many.mean(axis=2)
    # if ties were broken by row number, one of the two shards would always hold the earlier molecules
    assert np.abs(np.corrcoef(ids[:, 0], np.arange(199))[0, 1]) < 0.3
    assert 0.35 < (ids[:, 0] < ids[:, 1]).mean() < 0.65


def test_a_bootstrap_that_cannot_be_divided_is_an_error():
    with pytest.raises(UserError, match="the bootstrap of train seed 1 cannot be divided into two shards of 1 rows"):
        shards(synthetic("classification", n=2), [1])


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_the_overlap_of_two_networks_follows_from_poisson_counts(share):
    """A molecule is drawn Poisson(share) times for both, and Poisson(2 − 2 share) more times for its half's network."""
    both = 1 - np.exp(-share)
    one = (both + 1 - np.exp(share - 2)) / 2
    measured = overlap(overlapping(PROBLEM, [1, 2, 3], share), 5000)
    np.testing.assert_allclose(measured.of_pool, both, atol=0.02)
    np.testing.assert_allclose(measured.of_network, both / one, atol=0.03)


def test_overlapping_rows_are_disjoint_halves_at_0_and_one_bootstrap_at_1():
    halves, same = overlapping(PROBLEM, [1, 2], 0.0), overlapping(PROBLEM, [1, 2], 1.0)
    for a, b in halves:
        assert not set(a) & set(b)
        assert max(len(set(a)), len(set(b))) <= 2500
    assert len(set(halves[0, 0]) & set(halves[1, 0])) > 0  # each seed has its own halves
    np.testing.assert_array_equal(same, bootstrap(PROBLEM, [1, 2]).repeat(2, axis=1))


def test_common_draws_stay_common_at_a_larger_share_and_depend_on_the_seed_alone():
    few, more = overlapping(PROBLEM, [1, 2, 3], 0.3), overlapping(PROBLEM, [1, 2, 3], 0.4)
    same = few[:, 0] == few[:, 1]
    np.testing.assert_array_equal(few.transpose(0, 2, 1)[same], more.transpose(0, 2, 1)[same])
    np.testing.assert_array_equal(overlapping(PROBLEM, [3, 8], 0.3)[0], few[2])


def test_overlap_counts_each_molecule_once():
    rows = np.array([[[0, 0, 1, 2], [2, 2, 2, 3]], [[0, 1, 2, 3], [3, 2, 1, 0]], [[0, 0, 0, 0], [1, 1, 1, 1]]])
    measured = overlap(rows, 10)
    np.testing.assert_allclose(measured.of_pool, [0.1, 0.4, 0])
    np.testing.assert_allclose(measured.of_network, [(1 / 3 + 1 / 2) / 2, 1, 0])


def test_independent_bootstraps_share_40_percent_of_the_pool():
    measured = overlap(ROWS[:, :2], 5000)
    np.testing.assert_allclose(measured.of_pool, (1 - np.exp(-1)) ** 2, atol=0.02)
    np.testing.assert_allclose(measured.of_network, 1 - np.exp(-1), atol=0.03)
