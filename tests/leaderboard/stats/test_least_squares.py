"""Lines and rank correlations agree with libraries."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS

from benchmark.data.checks.expected_churn import Model, predict
from leaderboard.stats.least_squares import fit, spearman


def test_a_line_and_the_interval_of_a_new_observation_are_those_of_statsmodels():
    rng = np.random.default_rng(0)
    x = rng.normal(size=12)
    terms, y = np.column_stack([np.ones(12), x]), 0.5 - 0.8 * x + 0.3 * rng.normal(size=12)
    line, theirs = fit(terms, y), OLS(y, terms).fit()
    assert line.coefficients == pytest.approx(theirs.params)
    assert line.covariance == pytest.approx(theirs.cov_params())
    assert (line.spread, line.df) == pytest.approx((theirs.mse_resid**0.5, 10))
    fitted = tuple(line.coefficients.tolist()), tuple(map(tuple, line.covariance.tolist())), line.spread, line.df
    ours = predict(Model("halves", "regression", "ERM", True, "knn", *fitted, 12), np.array([1.0, 0.7]))
    frame = theirs.get_prediction(np.array([[1.0, 0.7]])).summary_frame(alpha=0.05)
    wanted = np.exp([frame["mean"][0], frame["obs_ci_lower"][0], frame["obs_ci_upper"][0]])
    assert (ours.value, ours.low, ours.high) == pytest.approx(tuple(wanted))


def test_too_few_points_or_equal_ones_have_no_line():
    with pytest.raises(ValueError, match="more than 2 points that differ, got 2"):
        fit(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="that differ, got 3"):
        fit(np.ones((3, 2)), np.arange(3.0))


def test_a_rank_correlation_is_that_of_scipy_also_with_ties_and_its_interval_that_of_bonett_and_wright_by_hand():
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 6, 25).astype(float), rng.normal(size=25)
    assert spearman(x, y).value == pytest.approx(stats.spearmanr(x, y).statistic)
    x, y = np.arange(10.0), np.array([1.0, 0, 3, 2, 5, 4, 7, 6, 9, 8])
    rho = 1 - 6 * 10 / (10 * 99)
    half = 1.959964 * ((1 + rho**2 / 2) / 7) ** 0.5
    found = spearman(x, y)
    assert found.value == pytest.approx(rho)
    assert (found.low, found.high) == pytest.approx(tuple(np.tanh(np.arctanh(rho) + np.array([-half, half]))))


def test_few_points_and_equal_values_have_no_rank_correlation_and_a_perfect_one_no_interval():
    assert np.isnan(spearman(np.arange(4.0), np.arange(4.0)).value)
    assert np.isnan(spearman(np.ones(8), np.arange(8.0)).value)
    perfect = spearman(np.arange(8.0), np.arange(8.0) ** 3)
    assert perfect.value == pytest.approx(1)
    assert np.isnan(perfect.low)
