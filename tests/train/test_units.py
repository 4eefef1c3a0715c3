"""Networks that learn a regression's targets standardised, whatever their unit."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmark.run.check import synthetic
from benchmark.train.ensemble import TargetScaler
from benchmark.types import Problem, Recipe
from tests.plain import predicted

RECIPE = Recipe(hidden=16, lr=1e-2, epochs=4)
METHODS = ["erm", "twin:lam=3", "twin_shared:lam=3", "swa", "mc_dropout", "bagging:k=2", "anchor:lam=3", "model_soup"]
METHODS += ["label_smoothing", "distilled_svm", "knn_averaging", "mixup", "co_teaching", "swa_gaussian"]


def problem_of(standardise: bool, scale: float = 1, shift: float = 0) -> Problem:
    problem = synthetic("regression", n=150)
    train = replace(problem.train, y=(problem.train.y * scale + shift).astype(np.float32))
    recipe = RECIPE.model_copy(update={"standardise": True}) if standardise else RECIPE
    return replace(problem, train=train, recipe=recipe)


def test_a_unit_is_the_mean_and_the_deviation_and_constant_targets_are_divided_by_one():
    y = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    assert TargetScaler.of(y) == (3.0, pytest.approx(np.std([1, 2, 3, 6])))
    assert TargetScaler.of(torch.full((3,), 5.0)) == (5.0, 1.0)
    np.testing.assert_allclose(TargetScaler.of(y).standardised(y).std(correction=0), 1)


@pytest.mark.parametrize("method", METHODS)
def test_predictions_follow_the_unit_of_the_targets(method):
    usual, moved = (predicted(problem_of(True, *unit), method) for unit in ((1, 0), (100, 5000)))
    np.testing.assert_allclose((moved - 5000) / 100, usual, atol=2e-2 * usual.std())


def test_a_network_learns_what_it_would_of_targets_standardised_by_hand():
    problem = problem_of(True, 30, 700)
    y = problem.train.y.astype(np.float64)
    train = replace(problem.train, y=((y - y.mean()) / y.std()).astype(np.float32))
    by_hand = replace(problem, recipe=RECIPE, train=train)
    expected = predicted(by_hand, "erm_whole") * y.std() + y.mean()
    np.testing.assert_allclose(predicted(problem, "erm_whole"), expected, rtol=1e-4)


def test_classes_have_no_unit():
    problem = replace(synthetic("classification", n=120), recipe=RECIPE)
    standardise = replace(problem, recipe=RECIPE.model_copy(update={"standardise": True}))
    np.testing.assert_array_equal(predicted(problem, "erm"), predicted(standardise, "erm"))


def test_a_recipe_without_it_has_the_fingerprint_that_it_had_before():
    before = '{"hidden":256,"lr":0.001,"weight_decay":0.0001,"batch_size":64,"epochs":30}'
    assert Recipe().model_dump_json(exclude_none=True) == before
    assert problem_of(True).fingerprint != problem_of(False).fingerprint
