"""Remedies of the literature, against a plain training loop and predictions combined by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors
from torch import Tensor, nn

from benchmark.learners.knn import of_neighbours
from benchmark.learners.mlp import MLP
from benchmark.registry import make_method
from benchmark.train import bootstrap, generator
from benchmark.train.networks import Perceptron
from benchmark.types import TASKS, Problem, Task
from tests.plain import SEEDS, by_loop, expected, fit_loss, perceptrons, predicted, problem_of, sample_of, trained


def moved(task: Task, outputs: Tensor, y: np.ndarray, targets: np.ndarray, share: float) -> Tensor:
    """What a loss changes if a share of it is on soft targets instead of labels."""
    soft = torch.tensor(targets[:, 0] if task == "regression" else targets, dtype=torch.float32)
    return share * (fit_loss(task, outputs, soft) - fit_loss(task, outputs, torch.tensor(y)))


def softened(problem: Problem, targets_of, share: float) -> list[np.ndarray]:
    """Predictions of one network per train seed that learns soft targets, by the plain loop."""
    found = []
    for seed in SEEDS:
        sample = sample_of(problem, seed)
        targets = targets_of(sample)

        def pull(outputs: list[list[Tensor]], batches: list[np.ndarray], targets: np.ndarray = targets) -> Tensor:
            (rows,) = batches
            return moved(problem.task, outputs[0][0], problem.train.y[rows], targets[rows], share)

        found.append(expected(problem, trained(problem, seed, bootstrap(sample), pull)))
    return found


def one_hot(sample) -> np.ndarray:
    return sample.y[:, None] if sample.task == "regression" else np.eye(sample.n_outputs)[sample.y]


@pytest.mark.parametrize("task", TASKS)
def test_label_smoothing_spreads_a_share_of_each_label(task):
    problem = problem_of(task)

    def even(sample) -> np.ndarray:
        known = one_hot(sample)
        return np.full_like(known, sample.y[sample.rows].mean() if task == "regression" else 1 / sample.n_outputs)

    wanted = softened(problem, even, 0.3)
    np.testing.assert_allclose(predicted(problem, "label_smoothing:alpha=0.3"), wanted, atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_a_share_of_each_label_is_that_of_the_nearest_molecules_other_than_itself(task):
    problem = problem_of(task)

    def near(sample) -> np.ndarray:
        x = sample.x.astype(bool)
        search = NearestNeighbors(n_neighbors=len(x), metric="jaccard", algorithm="brute").fit(x)
        distance, order = search.kneighbors(x)
        means, seen = [], {*sample.rows}
        for i in range(len(x)):
            ranked = sorted((d, j) for d, j in zip(distance[i], order[i], strict=True) if j != i and j in seen)
            means.append(one_hot(sample)[[j for _, j in ranked[:4]]].mean(axis=0))
        return np.array(means)

    sample = sample_of(problem, 1)
    np.testing.assert_allclose(of_neighbours(sample, sample.x, 4, others=True), near(sample))
    wanted = softened(problem, near, 0.5)
    np.testing.assert_allclose(predicted(problem, "knn_label_smoothing:alpha=0.5:k=4"), wanted, atol=1e-4)


def entropy(outputs: Tensor, y: Tensor) -> Tensor:
    return torch.distributions.Categorical(logits=outputs).entropy().mean()


def power_of_the_label(outputs: Tensor, y: Tensor) -> Tensor:
    """What the generalised cross-entropy is above the usual one."""
    p = outputs.softmax(-1)[torch.arange(len(y)), y]
    return ((1 - p**0.7) / 0.7).mean() - nn.functional.cross_entropy(outputs, y)


@pytest.mark.parametrize(
    ("name", "term"),
    [
        ("entropy_regularisation:beta=0.4", lambda outputs, y: 0.4 * entropy(outputs, y)),
        ("confidence_penalty:beta=0.4", lambda outputs, y: -0.4 * entropy(outputs, y)),
        ("logit_penalty:beta=0.4", lambda outputs, y: 0.2 * (outputs**2).sum() / len(outputs)),
        ("generalised_cross_entropy:q=0.7", power_of_the_label),
    ],
)
def test_the_loss_has_a_further_term(name, term):
    problem = problem_of("classification")

    def pull(outputs: list[list[Tensor]], batches: list[np.ndarray]) -> Tensor:
        return term(outputs[0][0], torch.tensor(problem.train.y[batches[0]]))

    np.testing.assert_allclose(predicted(problem, name), by_loop(problem, pull=pull), atol=1e-4)


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

        np.testing.assert_allclose(value, expected(problem, trained(of_pairs, seed, rows, pull)), atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_a_distilled_network_learns_the_predictions_of_its_teacher(task):
    problem = problem_of(task)
    bagging, svm = (make_method(name, task) for name in ("bagging:k=3", "svm"))
    for name, teacher in (("distilled_bagging:k=3", bagging), ("distilled_svm", svm)):
        wanted = softened(problem, lambda sample, teacher=teacher: teacher.fit(sample).predict(sample.inputs), 1)
        np.testing.assert_allclose(predicted(problem, name), wanted, atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["twin_shared", "codistillation"])
def test_the_first_of_two_networks_that_were_trained_together_is_deployed(task, name):
    problem = problem_of(task)
    for value, seed in zip(predicted(problem, f"{name}_one:lam=7"), SEEDS, strict=True):
        both = make_method(f"{name}:lam=7", task).fit(sample_of(problem, seed)).each(problem.evals["id"].inputs)
        np.testing.assert_array_equal(value, both[0])
        assert abs(both[0] - both[1]).max() > 1e-3


def test_a_majority_decides_and_the_shares_of_votes_are_its_probabilities():
    problem = problem_of("classification")
    for value, seed in zip(predicted(problem, "majority_vote:k=3"), SEEDS, strict=True):
        sample = sample_of(problem, seed)
        each = MLP().train(sample, np.tile(sample.rows, (3, 1))).each(problem.evals["id"].inputs).argmax(axis=2)
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
        each = [trained(of_loop, seed, rows[None])[0].state_dict() for rows in bootstrap(sample_of(problem, seed), 3)]
        (soup,) = perceptrons(problem, seed, 1)
        soup.load_state_dict({name: torch.stack([network[name] for network in each]).mean(0) for name in each[0]})
        np.testing.assert_allclose(value, expected(problem, [soup]) * deviation + mean, atol=2e-4)


@pytest.mark.parametrize("task", TASKS)
def test_each_of_two_networks_learns_what_the_other_finds_easy_and_the_first_is_deployed(task):
    problem = problem_of(task)

    def pull(outputs: list[list[Tensor]], batches: list[np.ndarray]) -> Tensor:
        change = torch.zeros(())
        for own, other in ((0, 1), (1, 0)):
            y = problem.train.y[batches[own]]
            p = outputs[other][own].detach()
            if task == "regression":
                hard = (p[:, 0].numpy() - y) ** 2
            else:
                hard = -p.log_softmax(-1).numpy()[np.arange(len(y)), y]
            kept = np.sort(np.argsort(hard)[: int(0.7 * len(y))])
            for sign, rows in ((1, kept), (-1, np.arange(len(y)))):
                change = change + sign * fit_loss(task, outputs[own][own][rows], torch.tensor(y[rows]))
        return change

    wanted = by_loop(problem, lambda sample: np.tile(sample.rows, (2, 1)), pull, deployed=slice(1))
    np.testing.assert_allclose(predicted(problem, "co_teaching:forget=0.3"), wanted, atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_swa_gaussian_averages_networks_drawn_around_the_mean_of_the_weights_of_its_epochs(task):
    problem = problem_of(task)
    for value, seed in zip(predicted(problem, "swa_gaussian:start=0:draws=2"), SEEDS, strict=True):
        rows, snapshots = bootstrap(sample_of(problem, seed)), []
        initial = Perceptron((seed, 0), problem.train.x.shape[1], problem.recipe.hidden, problem.n_outputs)
        for epochs in (1, 2, 3):  # a training that stops earlier has the weights of that epoch
            recipe = problem.recipe.model_copy(update={"epochs": epochs})
            (network,) = trained(replace(problem, recipe=recipe), seed, rows)
            weights = initial.started_from(list(network.parameters())).state
            snapshots.append([weight.numpy().astype(np.float64) for weight in weights])
        drawn = []
        for i in range(2):
            random, state = generator("other", seed, i), []
            shared = random.standard_normal((3, 1, 1, 1), dtype=np.float32).ravel()
            for first, second, third in zip(*snapshots, strict=True):
                mean = (first + second + third) / 3
                spread = np.sqrt(((first - mean) ** 2 + (second - mean) ** 2 + (third - mean) ** 2) / 3)
                own = random.standard_normal(mean.shape, dtype=np.float32)
                columns = 0 * first, second - (first + second) / 2, third - mean  # from the mean up to each epoch
                low = sum(z * column for z, column in zip(shared, columns, strict=True)) / 2**0.5
                state.append(torch.tensor(mean + (spread * own + low) / 2**0.5, dtype=torch.float32))
            drawn += perceptrons(problem, seed, 1)
            layers = initial.with_state(state).layers
            drawn[-1].load_state_dict(dict(zip(drawn[-1].state_dict(), layers, strict=True)))
        np.testing.assert_allclose(value, expected(problem, drawn), atol=2e-4)


@pytest.mark.parametrize(
    "name", ["knn_averaging", "knn_label_smoothing", "distilled_bagging:k=2", "mixup", "blend:trees=5"]
)
def test_labels_that_a_single_model_would_not_see_change_nothing_unless_the_rows_say_so(name):
    problem = problem_of("classification")
    sample = sample_of(problem, 1)
    fitted = make_method(name, "classification").fit(sample)
    unseen = np.setdiff1d(np.arange(len(sample)), fitted.rows)
    y = sample.y.copy()
    y[unseen] = 1 - y[unseen]
    other = make_method(name, "classification").fit(replace(sample, y=y))
    test = problem.evals["id"].inputs
    np.testing.assert_array_equal(fitted.predict(test), other.predict(test))
    assert len(unseen) > 10
