"""The jackknife against Student's t, a plain loop, and a simulation whose truth is known."""

import numpy as np
import pytest
from scipy import stats

from leaderboard.stats.intervals import difference, jackknife, leave_one_out


def random_matrix(rng: np.random.Generator, r: int) -> np.ndarray:
    upper = np.triu(rng.random((r, r)), 1)
    return upper + upper.T


def test_for_a_mean_over_runs_it_is_students_interval() -> None:
    runs = np.random.default_rng(0).normal(0.8, 0.02, size=10)
    ours = jackknife([runs])
    theirs = stats.ttest_1samp(runs, 0).confidence_interval(0.95)
    assert [ours.low, ours.high] == pytest.approx([theirs.low, theirs.high])


def test_over_pairs_it_equals_leaving_each_run_out_in_a_loop() -> None:
    matrix = random_matrix(np.random.default_rng(1), 7)
    value, without = leave_one_out(matrix)
    pairs = [(i, j) for i in range(7) for j in range(i)]
    assert value == pytest.approx(np.mean([matrix[i, j] for i, j in pairs]))
    for r in range(7):
        assert without[r] == pytest.approx(np.mean([matrix[i, j] for i, j in pairs if r not in (i, j)]))
    error = np.sqrt(6 / 7 * sum((without - without.mean()) ** 2))
    estimate = jackknife([matrix])
    assert estimate.high - estimate.value == pytest.approx(stats.t.ppf(0.975, 6) * error)


def test_over_splits_the_values_are_averaged_and_the_variance_divided() -> None:
    rng = np.random.default_rng(2)
    one, two = random_matrix(rng, 6), random_matrix(rng, 6)
    a, b, both = jackknife([one]), jackknife([two]), jackknife([one, two])
    assert both.value == pytest.approx((a.value + b.value) / 2)
    half = np.sqrt(((a.high - a.value) ** 2 + (b.high - b.value) ** 2) / 2 / 2)
    assert both.high - both.value == pytest.approx(half)


def test_too_few_runs_give_a_value_without_an_interval() -> None:
    two = jackknife([np.array([[0.0, 0.2], [0.2, 0.0]])])
    assert two.value == pytest.approx(0.2)
    assert np.isnan([two.low, two.high]).all()
    assert np.isnan(jackknife([np.zeros((1, 1))]).value)
    assert np.isnan(jackknife([np.array([0.7])]).low)


def test_only_equal_runs_are_paired() -> None:
    with pytest.raises(ValueError, match="same runs"):
        difference(np.zeros((3, 3)), np.zeros((4, 4)))


def simulated_churn(rng: np.random.Generator, r: int, logits: np.ndarray) -> np.ndarray:
    """Runs whose latent logits are a fixed part, a shift of the whole run, and noise: pairs share their runs."""
    labels = logits + rng.normal(size=(r, 1)) * 0.5 + rng.normal(size=(r, len(logits))) > 0
    return (labels[:, None] != labels[None]).mean(axis=2)


@pytest.mark.parametrize("r", [5, 10, 20])
def test_the_interval_covers_a_known_churn_about_95_percent_of_the_time(r: int) -> None:
    rng = np.random.default_rng(r)
    logits = rng.normal(size=240) * 1.5
    truth = simulated_churn(rng, 1500, logits)[np.triu_indices(1500, 1)].mean()
    estimates = [jackknife([simulated_churn(rng, r, logits)]) for _ in range(500)]
    covered = np.mean([e.low <= truth <= e.high for e in estimates])
    assert 0.92 <= covered <= 0.99  # ± 2 standard errors of the simulation around 95 %, and a little caution


def test_two_equal_methods_rarely_differ_significantly() -> None:
    rng = np.random.default_rng(7)
    logits = rng.normal(size=240) * 1.5
    differences = [
        jackknife([difference(simulated_churn(rng, 10, logits), simulated_churn(rng, 10, logits))]) for _ in range(400)
    ]
    assert np.mean([d.excludes_zero for d in differences]) <= 0.07
