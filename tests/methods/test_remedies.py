"""Remedies of the literature, against a plain training loop and predictions combined by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors
from torch import Tensor, nn

from benchmark.registry import make_method
from benchmark.run.runner import retrain
from benchmark.train import bootstrap, fit_stack, generator
from benchmark.types import Problem, Task
from methods._soft import of_neighbours
from tests.methods.test_coupled import SEEDS, TASKS, expected, plain, predicted, problem_of, sample_of


def moved(task: Task, outputs: Tensor, y: np.ndarray, targets: np.ndarray, share: float) -> Tensor:
    """What a loss changes if a share of it is on soft targets instead of labels."""
    if task == "regression":
        hard, soft = ((outputs[:, 0] - torch.tensor(t, dtype=torch.float32)).pow(2).mean() for t in (y, targets[:, 0]))
    else:
        hard = nn.functional.cross_entropy(outputs, torch.tensor(y))
        soft = nn.functional.cross_entropy(outputs, torch.tensor(targets, dtype=torch.float32))
    return share * (soft - hard)


def by_loop(problem: Problem, targets_of, share: float) -> list[np.ndarray]:
    """Predictions of one network per train seed that learns soft targets, by the plain loop."""
    found = []
    for seed in SEEDS:
        sample = sample_of(problem, seed)
        targets = targets_of(sample)

        def pull(outputs: list[list[Tensor]], batches: list[np.ndarray], targets: np.ndarray = targets) -> Tensor:
            (rows,) = batches
            return moved(problem.task, outputs[0][0], problem.train.y[rows], targets[rows], share)

        found.append(expected(problem, plain(problem, seed, bootstrap(sample), pull)))
    return found


def one_hot(sample) -> np.ndarray:
    return sample.y[:, None] if sample.task == "regression" else np.eye(sample.n_outputs)[sample.y]


@pytest.mark.parametrize("task", TASKS)
def test_label_smoothing_spreads_a_share_of_each_label(task):
    problem = problem_of(task)

    def even(sample) -> np.ndarray:
        known = one_hot(sample)
        return np.full_like(known, sample.y[sample.rows].mean() if task == "regression" else 1 / sample.n_outputs)

    wanted = by_loop(problem, even, 0.3)
    np.testing.assert_allclose(predicted(problem, "label_smoothing:alpha=0.3"), wanted, atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_a_share_of_each_label_is_that_of_the_nearest_molecules_other_than_itself(task):
    problem = problem_of(task)

    def near(sample) -> np.ndarray:
        x = sample.x.astype(bool)
        search = NearestNeighbors(n_neighbors=len(x), metric="jaccard", algorithm="brute").fit(x)
        distance, order = search.kneighbors(x)
        means = []
        for i in range(len(x)):
            ranked = sorted((d, j) for d, j in zip(distance[i], order[i], strict=True) if j != i)
            means.append(one_hot(sample)[[j for _, j in ranked[:4]]].mean(axis=0))
        return np.array(means)

    sample = sample_of(problem, 1)
    np.testing.assert_allclose(of_neighbours(sample, sample.x, 4, others=True), near(sample))
    wanted = by_loop(problem, near, 0.5)
    np.testing.assert_allclose(predicted(problem, "knn_label_smoothing:alpha=0.5:k=4"), wanted, atol=1e-4)


@pytest.mark.parametrize("name", ["label_smoothing:alpha=0", "knn_label_smoothing:alpha=0"])
@pytest.mark.parametrize("task", TASKS)
def test_without_a_share_the_network_is_that_of_erm(task, name):
    problem = problem_of(task)
    np.testing.assert_allclose(predicted(problem, name), predicted(problem, "erm"), atol=1e-5)


@pytest.mark.parametrize(("name", "sign"), [("entropy_regularisation", 1), ("confidence_penalty", -1)])
def test_the_entropy_of_predictions_is_penalised_or_rewarded(name, sign):
    problem = problem_of("classification")
    values = predicted(problem, f"{name}:beta=0.4")
    for value, seed in zip(values, SEEDS, strict=True):

        def pull(outputs: list[list[Tensor]], _: list[np.ndarray]) -> Tensor:
            return sign * 0.4 * torch.distributions.Categorical(logits=outputs[0][0]).entropy().mean()

        networks = plain(problem, seed, bootstrap(sample_of(problem, seed)), pull)
        np.testing.assert_allclose(value, expected(problem, networks), atol=1e-4)


def test_generalised_cross_entropy_replaces_the_loss():
    problem = problem_of("classification")
    for value, seed in zip(predicted(problem, "generalised_cross_entropy:q=0.7"), SEEDS, strict=True):

        def pull(outputs: list[list[Tensor]], batches: list[np.ndarray]) -> Tensor:
            y = torch.tensor(problem.train.y[batches[0]])
            p = outputs[0][0].softmax(-1)[torch.arange(len(y)), y]
            return ((1 - p**0.7) / 0.7).mean() - nn.functional.cross_entropy(outputs[0][0], y)

        networks = plain(problem, seed, bootstrap(sample_of(problem, seed)), pull)
        np.testing.assert_allclose(value, expected(problem, networks), atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_mixup_learns_weighted_means_of_two_rows_and_their_labels(task):
    problem = problem_of(task)
    for value, seed in zip(predicted(problem, "mixup:alpha=0.5"), SEEDS, strict=True):
        sample, draws = sample_of(problem, seed), generator("other", seed)
        partners = draws.permutation(sample.rows)
        share = draws.beta(0.5, 0.5, size=(len(sample.rows), 1))
        x = share * sample.x[sample.rows] + (1 - share) * sample.x[partners]
        targets = share * one_hot(sample)[sample.rows] + (1 - share) * one_hot(sample)[partners]
        train = replace(problem.train, x=x.astype(np.float32), y=sample.y[sample.rows])
        of_pairs = replace(problem, train=train)
        rows = np.arange(len(x))[None]

        def pull(outputs: list[list[Tensor]], batches: list[np.ndarray], train=train, targets=targets) -> Tensor:
            return moved(task, outputs[0][0], train.y[batches[0]], targets[batches[0]], 1)

        np.testing.assert_allclose(value, expected(problem, plain(of_pairs, seed, rows, pull)), atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_a_distilled_network_learns_the_predictions_of_its_teacher(task):
    problem = problem_of(task)
    bagging, svm = (make_method(name, task) for name in ("bagging:k=3", "svm"))
    for name, teacher in (("distilled_bagging:k=3", bagging), ("distilled_svm", svm)):
        wanted = by_loop(problem, lambda sample, teacher=teacher: teacher.fit(sample).predict(sample.x), 1)
        np.testing.assert_allclose(predicted(problem, name), wanted, atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["twin_shared", "codistillation"])
def test_the_first_of_two_networks_that_were_trained_together_is_deployed(task, name):
    problem = problem_of(task)
    for value, seed in zip(predicted(problem, f"{name}_one:lam=7"), SEEDS, strict=True):
        both = make_method(f"{name}:lam=7", task).fit(sample_of(problem, seed)).each(problem.evals["id"].x)
        np.testing.assert_array_equal(value, both[0])
        assert abs(both[0] - both[1]).max() > 1e-3


def test_a_majority_decides_and_the_shares_of_votes_are_its_probabilities():
    problem = problem_of("classification")
    for value, seed in zip(predicted(problem, "majority_vote:k=3"), SEEDS, strict=True):
        sample = sample_of(problem, seed)
        each = fit_stack(sample, np.tile(sample.rows, (3, 1))).each(problem.evals["id"].x).argmax(axis=2)
        np.testing.assert_allclose(value[:, 1], each.mean(axis=0), atol=1e-6)
        assert set(np.round(3 * value[:, 1])) <= {0, 1, 2, 3}


@pytest.mark.parametrize("task", TASKS)
def test_a_network_is_averaged_with_its_neighbours_and_with_other_kinds_of_models(task):
    problem = problem_of(task)
    x = problem.evals["id"].x
    erm = predicted(problem, "erm")
    near = [of_neighbours(sample_of(problem, seed), x, 4) for seed in SEEDS]
    found = predicted(problem, "knn_averaging:weight=0.25:k=4")
    np.testing.assert_allclose(found, 0.75 * erm + 0.25 * np.array(near), atol=1e-5)
    three = [predicted(problem, name) for name in ("erm", "svm", "random_forest:trees=20")]
    np.testing.assert_allclose(predicted(problem, "blend:trees=20"), np.mean(three, axis=0), atol=1e-5)


@pytest.mark.parametrize("standardise", [None, True])
@pytest.mark.parametrize("task", TASKS)
def test_a_soup_has_the_mean_weights_of_networks_with_one_initialisation(task, standardise):
    problem = problem_of(task)
    problem = replace(problem, recipe=problem.recipe.model_copy(update={"standardise": standardise}))
    mean, deviation = 0.0, 1.0
    of_loop = problem
    if standardise and task == "regression":
        mean, deviation = float(problem.train.y.mean()), float(problem.train.y.std())
        train = replace(problem.train, y=((problem.train.y - mean) / deviation).astype(np.float32))
        of_loop = replace(problem, train=train)
    for value, seed in zip(predicted(problem, "model_soup:k=3"), SEEDS, strict=True):
        each = [plain(of_loop, seed, rows[None])[0] for rows in bootstrap(sample_of(problem, seed), 3)]
        soup = [torch.stack([network[i] for network in each]).mean(0) for i in range(len(each[0]))]
        np.testing.assert_allclose(value, expected(problem, [soup]) * deviation + mean, atol=2e-4)


@pytest.mark.parametrize("name", ["label_smoothing", "distilled_svm", "model_soup", "knn_averaging", "mixup"])
def test_standardised_targets_change_the_unit_of_predictions_alone(name):
    problem = problem_of("regression")
    problem = replace(problem, recipe=problem.recipe.model_copy(update={"standardise": True}))
    method = make_method(name, "regression")
    usual, hundredfold = (
        retrain(method, replace(problem, train=replace(problem.train, y=y)), SEEDS)["id"].values
        for y in (problem.train.y, 100 * problem.train.y + 5000)
    )
    np.testing.assert_allclose((hundredfold - 5000) / 100, usual, atol=0.02 * usual.std())
