"""Every method at a train seed sees the same bootstraps, whatever else is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.check import synthetic
from benchmark.train.resampling import STREAMS, bootstrap, generator

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
