"""The power of the jackknife's test, against simulation."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chi2, nct, t

from benchmark.measure.intervals import jackknife
from leaderboard.stats.power import Components, components, needed, power, resolvable


def matrices(rng: np.random.Generator, of: Components, mean: float, r: int, trials: int) -> np.ndarray:
    """Symmetric matrices (trials, R, R) with these variances."""
    run = rng.normal(0, np.sqrt(of.run), (trials, r))
    pair = np.triu(rng.normal(0, np.sqrt(of.pair), (trials, r, r)), 1)
    found = mean + run[:, :, None] + run[:, None, :] + pair + pair.transpose(0, 2, 1)
    found[:, np.arange(r), np.arange(r)] = 0
    return found


@pytest.mark.parametrize("of", [Components(1.0, 0.5, 10), Components(0.2, 2.0, 10)])
@pytest.mark.parametrize("r", [4, 10, 25])
def test_the_variances_and_the_power_are_those_of_simulated_retrainings(of, r):
    rng = np.random.default_rng(r)
    delta = resolvable(of, r)
    drawn = matrices(rng, of, delta, r, 1500)
    found = [jackknife([one]) for one in drawn]
    assert np.mean([e.excludes_zero for e in found]) == pytest.approx(0.8, abs=0.045)
    assert np.var([e.value for e in found]) == pytest.approx(of.of_mean(r), rel=0.15)
    estimated = [components([one]) for one in drawn]
    assert np.mean([e.pair for e in estimated]) == pytest.approx(of.pair, rel=0.1)
    if r > 4:  # with four runs many a variance of runs is below 0 and cut off there
        assert np.mean([e.run for e in estimated]) == pytest.approx(of.run, rel=0.25)


def test_what_is_needed_is_the_least_number_with_the_power():
    of = Components(1.0, 1.0, 10)
    for delta in (0.3, 1.0, 2.5):
        r = needed(of, delta)
        assert power(of, delta, r) >= 0.8 > power(of, delta, r - 1)
    assert needed(of, 0.01) is None
    assert needed(of, 1e6) == 3
    assert resolvable(of, needed(of, 1.0)) <= 1.0
    same = components([np.zeros((5, 5))])
    assert (needed(same, 0.01), resolvable(same, 10)) == (3, 0), "methods that never differ need the fewest"


CALM, WILD = 1.0, 2.0
"""Standard deviations of the shifts of whole runs: at a churn of 2 to 4 %, a run far off dominates its pairs."""


def churn_differences(rng: np.random.Generator, trials: int, r: int, shifts: float) -> np.ndarray:
    """Differences in churn (trials, r, r) of two methods at equal bootstraps on one test set of 240 examples."""
    logits = 30 * np.random.default_rng(123).normal(size=240)
    shift = rng.normal(scale=shifts, size=(trials, r, 1))
    found = np.zeros((trials, r, r))
    for sign, size in ((1, 1.0), (-1, 0.75)):
        noise = rng.standard_normal((trials, r, 240), dtype=np.float32)
        said = (logits + size * (shift + noise) > 0).astype(np.float32)
        ones, both = said.sum(axis=2), said @ said.transpose(0, 2, 1)
        found += sign * (ones[:, :, None] + ones[:, None] - 2 * both) / 240
    return found


Bounds = Callable[[Components], tuple[Components, Components]]


def held(pilots: list[Components], bounds: Bounds, truth: float) -> float:
    """Return the share of pilots between whose bounds the true least difference that ten runs resolve lies."""
    ends = [[resolvable(end, 10) for end in bounds(pilot)] for pilot in pilots]
    return float(np.mean([low <= truth <= high for low, high in ends]))


def test_the_power_is_that_of_the_noncentral_t_where_only_runs_vary():
    of = Components(1.0, 0.0, 10)
    limit = nct.ppf(0.975, 9, 0)
    expected = nct.sf(limit, 9, 1 / np.sqrt(0.4)) + nct.cdf(-limit, 9, 1 / np.sqrt(0.4))
    # the jackknife's error is that of a mean over runs when pairs add nothing
    assert power(of, 1.0, 10) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("r", "shifts"), [(10, WILD), (20, CALM)])
def test_the_bounds_from_a_pilot_hold_the_truth_in_about_95_percent_of_cases(r, shifts):
    rng = np.random.default_rng(r)
    every = [components([one]) for one in churn_differences(rng, 30, 120, shifts)]
    run, pair = np.mean([(e.run, e.pair) for e in every], axis=0)
    truth = resolvable(Components(float(run), float(pair), 120), 10)
    pilots = [components([one]) for one in churn_differences(rng, 500, r, shifts)]
    assert 0.915 <= held(pilots, Components.range, truth) <= 0.995
    if (r, shifts) == (10, WILD):

        def plain(pilot: Components) -> tuple[Components, Components]:
            low, high = ((r - 1) / chi2.ppf(tail, r - 1) for tail in (0.975, 0.025))
            return pilot.times(low), pilot.times(high)

        assert held(pilots, plain, truth) < 0.87, "χ² with R − 1 degrees of freedom holds it too rarely"


def test_bounds_are_those_of_the_chi_square_distribution():
    # Printed tables: χ²(5) lies in 0.8312 to 12.8325 with a chance of 95 %, and χ²(9) in 2.7004 to 19.0228.
    low, high = Components(2.0, 1.0, 10).range()
    assert [low.run, high.run, high.pair] == pytest.approx([2 * 5 / 12.8325, 2 * 5 / 0.8312, 5 / 0.8312], rel=1e-4)
    low, high = components([np.arange(10.0)]).range()
    variance = np.var(np.arange(10), ddof=1) / 4
    assert [low.run, high.run] == pytest.approx([variance * 9 / 19.0228, variance * 9 / 2.7004], rel=1e-4)
    three = Components(1.0, 1.0, 30, 3).range()[0]
    assert three.run == pytest.approx(15 / chi2.ppf(0.975, 15)), "splits are independent pilots"


def test_the_variance_of_independent_halvings_is_that_of_their_mean_and_gives_the_power_of_a_t_test():
    rng = np.random.default_rng(3)
    drawn = rng.normal(0.02, 0.03, 12)
    of = components([drawn])
    assert (of.runs, of.splits) == (12, 1)
    assert of.of_mean(12) == of.of_jackknife(12) == pytest.approx(drawn.var(ddof=1) / 12)
    assert jackknife([drawn]).high - drawn.mean() == pytest.approx(t.ppf(0.975, 11) * np.sqrt(of.of_mean(12)))
    effect = 0.025 / drawn.std(ddof=1) * np.sqrt(12)
    limit = t.ppf(0.975, 11)
    assert power(of, 0.025, 12) == pytest.approx(nct.sf(limit, 11, effect) + nct.cdf(-limit, 11, effect), abs=1e-6)
