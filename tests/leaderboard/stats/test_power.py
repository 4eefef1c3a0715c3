"""The power of the jackknife's test, against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import nct, t

from leaderboard.stats.intervals import jackknife
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


def test_the_power_is_right_for_churn_of_simulated_models():
    """Latent logits on a fixed test set: two methods at equal bootstraps, the second with less noise of its own."""
    rng = np.random.default_rng(7)
    base = rng.normal(size=200)

    def differences(r: int) -> np.ndarray:
        shared = rng.normal(size=(r, 200)) + rng.normal(0, 0.4, (r, 1))
        matrix = np.zeros((r, r))
        for sign, size in ((1, 1.0), (-1, 0.75)):
            said = base + size * shared + 0.3 * rng.normal(size=(r, 200)) > 0
            half = said.astype(float)
            matrix += sign * (half @ (1 - half).T + (1 - half) @ half.T) / 200
        return matrix

    pilot = [components([differences(20)]) for _ in range(60)]
    of = Components(float(np.mean([p.run for p in pilot])), float(np.mean([p.pair for p in pilot])), 20)
    delta = float(np.mean([jackknife([differences(20)]).value for _ in range(60)]))
    for r in (4, 6, 10):
        excluded = np.mean([jackknife([differences(r)]).excludes_zero for _ in range(600)])
        assert excluded == pytest.approx(power(of, delta, r), abs=0.08)


def test_the_power_is_that_of_the_noncentral_t_where_only_runs_vary():
    of = Components(1.0, 0.0, 10)
    limit = nct.ppf(0.975, 9, 0)
    expected = nct.sf(limit, 9, 1 / np.sqrt(0.4)) + nct.cdf(-limit, 9, 1 / np.sqrt(0.4))
    # the jackknife's error is that of a mean over runs when pairs add nothing
    assert power(of, 1.0, 10) == pytest.approx(expected, abs=1e-6)


def test_what_is_needed_is_the_least_number_with_the_power():
    of = Components(1.0, 1.0, 10)
    for delta in (0.3, 1.0, 2.5):
        r = needed(of, delta)
        assert power(of, delta, r) >= 0.8 > power(of, delta, r - 1)
    assert needed(of, 0.01) is None
    assert needed(of, 1e6) == 3
    assert resolvable(of, needed(of, 1.0)) <= 1.0


def test_methods_that_never_differ_need_the_fewest_runs():
    same = components([np.zeros((5, 5))])
    assert needed(same, 0.01) == 3
    assert resolvable(same, 10) == 0


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
