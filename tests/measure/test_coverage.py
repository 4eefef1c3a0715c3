"""How often intervals hold a truth that is known.

Retrainings are simulated: a run gives each of 240 test examples a logit, made of a fixed part, a shift of the whole
run and noise, and says class 1 where it is positive. The fixed parts are the same for all runs, as a test set is.
"""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm, rankdata

from benchmark.files import CHECKOUT
from benchmark.measure.catalogue import ACCURACY, drift
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import (
    Estimate,
    difference,
    influence,
    jackknife,
    on_log_scale,
    over_both,
    pair_bootstrap,
)
from benchmark.types import Predictions
from leaderboard.stats.ranks import rank_intervals

EXAMPLES = 240
TRIALS = 2000
"""The standard error of a share of 95 % is then 0.5 points."""
FIXED = np.random.default_rng(123).normal(size=EXAMPLES)
MODERATE = 1.5 * FIXED
"""A churn of 29 %."""
LOW = 25 * FIXED
"""A churn of 1.3 %: few examples ever flip."""
SHIFT = 0.5


def labels(rng: np.random.Generator, trials: int, r: int, logits: np.ndarray, noise=1.0, shift=None) -> np.ndarray:
    """Predicted classes (trials, r, examples), 0 or 1; ``shift`` (trials, r, 1) is that of each run, if given."""
    shift = rng.normal(scale=SHIFT, size=(trials, r, 1)) if shift is None else shift
    each = noise * rng.standard_normal((trials, r, logits.shape[-1]), dtype=np.float32)
    return (np.expand_dims(logits, -2) + shift + each > 0).astype(np.float32)


def churn(classes: np.ndarray) -> np.ndarray:
    """The matrices (trials, r, r) of pairwise churn."""
    ones = classes.sum(axis=-1)
    both = classes @ classes.transpose(0, 2, 1)
    matrices = (ones[:, :, None] + ones[:, None] - 2 * both) / classes.shape[-1]
    matrices[:, np.arange(ones.shape[1]), np.arange(ones.shape[1])] = 0
    return matrices.astype(float)


def true_churn(logits: np.ndarray, noise=1.0, shift=SHIFT) -> float:
    """Two independent runs differ on an example with probability 2p(1−p)."""
    p = norm.cdf(logits / np.hypot(noise, shift))
    return float(np.mean(2 * p * (1 - p)))


def covered(estimates: list[Estimate], truth: float) -> float:
    return float(np.mean([e.low <= truth <= e.high for e in estimates]))


def as_the_page_says(found: float, pattern: str) -> bool:
    """Tell whether docs/statistics.md has ``found`` in whole per cent where the first group of ``pattern`` matches."""
    text = " ".join((CHECKOUT / "docs" / "statistics.md").read_text(encoding="utf-8").split())
    (said,) = re.findall(pattern, text)
    return 100 * found == pytest.approx(int(said), abs=0.6)


def test_the_simulation_has_the_churn_that_the_formula_gives() -> None:
    matrices = churn(labels(np.random.default_rng(0), 400, 20, MODERATE))
    means = matrices[:, *np.triu_indices(20, 1)].mean(axis=1)
    assert means.mean() == pytest.approx(true_churn(MODERATE), abs=4 * means.std() / 20)


@pytest.mark.parametrize("logits", [MODERATE, LOW], ids=["moderate", "low"])
@pytest.mark.parametrize("r", [5, 10, 20])
def test_the_default_interval_covers_95_percent(r: int, logits: np.ndarray) -> None:
    matrices = churn(labels(np.random.default_rng(r), TRIALS, r, logits))
    found = covered([jackknife([m]) for m in matrices], true_churn(logits))
    assert 0.92 <= found <= 0.98
    low = {5: r"(\d+), \d+ and \d+", 10: r"\d+, (\d+) and \d+", 20: r"\d+, \d+ and (\d+)"}[r]
    said = rf"\| {r} \| (\d+) %" if logits is MODERATE else f"leaving one out covers {low} %"
    assert as_the_page_says(found, said)


def test_where_whole_runs_shift_together_at_low_churn_it_covers_less() -> None:
    """A limit of the method, and of what we may claim: the distribution of churn is skewed, Student's is not."""
    rng = np.random.default_rng(5)
    logits = 30 * FIXED
    matrices = churn(labels(rng, TRIALS, 5, logits, shift=rng.normal(scale=2, size=(TRIALS, 5, 1))))
    found = covered([jackknife([m]) for m in matrices], true_churn(logits, shift=2))
    assert 0.84 <= found <= 0.92
    assert as_the_page_says(found, r"five retrainings cover only (\d+) %")


@pytest.mark.parametrize(("r", "most"), [(5, 0.80), (10, 0.75), (20, 0.65)])
def test_the_papers_interval_covers_far_less(r: int, most: float) -> None:
    matrices = churn(labels(np.random.default_rng(r), 400, r, MODERATE))
    estimates = [pair_bootstrap([m], resamples=1000) for m in matrices]
    found = covered(estimates, true_churn(MODERATE))
    assert found <= most
    assert as_the_page_says(found, rf"\| {r} \| \d+ % \| (\d+) %")


def equal_methods(estimate: Callable[[np.ndarray], Estimate], trials: int, r: int, logits: np.ndarray) -> float:
    """How often two methods with the same churn, whose runs saw the same bootstraps, differ significantly."""
    rng = np.random.default_rng(r)
    shift = rng.normal(scale=SHIFT, size=(trials, r, 1))
    ours, theirs = (churn(labels(rng, trials, r, logits, shift=shift)) for _ in range(2))
    return float(np.mean([estimate(difference(a, b)).excludes_zero for a, b in zip(ours, theirs, strict=True)]))


@pytest.mark.parametrize(("r", "logits"), [(5, MODERATE), (5, LOW), (10, MODERATE)])
def test_two_equal_methods_rarely_differ_significantly(r: int, logits: np.ndarray) -> None:
    found = equal_methods(lambda matrix: jackknife([matrix]), TRIALS, r, logits)
    assert found <= 0.07
    assert r != 10 or as_the_page_says(found, r"seem to differ in (\d+) %")


def test_two_equal_methods_often_differ_significantly_by_the_papers_interval() -> None:
    found = equal_methods(lambda matrix: pair_bootstrap([matrix], resamples=1000), 400, 10, MODERATE)
    assert found >= 0.2
    assert as_the_page_says(found, r"ten retrainings, and in (\d+) % with the paper's")


@pytest.mark.parametrize("scale", [1.5, 25])
@pytest.mark.parametrize("r", [5, 10])
def test_for_other_examples_and_other_runs_both_variances_are_needed(r: int, scale: float) -> None:
    rng = np.random.default_rng(r)
    logits = scale * rng.normal(size=(800, EXAMPLES))
    truth = true_churn(scale * rng.normal(size=1_000_000))
    classes = labels(rng, 800, r, logits)
    p = classes.mean(axis=1, dtype=float)
    by_run, by_example = churn(classes), 2 * p * (1 - p) * r / (r - 1)
    both = [over_both([a], [b]) for a, b in zip(by_run, by_example, strict=True)]
    given = [e for e in both if not np.isnan(e.low)]  # at low churn, fewer than eight examples may differ
    assert len(given) > 0.7 * len(both)
    assert covered(given, truth) >= 0.92
    assert covered([jackknife([a]) for a in by_run], truth) < covered(given, truth)


def right(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """The accuracies of runs on 200 test examples, each right in 85 % of the runs."""
    return rng.binomial(200, 0.85, size=shape) / 200


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(0.85, 0.03, size=shape)


SHARES = binom.pmf(np.arange(201), 200, 0.85)
TRUE_DRIFT = {
    normal: 2 * 0.03 / np.sqrt(np.pi),  # E|x − y| of two normal variables
    right: float(SHARES @ np.abs(np.subtract.outer(np.arange(201), np.arange(201))) @ SHARES) / 200,
}


@pytest.mark.parametrize("accuracies", [normal, right])
@pytest.mark.parametrize("sampling", ["paper", "halves"])
@pytest.mark.parametrize("r", [5, 10, 20])
def test_the_interval_of_a_drift_covers_95_percent_on_the_log_scale(r, sampling, accuracies) -> None:
    """Under ``paper``, as under ``nested``, all pairs of R runs; under ``halves`` those of a halving alone."""
    rng = np.random.default_rng(r)
    if sampling == "halves":
        drawn = np.abs(np.diff(accuracies(rng, (TRIALS, r, 2)), axis=2))[..., 0]
    else:
        runs = accuracies(rng, (TRIALS, r))
        drawn = np.abs(runs[:, :, None] - runs[:, None])
    plain = [jackknife([one]) for one in drawn]
    truth = TRUE_DRIFT[accuracies]
    log = covered([on_log_scale(e) for e in plain], truth)
    assert 0.935 <= log <= 0.975
    assert log > covered(plain, truth)


def test_the_shown_interval_of_a_drift_is_the_one_on_the_log_scale() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    said = np.where(rng.random((10, 200)) < 0.85, y, 1 - y)
    values = np.eye(2)[said]
    for sampling in ("paper", "nested", "halves"):
        p = Predictions(tuple(range(1, 11)), np.arange(200).astype(str), y, values, "classification", sampling)
        accuracy = (said == y).mean(axis=1)
        each = np.abs(accuracy[:, None] - accuracy[None])
        plain = jackknife([each[::2, 1::2].diagonal() if sampling == "halves" else each])
        shown = estimate(drift(ACCURACY), [(p, None)])
        assert shown.value == pytest.approx(plain.value)
        assert shown.low == pytest.approx(plain.value * np.exp(-(plain.high - plain.value) / plain.value))
        assert shown.high == pytest.approx(plain.value**2 / shown.low)
        assert estimate(drift(ACCURACY), [(p, None)], "paper").low > 0
        other = replace(p, values=values[:, :, ::-1])
        assert np.isnan(estimate(drift(ACCURACY), [(p, other)]).low), "|Δ| of accuracy a is that of 1 − a"


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [
        np.tile([1, 0.98, 0.96, 0.94], (6, 1)),
        np.exp(np.random.default_rng(9).normal(scale=0.05, size=(6, 4))) * [1, 1, 0.9, 0.5],
    ],
    ids=["near ties", "as in the paper"],
)
def test_rank_intervals_cover_the_mean_rank_that_the_protocol_gives(noise: np.ndarray) -> None:
    """Churn falls with a method's noise; the mean rank to be covered is that of 400 repetitions of the experiment."""
    rng = np.random.default_rng(6)
    n_datasets, n_methods = noise.shape
    trials, repetitions, r = 200, 400, 10
    matrices = np.empty((n_datasets, n_methods, repetitions, r, r))
    for d in range(n_datasets):
        logits = 1.5 * rng.normal(size=EXAMPLES)
        shift = rng.normal(scale=0.3, size=(repetitions, r, 1))
        for m in range(n_methods):
            matrices[d, m] = churn(labels(rng, repetitions, r, logits, noise[d, m], shift))
    ranks = rankdata(matrices.sum(axis=(3, 4)), axis=1).mean(axis=0)
    expected = ranks.mean(axis=1)
    cells = [[[influence([m]) for m in of_methods] for of_methods in matrices[:, :, trial]] for trial in range(trials)]
    found = [rank_intervals(of_trial, resamples=200) for of_trial in cells]
    for m in range(n_methods):
        assert covered([estimates[m] for estimates in found], expected[m]) >= 0.92
