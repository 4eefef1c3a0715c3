"""Networks trained together equal networks trained one by one in plain PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from benchmark.data.problem import load_problem
from benchmark.learners.mlp import MLP
from benchmark.registry import find, make_method
from benchmark.run.check import synthetic
from benchmark.run.runner import retrain
from benchmark.train import bootstrap, sample_for
from benchmark.train.networks import Dropout, Perceptron
from benchmark.types import PAPER, Examples, Problem, Recipe, Sample, Task

TASKS: list[Task] = ["classification", "regression"]
SEEDS = [3, 1]
N = 150  # not a multiple of the batch size: the last batch is a partial one


def problem_of(task: Task) -> Problem:
    """Return a small problem with steps so long that gradients are clipped and weight decay matters."""
    problem = synthetic(task, n=N)
    problem.train.x[:, 5] = 0  # a column that only the test sets use
    return replace(problem, recipe=Recipe(hidden=32, lr=1e-2, weight_decay=0.1, epochs=4))


@pytest.fixture(scope="module")
def molecules() -> Problem:
    """A slice of real data, with the paper's widths but two epochs."""
    problem = load_problem("b3db_measured")
    train = problem.train
    few = Examples(train.x[:100], train.y[:100], train.ids[:100], train.smiles[:100])
    return replace(problem, train=few, recipe=Recipe(epochs=2))


def sample_of(problem: Problem, seed: int) -> Sample:
    return sample_for(problem, PAPER, seed)[0]


def predicted(problem: Problem, method: str, seeds: Sequence[int] = SEEDS) -> np.ndarray:
    """Predictions of retrainings that are trained together."""
    return retrain(make_method(method, problem.task), problem, seeds)["id"].values


def plain_network(problem: Problem, seed: int, member: int) -> nn.Sequential:
    """Return PyTorch layers with the initial weights of this network."""
    width, hidden = problem.train.x.shape[1], problem.recipe.hidden
    drawn = Perceptron((seed, member), width, hidden, problem.n_outputs).state
    linears = [nn.Linear(width, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, problem.n_outputs)]
    for linear, weight, bias in zip(linears, drawn[::2], drawn[1::2], strict=True):
        linear.load_state_dict({"weight": weight[0].T, "bias": bias[0, 0]})
    return nn.Sequential(linears[0], nn.ReLU(), linears[1], nn.ReLU(), linears[2])


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("method", "members", "lam"),
    [("erm", 1, 0.0), ("bagging:k=3", 3, 0.0), ("twin:lam=3", 2, 3.0), ("twin:lam=300", 2, 300.0)],
)
def test_networks_predict_what_a_plain_pytorch_loop_does(plain, task, method, members, lam):
    problem = problem_of(task)
    values = predicted(problem, method)
    for i, seed in enumerate(SEEDS):
        networks = [plain_network(problem, seed, member) for member in range(members)]
        rows = bootstrap(sample_of(problem, seed), members)
        *_, networks = plain.epochs(problem, seed, networks, rows, lam)
        np.testing.assert_allclose(values[i], plain.predictions(problem, networks), atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_swa_averages_the_weights_of_erm_at_the_ends_of_the_later_epochs(plain, task):
    problem = problem_of(task)
    averaged = [plain_network(problem, seed, 0) for seed in SEEDS]
    for seed, network in zip(SEEDS, averaged, strict=True):
        rows = bootstrap(sample_of(problem, seed))
        ends = [
            [parameter.detach().clone() for parameter in networks[0].parameters()]
            for networks in plain.epochs(problem, seed, [plain_network(problem, seed, 0)], rows)
        ]
        for parameter, *values in zip(network.parameters(), *ends[2:], strict=True):
            parameter.data = torch.stack(values).mean(0)
    expected = np.stack([plain.predictions(problem, [network]) for network in averaged])
    np.testing.assert_allclose(predicted(problem, "swa:start=0.5"), expected, atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_every_member_is_the_same_to_the_bit_however_many_members_there_are(retrained, task):
    problem = problem_of(task)
    test = problem.evals["id"].inputs
    five = retrained(problem, "bagging:k=5", SEEDS).each(test)
    two = retrained(problem, "bagging:k=2", SEEDS).each(test)
    np.testing.assert_array_equal(two, five[:, :2])
    np.testing.assert_array_equal(predicted(problem, "erm"), five[:, 0])
    np.testing.assert_allclose(predicted(problem, "bagging:k=5"), five.mean(axis=1), atol=1e-6)


def test_predictions_do_not_depend_on_the_number_of_threads_which_is_left_as_it_was(molecules):
    before, values = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            values.append(predicted(molecules, "erm"))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(*values)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("special", "general", "tolerance"),
    [
        ("twin:lam=0", "bagging:k=2", 1e-5),
        ("twin:lam=0:members=3", "bagging:k=3", 1e-5),
        ("bagging:k=1", "erm", 0),
        ("deep_ensemble:k=1", "erm", 0),
        ("swa:start=0.75", "erm", 0),  # the last of four epochs
        ("swa:start=0.99", "erm", 0),  # averages no epoch: the final weights are kept
        ("mc_dropout:p=0:passes=1", "erm", 0),
        ("mc_dropout:p=0:passes=3", "erm", 1e-6),
        ("anchor:lam=0", "erm", 1e-5),
        ("gradnorm:ratio=0", "bagging:k=2", 1e-5),
        ("twin_shared:lam=0", "deep_ensemble:k=2", 1e-5),
        ("twin_overlap:lam=3:share=1", "twin_shared:lam=3", 0),
        ("label_smoothing:alpha=0", "erm", 1e-5),
        ("knn_label_smoothing:alpha=0", "erm", 1e-5),
        ("co_teaching:forget=0", "erm", 1e-5),
        ("logit_penalty:beta=0", "erm", 1e-5),
        ("entropy_regularisation:beta=0", "erm", 1e-5),
        ("confidence_penalty:beta=0", "erm", 1e-5),
        ("swa_gaussian:start=0.9", "swa:start=0.75", 1e-5),  # the weights of one epoch do not vary
    ],
)
def test_a_special_case_of_a_method_is_another_method(task, special, general, tolerance):
    if task not in find(special)[0].tasks:
        pytest.skip("not for this task")
    problem = problem_of(task)
    np.testing.assert_allclose(predicted(problem, special), predicted(problem, general), rtol=0, atol=tolerance)


def test_mc_dropout_averages_the_probabilities_of_its_passes(retrained):
    problem = problem_of("classification")
    (model,) = retrained(problem, "mc_dropout:p=0.5:passes=4", [1]).models
    x = torch.tensor(problem.evals["id"].x)
    noise = Dropout((1, 0), 0.5, "dropout at prediction")
    sample = sample_of(problem, 1)
    (network,) = MLP(dropout=0.5).train(sample, bootstrap(sample)).parts
    first = torch.matmul(x, network.state[0])
    passes = [network.after(first, noise.masks(len(x), problem.recipe.hidden))[0].softmax(-1) for _ in range(4)]
    assert not torch.allclose(passes[0], passes[1])
    expected = torch.stack(passes).mean(0).numpy()
    np.testing.assert_allclose(model.predict(problem.evals["id"].inputs), expected, atol=1e-6)
