"""The search for λ: what is tried, that a kill changes nothing, its score by hand, and test sets that it cannot see."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.studies.bayes_lambda import INITIAL, PARTNER, BayesLambda, Trial, optimise, search, tune
from benchmark.train import generator, sample_for
from benchmark.types import PAPER, Examples, Problem

TINY = "b3db_measured@batch_size=16@epochs=2@hidden=16@lr=0.01@train=90"
FOLDS = 2


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(TINY)


def by_hand(pool: Examples, problem: Problem, seed: int, lam: float) -> tuple[float, float]:
    """Churn between two twins and the accuracy of the first, as means over folds of the training pool."""
    churns, accuracies = [], []
    for train, held_out in StratifiedKFold(FOLDS, shuffle=True, random_state=99).split(pool.x, pool.y):
        part = replace(problem, train=pool.take(train), evals={})
        twin = make_method(f"twin:lam={lam!r}", "classification")
        twins = [twin.fit(sample_for(part, PAPER, s)[0]) for s in (seed, seed + PARTNER)]
        first, second = (fitted.predict(pool.inputs[held_out]).argmax(-1) for fitted in twins)
        churns.append(np.mean(first != second))
        accuracies.append(np.mean(first == pool.y[held_out]))
    return float(np.mean(churns)), float(np.mean(accuracies))


def test_the_score_is_minus_the_churn_and_a_hundredfold_the_accuracy_lost_beyond_the_tolerance(problem):
    trials = search(make_method("twin", "classification"), problem.without_tests(), 2, 7, FOLDS, "by hand")
    baseline = by_hand(problem.train, problem, 2, 0.0)
    assert trials[0] == (0.0, -baseline[0], *baseline)
    lost = []
    for trial in trials[1:]:
        churn, accuracy = by_hand(problem.train, problem, 2, trial.value)
        assert (trial.churn, trial.accuracy) == pytest.approx((churn, accuracy))
        lost.append(baseline[1] - 0.02 - accuracy)
        assert trial.score == pytest.approx(-churn - 100 * max(0.0, lost[-1]))
    assert min(lost) < 0 < max(lost), "both sides of the tolerance are tried"


def test_the_search_gives_the_same_whatever_the_test_sets_hold(problem, here, tmp_path, monkeypatch):
    poisoned = load_problem(TINY)
    for test in poisoned.evals.values():
        test.x[:] = np.nan
        test.y[:] = 1 - test.y
        test.smiles[:] = "C"
    found = []
    for name, given in (("clean", problem), ("poisoned", poisoned)):
        monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / name))  # no journal of the other
        found.append(tune(here, given, make_method("twin", "classification"), "1,", 7, 2))
    assert found[0] == found[1]
    assert len(found[0]["trials"][0]) == 7


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / "cache"))


def peak_at(exponent: float):
    """A score with its one peak at 10**exponent."""

    def score(value: float) -> tuple[float, float, float]:
        return -((np.log10(value) - exponent) ** 2), 0.25, value / 1e5

    return score


def refuse(value: float) -> tuple[float, float, float]:
    raise AssertionError(f"{value} is tried again")


def test_the_first_four_are_drawn_by_the_seed_alone_and_those_after_follow_the_scores() -> None:
    low, high = (np.log10([t.value for t in optimise(peak_at(x), 7, 3, f"peak {x}")]) for x in (-2.0, 3.0))
    assert low[:INITIAL] == pytest.approx(high[:INITIAL])
    assert low[:INITIAL] == pytest.approx(generator("other", 3).uniform(-3, 4, size=4))
    assert not np.allclose(low[INITIAL:], high[INITIAL:])


@pytest.mark.slow
def test_it_finds_a_peak_that_random_search_would_not() -> None:
    trials = optimise(peak_at(1.5), 15, 3, "peak")
    best = max(trials, key=lambda trial: trial.score)
    assert np.log10(best.value) == pytest.approx(1.5, abs=0.05)
    assert all(trial == Trial(trial.value, *peak_at(1.5)(trial.value)) for trial in trials)


def test_what_was_tried_is_not_tried_again_and_more_trials_go_on_from_there() -> None:
    first = optimise(peak_at(1), 6, 2, "one")
    assert optimise(refuse, 6, 2, "one") == first
    assert optimise(refuse, 3, 2, "one") == first[:3]
    more = optimise(peak_at(1), 8, 2, "one")
    assert more[:6] == first
    assert more == optimise(peak_at(1), 8, 2, "another")


@pytest.mark.slow
def test_a_search_that_is_killed_goes_on_with_the_trials_of_one_that_is_not() -> None:
    script = """
import os, signal
import numpy as np
import optuna
from benchmark.studies.bayes_lambda import optimise

sample = optuna.samplers.GPSampler.sample_relative
def killed(*arguments):
    sample(*arguments)  # a trial is under way, and its number is drawn
    os.kill(os.getpid(), signal.SIGKILL)
optuna.samplers.GPSampler.sample_relative = killed
optimise(lambda value: (-((np.log10(value) - 1.0) ** 2), 0.25, value / 1e5), 9, 5, "killed")
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == -signal.SIGKILL, result.stderr
    count = []

    def score(value: float) -> tuple[float, float, float]:
        count.append(value)
        return peak_at(1.0)(value)

    resumed = optimise(score, 9, 5, "killed")
    assert len(count) == 9 - INITIAL, "those before the sampler was asked are kept"
    assert resumed == optimise(peak_at(1.0), 9, 5, "not killed")


def test_several_splits_are_refused_before_anything_is_tuned(told) -> None:
    with pytest.raises(UserError, match="canonical_seed=99,7: λ is tuned on one split: name one, such as 99"):
        BayesLambda(canonical_seed="99,7").report(told(lambda dataset, method: (0, 0)))
