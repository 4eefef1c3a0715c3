"""The search for λ: its score by hand, and test sets that no part of it can see."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from benchmark.data.problem import load_problem
from benchmark.registry import make_method
from benchmark.studies import bayes_lambda
from benchmark.studies.bayes_lambda import tune
from benchmark.study.bayes import PARTNER, PENALTY, TOLERANCE, search
from benchmark.train import sample_for
from benchmark.types import PAPER, Examples, Problem

TINY = "b3db_measured@batch_size=16@epochs=2@hidden=16@lr=0.01@train=90"
FOLDS = 2


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(TINY)


class Here:
    """A trainer in this process."""

    code = "0123"

    def map(self, function, items):
        return [function(*item) for item in items]

    def note(self, line: str) -> None: ...


def by_hand(pool: Examples, problem: Problem, seed: int, lam: float) -> tuple[float, float]:
    """Churn between two twins and the accuracy of the first, as means over folds of the training pool."""
    churns, accuracies = [], []
    for train, held_out in StratifiedKFold(FOLDS, shuffle=True, random_state=99).split(pool.x, pool.y):
        rows = Examples(pool.x[train], pool.y[train], pool.ids[train], pool.smiles[train])
        part = replace(problem, train=rows, evals={})
        twin = make_method(f"twin:lam={lam!r}", "classification")
        twins = [twin.fit(sample_for(part, PAPER, s)[0]) for s in (seed, seed + PARTNER)]
        first, second = (fitted.predict(pool.inputs[held_out]).argmax(-1) for fitted in twins)
        churns.append(np.mean(first != second))
        accuracies.append(np.mean(first == pool.y[held_out]))
    return float(np.mean(churns)), float(np.mean(accuracies))


def test_the_score_is_minus_the_churn_and_a_hundredfold_the_accuracy_lost_beyond_the_tolerance(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path))
    trials = search(make_method("twin", "classification"), problem.without_tests(), 2, 7, FOLDS, "by hand")
    assert (TOLERANCE, PENALTY) == (0.02, 100)
    baseline = by_hand(problem.train, problem, 2, 0.0)
    assert trials[0] == (0.0, -baseline[0], *baseline)
    lost = []
    for trial in trials[1:]:
        churn, accuracy = by_hand(problem.train, problem, 2, trial.value)
        assert (trial.churn, trial.accuracy) == pytest.approx((churn, accuracy))
        lost.append(baseline[1] - 0.02 - accuracy)
        assert trial.score == pytest.approx(-churn - 100 * max(0.0, lost[-1]))
    assert min(lost) < 0 < max(lost), "both sides of the tolerance are tried"


def test_the_search_gives_the_same_whatever_the_test_sets_hold(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned = load_problem(TINY)
    for test in poisoned.evals.values():
        test.x[:] = np.nan
        test.y[:] = 1 - test.y
        test.smiles[:] = "C"
    found = []
    for name, given in (("clean", problem), ("poisoned", poisoned)):
        monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / name))  # no journal of the other
        monkeypatch.setattr(bayes_lambda, "load_problem", lambda dataset, split, given=given: given)
        found.append(tune(Here(), make_method("twin", "classification"), TINY, 99, "1,", 7, 2))
    assert found[0] == found[1]
    assert len(found[0]["trials"][0]) == 7
