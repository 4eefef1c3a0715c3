"""Intervals against Student's t, scipy's bootstrap, plain loops and hand calculation."""

import numpy as np
import pytest
from scipy import stats

from benchmark.measure.intervals import (
    Estimate,
    difference,
    holm,
    influence,
    jackknife,
    jackknife_of_each,
    leave_one_out,
    on_log_scale,
    over_both,
    over_examples,
    pair_bootstrap,
    paired,
    standard_deviation,
    weighted,
)


def random_matrix(rng: np.random.Generator, r: int) -> np.ndarray:
    upper = np.triu(rng.random((r, r)), 1)
    return upper + upper.T


def half(estimate: Estimate) -> float:
    return estimate.high - estimate.value


@pytest.mark.parametrize(
    ("over", "values"),
    [
        (jackknife, np.random.default_rng(0).normal(0.8, 0.02, size=10) - 0.79),
        (jackknife, 0.85 + 1e-5 * np.arange(10)),  # one more of 100,000 examples is right in each run: no rounding
        (over_examples, np.random.default_rng(5).beta(0.4, 2, size=240)),
    ],
    ids=["runs", "a small variance", "examples"],
)
def test_for_a_mean_over_runs_or_over_examples_it_is_students_interval_and_test(over, values) -> None:
    ours, theirs = over([values]), stats.ttest_1samp(values, 0)
    interval = theirs.confidence_interval(0.95)
    expected = pytest.approx([interval.low, interval.high, theirs.pvalue], rel=1e-12)
    assert [ours.low, ours.high, ours.p] == expected


@pytest.mark.parametrize("runs", [1, 2, 5, 9, 130])
def test_of_many_quantities_at_once_it_has_the_same_bits(runs: int) -> None:
    values = np.random.default_rng(runs).normal(size=(50, runs))
    values[0], values[1], values[2, 0] = 0.3, 1 + 1e-12 * values[1], np.nan

    made = jackknife_of_each(np.asfortranarray(values))

    assert [repr((e, e.df)) for e in made] == [repr((e, e.df)) for e in (jackknife([row]) for row in values)]


def test_over_pairs_it_equals_leaving_each_run_out_in_a_loop() -> None:
    matrix = random_matrix(np.random.default_rng(1), 7)
    value, without = leave_one_out(matrix)
    pairs = [(i, j) for i in range(7) for j in range(i)]
    assert value == pytest.approx(np.mean([matrix[i, j] for i, j in pairs]))
    for r in range(7):
        assert without[r] == pytest.approx(np.mean([matrix[i, j] for i, j in pairs if r not in (i, j)]))
    error = np.sqrt(6 / 7 * sum((without - without.mean()) ** 2))
    assert half(jackknife([matrix])) == pytest.approx(stats.t.ppf(0.975, 6) * error)


def test_over_splits_the_values_are_averaged_and_the_variance_divided() -> None:
    matrix = random_matrix(np.random.default_rng(2), 6)
    one, twice = jackknife([matrix]), jackknife([matrix, matrix])
    assert twice.value == pytest.approx(one.value)
    error = half(one) / stats.t.ppf(0.975, 5) / np.sqrt(2)
    assert half(twice) == pytest.approx(stats.t.ppf(0.975, 10) * error)


def test_splits_of_different_size_are_welchs_two_samples() -> None:
    # The sum of two means is the difference of one and minus the other.
    rng = np.random.default_rng(3)
    small, large = rng.normal(size=4), rng.normal(size=9)
    theirs = stats.ttest_ind(small, -large, equal_var=False)
    interval = theirs.confidence_interval(0.95)
    ours = jackknife([small, large])
    assert [ours.low, ours.high, ours.p] == pytest.approx([interval.low / 2, interval.high / 2, theirs.pvalue])


@pytest.mark.parametrize("estimate", [jackknife, pair_bootstrap])
def test_too_few_runs_give_a_value_without_an_interval(estimate) -> None:
    two = estimate([np.array([[0.0, 0.2], [0.2, 0.0]])])
    assert two.value == pytest.approx(0.2)
    assert np.isnan([two.low, two.high, two.p]).all()
    assert np.isnan(estimate([np.zeros((1, 1))]).value)
    one = estimate([np.array([0.7])])
    assert one.value == 0.7
    assert np.isnan([one.low, one.p]).all()


@pytest.mark.parametrize("r", [3, 10, 20])
@pytest.mark.parametrize("value", [0.0, -0.25, 0.123, 1 / 3, 1e-6, 4.56e7])
def test_runs_that_all_agree_but_for_rounding_give_a_value_without_an_interval(r, value) -> None:
    """Five retrainings of 50 examples with a churn of 1 % often show no flip at all, and say nothing of its spread.

    A sum of ten equal numbers less one of them, divided by nine, is not that number to the last bit.
    """
    rng = np.random.default_rng(r)
    matrix = np.triu(value * (1 + 3e-16 * rng.standard_normal((r, r))), 1)
    for constant in (np.full(r, value) * (1 + 3e-16 * rng.standard_normal(r)), matrix + matrix.T):
        for estimate in (jackknife([constant]), pair_bootstrap([constant]), jackknife([constant, constant])):
            assert estimate.value == pytest.approx(value)
            assert np.isnan([estimate.low, estimate.high, estimate.p]).all()
            assert not estimate.excludes_zero
        noise = difference(constant, np.where(constant == 0, 0, value))
        assert not noise.any()
    spread = standard_deviation(np.full(r, value))
    assert (spread.value, np.isnan(spread.low)) == (pytest.approx(0), True)


@pytest.mark.parametrize("made", [lambda rng: rng.random(10), lambda rng: random_matrix(rng, 7)])
def test_a_paired_difference_follows_from_the_influences_on_each_mean(made) -> None:
    rng = np.random.default_rng(6)
    splits = [[made(rng), made(rng)] for _ in range(2)]
    gaps = [difference(ours, theirs) for ours, theirs in splits]
    expected = jackknife(gaps)
    ours, theirs = (influence(of) for of in zip(*splits, strict=True))
    found = paired(ours, theirs)
    assert [found.value, found.low, found.high, found.p] == pytest.approx(
        [expected.value, expected.low, expected.high, expected.p]
    )


@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_a_constant_paired_difference_has_no_interval_whatever_its_rounding(gap) -> None:
    runs = np.random.default_rng(7).random(10)
    found = paired(influence([runs + gap]), influence([runs * (1 + 1e-15)]))
    assert found.value == pytest.approx(gap, abs=1e-12)
    assert np.isnan([found.low, found.high, found.p]).all()


def test_only_equal_runs_are_paired() -> None:
    with pytest.raises(ValueError, match="same runs"):
        difference(np.zeros((3, 3)), np.zeros((4, 4)))


def test_over_both_the_variances_are_added_with_welchs_degrees_of_freedom() -> None:
    # A mean over runs less a mean over examples is Welch's two-sample problem: scipy's t-test has the same error.
    rng = np.random.default_rng(6)
    runs, examples = rng.normal(0.8, 0.03, size=8), rng.normal(0.8, 0.2, size=60)
    runs += examples.mean() - runs.mean()
    ours = over_both([runs], [examples])
    theirs = stats.ttest_ind(runs, examples, equal_var=False).confidence_interval(0.95)
    assert half(ours) == pytest.approx((theirs.high - theirs.low) / 2)


@pytest.mark.parametrize("differ", [0, 1, 7, 8, 20])
def test_over_examples_an_interval_takes_eight_that_differ(differ: int) -> None:
    flips = np.zeros(100)
    flips[:differ] = np.linspace(0.1, 0.6, differ)
    for contributions in (flips, 1 - flips, flips + 0.1 - 0.1):  # the last with rounding
        by_run = contributions.mean() + np.array([-0.1, 0, 0.1])
        for estimate in (over_examples([contributions]), over_both([by_run], [contributions])):
            assert np.isnan([estimate.low, estimate.high, estimate.p]).all() == (differ < 8)
            assert estimate.value == pytest.approx(contributions.mean())
    halves = np.split(flips, 2)
    assert np.isnan(over_examples(halves).low) == (differ < 8), "splits are counted together"


def test_on_the_log_scale_an_interval_is_symmetric_in_ratios_and_positive() -> None:
    runs = np.array([0.1, 0.4, 0.7])  # Student's: mean 0.4, standard error 0.3/√3, t(0.975, 2) = 4.3027
    estimate = on_log_scale(jackknife([runs]))
    ratio = np.exp(4.302653 * 0.3 / np.sqrt(3) / 0.4)
    assert [estimate.value, estimate.low, estimate.high] == pytest.approx([0.4, 0.4 / ratio, 0.4 * ratio], rel=1e-6)
    assert np.isnan(estimate.p), "a positive quantity is not 0, whatever the data"
    nothing = on_log_scale(jackknife([np.zeros((5, 5))]))
    assert nothing.value == 0
    assert np.isnan([nothing.low, nothing.high]).all()
    only_one_differs = np.abs(np.subtract.outer(np.eye(5)[0], np.eye(5)[0]))  # without it, the mean is 0
    some = on_log_scale(jackknife([only_one_differs]))
    assert 0 < some.low < some.value == 0.4 < some.high < np.inf


def test_over_both_needs_one_quantity_and_enough_runs() -> None:
    with pytest.raises(ValueError, match="one quantity"):
        over_both([np.array([0.1, 0.2, 0.3])], [np.array([0.4, 0.5])])
    two_runs = over_both([np.array([[0.0, 0.5], [0.5, 0.0]])], [np.array([0.0, 1.0])])
    assert two_runs.value == 0.5
    assert np.isnan(two_runs.low)
    assert np.isnan(over_both([np.zeros(3)], [np.zeros(9)]).low)


def test_the_pair_bootstrap_agrees_with_scipys_percentile_bootstrap() -> None:
    matrix = random_matrix(np.random.default_rng(8), 10)
    ours = pair_bootstrap([matrix], resamples=50_000)
    pairs = matrix[np.triu_indices(10, 1)]
    theirs = stats.bootstrap(
        (pairs,), np.mean, n_resamples=50_000, method="percentile", rng=np.random.default_rng(9)
    ).confidence_interval
    # A 2.5 % quantile of 50,000 draws has a Monte-Carlo error of about 1 % of the half-width.
    assert [ours.low, ours.high] == pytest.approx([theirs.low, theirs.high], abs=0.05 * half(ours))


@pytest.mark.parametrize(
    "splits",
    [
        [random_matrix(np.random.default_rng(10), r) for r in (10, 10, 20)],
        [random_matrix(np.random.default_rng(13), 60)],  # 1,770 pairs × 10,000 resamples are more than one block
        [np.random.default_rng(11).normal(size=10)],
    ],
    ids=["splits", "blocks", "runs"],
)
def test_the_pair_bootstrap_has_the_spread_of_a_mean_of_independent_means(splits) -> None:
    estimate = pair_bootstrap(splits)
    units = [of if of.ndim == 1 else of[np.triu_indices(len(of), 1)] for of in splits]
    error = np.sqrt(sum(part.var() / len(part) for part in units)) / len(splits)
    assert estimate.value == pytest.approx(np.mean([part.mean() for part in units]))
    assert (estimate.high - estimate.low) / 2 == pytest.approx(1.96 * error, rel=0.05)


def test_the_pair_bootstrap_is_the_same_each_time_and_its_p_value_says_whether_zero_is_inside() -> None:
    rng = np.random.default_rng(12)
    for shift in (-0.1, 0.0, 0.05, 0.1, 0.3):
        matrix = [difference(random_matrix(rng, 6), random_matrix(rng, 6)) + shift]
        estimate = pair_bootstrap(matrix)
        assert estimate == pair_bootstrap(matrix)
        assert (estimate.p < 0.05) == estimate.excludes_zero
    assert pair_bootstrap([np.arange(1, 6)]).p == pytest.approx(2 / 10_001)


def test_holm_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, and never less than the one before (Holm 1979).
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, float("nan"), 0.03]) == pytest.approx([0.02, np.nan, 0.03], nan_ok=True)
    assert holm([0.6, 0.9]).tolist() == [1.0, 1.0]
    assert holm([]).size == 0
    assert np.isnan(holm([float("nan")])).all()


def test_a_standard_deviation_has_the_percentile_bootstrap_of_scipy() -> None:
    for seed, r in ((0, 20), (1, 6)):
        values = np.random.default_rng(seed).gamma(2, 1.5, size=r)
        ours = standard_deviation(values, resamples=40_000)
        theirs = stats.bootstrap(
            (values,), lambda x, axis: x.std(axis=axis, ddof=1), method="percentile", n_resamples=40_000, rng=seed
        ).confidence_interval
        assert ours.value == pytest.approx(values.std(ddof=1))
        assert [ours.low, ours.high] == pytest.approx([theirs.low, theirs.high], rel=0.03)
        assert ours == standard_deviation(values.copy(), resamples=40_000), "the same at any moment"
    assert np.isnan(standard_deviation(np.array([3.0])).value)


def test_a_mean_over_datasets_gives_one_without_an_interval_the_mean_variance_of_the_others() -> None:
    each = [jackknife([np.array(of)]) for of in ([1.0, 2.0, 4.0], [3.0, 3.5, 5.0], [1.0, 0.0, 2.5], [7.0, 7.0, 7.0])]
    found = weighted(each, np.full(4, 0.25))
    half = [one.high - one.value for one in each[:3]]
    assert found.high - found.value == pytest.approx(0.25 * np.sqrt(np.sum(np.square(half)) * 4 / 3))
    assert np.isnan(weighted(each[2:], np.full(2, 0.5)).low), "of two, one is too much"


@pytest.mark.slow
def test_that_interval_covers_where_few_retrainings_of_a_dataset_ever_differ() -> None:
    rng, covered, repetitions = np.random.default_rng(3), 0, 2000
    for _ in range(repetitions):
        runs = [rng.random(5) < 0.02, *rng.normal(0.3, 0.2, size=(4, 5))]  # of the first, often none differs
        found = weighted([jackknife([of]) for of in runs], np.full(5, 0.2))
        covered += found.low <= np.mean([0.02, 0.3, 0.3, 0.3, 0.3]) <= found.high
    assert covered >= stats.binom.ppf(0.001, repetitions, 0.95)
