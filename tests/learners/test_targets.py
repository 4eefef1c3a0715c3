"""Learners that offer it learn soft labels in place of those of the sample."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmark.learners._estimator import FittedEstimator
from benchmark.learners.gaussian_process import GaussianProcess
from benchmark.learners.gin import GIN
from benchmark.learners.knn import KNN
from benchmark.learners.linear import Linear
from benchmark.learners.mlp import MLP
from benchmark.learners.random_forest import RandomForest
from benchmark.pipeline import Learner
from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.train import sample_for
from benchmark.types import PAPER, TASKS, Examples, Sample, Task

FORESTS = ["random_forest:trees=20", "extra_trees:trees=20"]
BASELINES = ["knn", "gaussian_process", "svm", "multi_kernel", "kernel_ridge", *FORESTS, "linear"]
BASELINES += ["gradient_boosting:trees=20"]
TREES = {
    "classification": "sklearn:sklearn.tree.DecisionTreeClassifier",
    "regression": "sklearn:sklearn.tree.DecisionTreeRegressor",
}


def sample_and_test(task: Task, n: int = 100) -> tuple[Sample, Examples]:
    problem = synthetic(task, n=n)
    return sample_for(problem, PAPER, 1)[0], problem.evals["id"]


def named(text: str, task: Task) -> Learner:
    networks = {"mlp": MLP(hidden=16, epochs=3, lr=1e-2), "gin": GIN(hidden=16, epochs=3, lr=1e-2)}
    return networks.get(text) or make_method(TREES.get(text, text), task).learner


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("text", [*BASELINES, "a tree of scikit-learn", "mlp", "gin"])
def test_targets_that_are_labels_make_the_model_of_these_labels(text, task):
    sample, test = sample_and_test(task)
    learner = named(text.replace("a tree of scikit-learn", task), task)
    assert "targets" in learner.offers
    others = replace(sample, y=np.roll(sample.y, 7))
    usual, hard = (learner.fit(of).predict(test.inputs) for of in (sample, others))
    assert np.abs(usual - hard).max() > 1e-3
    for labels, expected in ((sample.labels, usual), (others.labels, hard)):
        found = learner.fit(sample.towards(labels)).predict(test.inputs)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        assert learner.fit(sample.towards(labels)).rows.shape == learner.fit(sample).rows.shape


@pytest.mark.parametrize("text", BASELINES)
def test_a_class_that_no_target_has_has_probability_zero_and_the_others_are_as_without_it(text):
    sample, test = sample_and_test("classification")
    learner = named(text, "classification")
    wider = replace(sample, n_outputs=3)
    found = learner.fit(wider.towards(wider.labels)).predict(test.inputs)
    assert (found[:, 2] == 0).all()
    np.testing.assert_allclose(found[:, :2], learner.fit(sample).predict(test.inputs), rtol=1e-5, atol=1e-5)


def fitted(learner: Learner, sample: Sample) -> Any:
    model = learner.fit(sample)
    assert isinstance(model, FittedEstimator)
    return model.estimator


def test_a_probability_is_the_weight_of_a_row_with_that_class():
    sample, test = sample_and_test("classification")
    share = np.where(np.arange(len(sample)) % 2, 1 / 3, 2 / 3)
    targets = share[:, None] * sample.labels + (1 - share[:, None]) * (1 - sample.labels)
    rows = np.repeat(sample.rows, 3)
    flipped = np.concatenate([[False, share[row] < 0.5, True] for row in sample.rows])
    y = np.where(flipped, 1 - sample.y[rows], sample.y[rows])
    thrice = replace(sample, x=sample.x[rows], y=y, smiles=sample.smiles[rows], rows=np.arange(len(rows)))
    soft = Linear(l2=1.0).fit(sample.towards(targets)).predict(test.inputs)
    np.testing.assert_allclose(soft, Linear(l2=3.0).fit(thrice).predict(test.inputs), atol=1e-3)
    assert np.abs(soft - Linear(l2=1.0).fit(sample).predict(test.inputs)).max() > 0.1


def test_a_forest_draws_as_many_rows_for_a_tree_of_soft_labels_as_of_labels():
    sample, _ = sample_and_test("classification")
    soft = fitted(RandomForest(trees=2), sample.towards(np.full((len(sample), 2), 0.5)))
    assert [len(drawn) for drawn in soft.estimators_samples_] == [len(sample.rows)] * 2


def test_nearest_neighbours_vote_with_their_probabilities():
    sample, test = sample_and_test("classification")
    p = np.random.default_rng(0).random(len(sample)).astype(np.float32)
    found = KNN(k=3).fit(sample.towards(np.stack([1 - p, p], axis=1))).predict(test.inputs)
    numbers = replace(sample, task="regression", n_outputs=1, y=p)
    np.testing.assert_allclose(found[:, 1:], KNN(k=3).fit(numbers).predict(test.inputs), atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)


def test_a_gaussian_process_regresses_probabilities_as_it_does_labels_of_plus_and_minus_one():
    sample, test = sample_and_test("classification")
    p = np.random.default_rng(0).random(len(sample)).astype(np.float32)
    soft = fitted(GaussianProcess(), sample.towards(np.stack([1 - p, p], axis=1)))
    numbers = fitted(GaussianProcess(), replace(sample, task="regression", n_outputs=1, y=2 * p - 1))
    x = test.x.astype(np.float64)
    np.testing.assert_allclose(soft.predict(x)[:, 1:], numbers.predict(x), atol=1e-5)
    np.testing.assert_allclose(soft.predict(x).sum(axis=1), 0, atol=1e-5)
