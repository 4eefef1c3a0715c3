"""A remedy is refused a learner that cannot do what it needs, and makes a learner for other remedies."""

import re
from dataclasses import replace
from itertools import combinations
from typing import get_args

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.pipeline import REFUSED, Learner, Need, Remedied, describe
from benchmark.registry import discover, find, make_method, refuse_sampling
from benchmark.run import driver
from benchmark.run.check import synthetic
from benchmark.store.cell import Grid
from benchmark.train import Mean, bootstrap, sample_for
from benchmark.types import Problem, Recipe

NEIGHBOURS = "sklearn:sklearn.neighbors.KNeighborsClassifier"
MISMATCHES: dict[Need, tuple[str, str]] = {
    "networks": ("twin", "svm"),
    "modules": ("sharpness_aware", "random_forest"),
    "relu": ("smooth_relu", "chemberta"),
    "targets": ("label_smoothing", NEIGHBOURS),
    "numbers": ("mixup", "gin"),
    "randomness": ("deep_ensemble", "knn"),
}
"""For each need, a remedy that has it, and a learner that does not offer it."""


def answer(need: Need) -> str:
    """Return a pattern of the answer to a mismatch."""
    remedy, learner = MISMATCHES[need]
    return f"^{re.escape(f'{remedy} {REFUSED[need].format(learner)}')}$"


@pytest.mark.parametrize("need", MISMATCHES)
def test_a_learner_that_cannot_do_what_a_remedy_needs_is_refused_before_data_are_read(need, monkeypatch):
    remedy, learner = MISMATCHES[need]
    monkeypatch.setattr(driver, "load_problem", None)
    with pytest.raises(UserError, match=answer(need)):
        driver.plan_grid(Grid([remedy], ["b3db_measured"], [99], [1], learner=learner), {})


def test_each_need_has_an_answer_and_is_one_of_some_remedy():
    assert {*REFUSED} == {*get_args(Need)} == {*MISMATCHES}
    parts = discover()[0].values()
    assert {need for part in parts for need in getattr(part, "needs", ())} == {*REFUSED}


def test_a_remedy_within_another_is_refused_a_learner_that_it_cannot_use_and_rows_that_one_of_several_does_not_see():
    with pytest.raises(UserError, match=answer("networks")):
        make_method("bagging", "classification", None, "svm", learner="twin")
    anchored = make_method("bagging", "classification", learner="anchor")
    with pytest.raises(UserError, match=r"^anchor needs more of the training pool .* or use --sampling update$"):
        refuse_sampling(anchored, "paper")
    refuse_sampling(anchored, "update")
    with pytest.raises(UserError, match=r"^erm_whole needs more rows than one of several models sees"):
        make_method("bagging", "classification", learner="erm_whole")


@pytest.fixture
def problem() -> Problem:
    return replace(synthetic("classification", n=80), recipe=Recipe(hidden=16, lr=1e-2, epochs=4))


@pytest.mark.parametrize("sampling", ["paper", "halves"])
@pytest.mark.parametrize("inner", ["swa", "twin:lam=3", "deep_ensemble:k=2", "bagging:k=2", "knn_averaging"])
def test_members_of_a_remedy_within_another_differ_and_learn_from_their_own_rows(problem, inner, sampling):
    method = make_method("bagging:k=3", problem.task, learner=inner)
    assert isinstance(method.learner, Remedied)
    sample, _ = sample_for(problem, sampling, 1)
    model = method.fit(sample)
    assert isinstance(model, Mean)
    test = problem.evals["id"].inputs
    members = model.each(test)
    np.testing.assert_allclose(model.predict(test), members.mean(axis=0), atol=1e-6)
    for a, b in combinations(members, 2):
        assert np.abs(a - b).max() > 0.01
    for part, rows in zip(model.parts, bootstrap(sample, 3), strict=True):
        assert set(np.ravel(part.rows)) <= set(rows)


def test_members_on_the_same_rows_differ_by_their_randomness(problem):
    sample, _ = sample_for(problem, "halves", 1)
    model = make_method("deep_ensemble:k=3", problem.task, learner="twin_shared:lam=3").fit(sample)
    for a, b in combinations(model.each(problem.evals["id"].inputs), 2):
        assert np.abs(a - b).max() > 0.01


def test_a_remedy_within_bagging_of_one_is_the_remedy_on_that_bootstrap(problem):
    sample, _ = sample_for(problem, "paper", 1)
    test = problem.evals["id"].inputs
    inner, swa = make_method("bagging:k=1", problem.task, learner="swa"), make_method("swa", problem.task)
    np.testing.assert_array_equal(inner.fit(sample).predict(test), swa.fit(sample).predict(test))


def test_a_part_is_shown_without_hyperparameters_that_came_later_as_studies_name_their_records_by_it() -> None:
    svm = find("svm")[0]
    assert [repr(part) for part in (svm(), svm(width=0.5))] == ["SVM(C=1.0)", "SVM(C=1.0, width=0.5)"]


def test_a_module_within_a_package_that_is_missing_is_named_by_the_package():
    part = describe(
        type("Mine", (Learner,), {"fit": lambda self, sample: None, "requires": ("no_such.part",)}),
        "mine",
        title="Mine",
    )
    with pytest.raises(UserError, match=r"^mine needs no_such, which is not installed: pip install no_such$"):
        part().require()
