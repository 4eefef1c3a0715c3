"""Campaigns: what is acquired, from what, and by which seed, against the algorithm written out again."""

from dataclasses import replace

import numpy as np
import pytest

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.studies.bo_loop import campaigns, trajectory
from benchmark.types import Problem
from tests.plain import problem_of

INITIAL = np.array([3, 10, 11, 40, 41, 42, 60, 77])


@pytest.fixture(scope="module")
def problem() -> Problem:
    return problem_of("regression")


@pytest.mark.parametrize("k", [1, 2])
def test_each_step_acquires_the_highest_prediction_of_a_model_trained_anew_on_what_is_known(problem, retrained, k):
    known = INITIAL.tolist()
    pool = problem.train
    for t in range(1, 6):
        rest = [i for i in range(len(pool)) if i not in known]
        fitted = retrained(replace(problem, train=pool.take(known)), "erm", [k * 10**6 + t])
        known.append(rest[int(np.argmax(fitted.predict(pool.inputs[rest])[0, :, 0]))])
    y = np.full(len(pool), 1e6, np.float32)  # the labels of what is not acquired are never seen
    y[known] = pool.y[known]
    for of in (problem, replace(problem, train=replace(pool, y=y))):
        assert trajectory(of, make_method("erm", "regression"), k, INITIAL, 5) == known[len(INITIAL) :]


def test_a_method_without_networks_is_taken_at_its_one_prediction(problem: Problem, retrained) -> None:
    forest = make_method("random_forest:trees=5", "regression")
    known = replace(problem, train=problem.train.take(INITIAL))
    rest = np.setdiff1d(np.arange(len(problem.train)), INITIAL)
    best = retrained(known, forest, [1_000_001]).predict(problem.train.inputs[rest])[0, :, 0].argmax()
    assert trajectory(problem, forest, 1, INITIAL, 1) == [rest[best]]


def test_another_backbone_has_no_recipe_for_campaigns() -> None:
    with pytest.raises(UserError, match="campaigns use the recipe of mlp: leave the other backbone out"):
        campaigns(None, load_problem("b3db_logbb@backbone=gin"), make_method("erm", "regression"), 2, 8, 2)
