"""All methods at a train seed see the same sample and bootstraps, whatever else is drawn."""

from dataclasses import fields, replace

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.run.check import synthetic
from benchmark.train.resampling import STREAMS, at_seed, bootstrap, generator, sample_for, shards
from benchmark.types import SAMPLINGS, Sample
from methods.twin_overlap import overlapping
from tests.plain import sample_of

PROBLEM = synthetic("classification", n=5000, features=16)


SAMPLES = [sample_of(PROBLEM, seed) for seed in (1, 2, 3)]
ROWS = np.stack([bootstrap(sample, members=4) for sample in SAMPLES])


def by_hand(seed: int, member: int, n: int) -> np.ndarray:
    """The draws of the stream ``bootstrap``."""
    return np.random.default_rng([0, seed, member]).integers(0, n, size=n)


def assert_the_same(one: Sample, other: Sample) -> None:
    for field in fields(Sample):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def test_under_paper_a_sample_is_the_pool_and_erms_rows_are_the_first_bootstrap_of_the_seed():
    sample, places = sample_for(PROBLEM, "paper", 2)
    np.testing.assert_array_equal(places, np.arange(5000))
    np.testing.assert_array_equal(sample.rows, by_hand(2, 0, 5000))
    for member, rows in enumerate(bootstrap(sample, 4)):
        np.testing.assert_array_equal(rows, by_hand(2, member, 5000))


@pytest.mark.parametrize("seed", [1, 2, 99])
def test_under_nested_a_sample_is_exactly_erms_bootstrap(seed):
    sample, places = sample_for(PROBLEM, "nested", seed)
    np.testing.assert_array_equal(places[sample.rows], by_hand(seed, 0, 5000))
    assert len(np.unique(sample.rows)) == len(sample) == len(places)


@pytest.mark.parametrize("n", [160, 161])
@pytest.mark.parametrize("j", [1, 2, 50])
def test_under_halves_two_seeds_have_the_halves_of_one_halving(n, j):
    problem = synthetic("regression", n=n)
    (one, first), (other, second) = (sample_for(problem, "halves", seed) for seed in (2 * j - 1, 2 * j))
    assert len(one) == len(other) == len(first) == len(second) == 80
    assert len(np.union1d(first, second)) == 160  # disjoint, and all rows but one of an odd number
    for sample in (one, other):
        np.testing.assert_array_equal(sample.rows, np.arange(80))


def test_each_two_seeds_have_a_halving_of_their_own():
    halves = [np.isin(np.arange(5000), sample_for(PROBLEM, "halves", seed)[1]) for seed in range(1, 9)]
    correlations = np.corrcoef(halves)
    for a, b in np.ndindex(8, 8):
        expected = 1 if a == b else -1 if a // 2 == b // 2 else 0
        assert correlations[a, b] == pytest.approx(expected, abs=0.06)  # 4 standard deviations of independent draws


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_sample_holds_the_molecules_at_its_places_and_depends_on_its_seed_alone(sampling):
    sample, places = sample_for(PROBLEM, sampling, 3)
    pool = PROBLEM.train
    for own, whole in ((sample.x, pool.x), (sample.y, pool.y), (sample.smiles, pool.smiles)):
        np.testing.assert_array_equal(own, whole[places])
    assert (sample.seed, sample.sampling) == (3, sampling)
    assert_the_same(sample, sample_of(replace(PROBLEM, evals={}), 3, sampling))


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_bootstrap_draws_only_from_its_sample(sampling):
    sample = sample_of(PROBLEM, 1, sampling)
    rows = bootstrap(sample, 3)
    assert rows.shape == (3, len(sample.rows))
    assert set(rows.ravel()) <= set(sample.bootstrap_pool) <= set(range(len(sample)))
    # a molecule drawn c times for the sample, c ~ Poisson(1), is missing from its bootstrap with probability exp(−c)
    share = 1 - np.exp(np.exp(-1) - 1) if sampling == "nested" else 1 - np.exp(-1)
    of = len(PROBLEM.train) if sampling == "nested" else len(sample)
    assert [len(np.unique(own)) / of for own in rows] == pytest.approx([share] * 3, abs=0.02)


@pytest.mark.parametrize("sampling", ["nested", "halves"])
def test_a_bootstrap_of_a_sample_uses_other_draws_than_those_of_the_pool(sampling):
    sample = sample_of(PROBLEM, 1, sampling)
    n = len(sample.rows)
    for member, rows in enumerate(bootstrap(sample, 3)):
        for taken in (by_hand(1, 0, n), by_hand(1, member, n)):
            assert (rows == sample.bootstrap_pool[taken]).mean() < 0.01
        assert (rows == sample.rows).mean() < 0.01


def test_only_paper_grants_the_sample_of_another_seed():
    assert_the_same(at_seed(SAMPLES[0], 7), sample_of(PROBLEM, 7))
    for sampling in ("nested", "halves"):
        with pytest.raises(UserError, match=f"^the sampling {sampling} hides the sample of train seed 7 from other"):
            at_seed(sample_of(PROBLEM, 1, sampling), 7)


def test_each_stream_seed_and_member_has_its_own_draws():
    keys = [(stream, seed, member) for stream in STREAMS for seed in (0, 1, 2, 99) for member in (0, 1, 2)]
    draws = {generator(*key).integers(2**63) for key in keys}
    assert len(draws) == len(keys)
    assert draws == {generator(*key).integers(2**63) for key in reversed(keys)}


@pytest.mark.parametrize("n", [16, 17, 160, 161])
@pytest.mark.parametrize("seed", [1, 2, 3, 99])
def test_shards_divide_the_molecules_of_the_bootstrap_that_erm_sees(n, seed):
    sample = sample_of(synthetic("regression", n=n), seed)
    parts = shards(sample, sample.rows)
    assert parts.shape == (2, n // 2)
    assert not set(parts[0]) & set(parts[1])
    drawn = np.bincount(bootstrap(sample)[0], minlength=n)
    left_out = drawn - np.bincount(parts.ravel(), minlength=n)
    assert (left_out >= 0).all()
    assert left_out.sum() == n % 2


def test_shards_depend_on_their_seed_alone_and_break_ties_at_random():
    problem = synthetic("classification")
    samples = [sample_of(problem, seed) for seed in range(1, 200)]
    many = np.stack([shards(sample, sample.rows) for sample in samples])
    for seed in (9, 2):
        np.testing.assert_array_equal(shards(samples[seed - 1], samples[seed - 1].rows), many[seed - 1])
    ids = many.mean(axis=2)
    # if ties were broken by row number, one of the two shards would always hold the earlier molecules
    assert np.abs(np.corrcoef(ids[:, 0], np.arange(199))[0, 1]) < 0.3
    assert 0.35 < (ids[:, 0] < ids[:, 1]).mean() < 0.65


def test_a_bootstrap_that_cannot_be_divided_is_an_error():
    sample = sample_of(synthetic("classification", n=2), 1)
    message = "the 2 training rows of train seed 1 cannot be divided into two shards of 1 row without a common"
    with pytest.raises(UserError, match=message):
        shards(sample, sample.rows)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_the_overlap_of_two_networks_follows_from_poisson_counts(share):
    """A molecule is drawn Poisson(share) times for both, and Poisson(2 − 2 share) more times for its half's network."""
    both = 1 - np.exp(-share)
    one = (both + 1 - np.exp(share - 2)) / 2
    for sample in SAMPLES:
        a, b = map(set, overlapping(sample, share))
        assert len(a & b) / 5000 == pytest.approx(both, abs=0.02)
        assert len(a & b) * (1 / len(a) + 1 / len(b)) / 2 == pytest.approx(both / one, abs=0.03)


def test_overlapping_rows_are_disjoint_halves_at_0_and_one_bootstrap_at_1():
    halves, same = ([overlapping(sample, share) for sample in SAMPLES] for share in (0.0, 1.0))
    for a, b in halves:
        assert not set(a) & set(b)
        assert max(len(set(a)), len(set(b))) <= 2500
    assert len(set(halves[0][0]) & set(halves[1][0])) > 0  # each seed has its own halves
    np.testing.assert_array_equal(same, ROWS[:, :1].repeat(2, axis=1))


def test_common_draws_stay_common_at_a_larger_share_and_depend_on_the_seed_alone():
    few, more = (np.stack([overlapping(sample, share) for sample in SAMPLES]) for share in (0.3, 0.4))
    same = few[:, 0] == few[:, 1]
    np.testing.assert_array_equal(few.transpose(0, 2, 1)[same], more.transpose(0, 2, 1)[same])
    np.testing.assert_array_equal(overlapping(sample_of(PROBLEM, 3), 0.3), few[2])
