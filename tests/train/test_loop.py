"""Networks trained together equal networks trained one by one in plain PyTorch."""

from contextlib import nullcontext
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmark.data.problem import load_problem
from benchmark.learners.mlp import MLP
from benchmark.run.check import synthetic
from benchmark.train import bootstrap, disagreement, generator, loop, shards
from benchmark.train.device import without_denormals
from benchmark.train.networks import Dropout
from benchmark.types import TASKS, Problem, Recipe, Task
from methods.twin_overlap import overlapping
from tests import plain
from tests.plain import SEEDS, predicted, sample_of

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
    return replace(problem, train=problem.train.take(slice(100)), recipe=Recipe(epochs=2))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("method", "rows_of", "lam"),
    [
        ("erm", bootstrap, 0),
        ("bagging:k=3", lambda sample: bootstrap(sample, 3), 0),
        ("twin:lam=3", lambda sample: bootstrap(sample, 2), 3),
        ("twin_shared:lam=7", lambda sample: bootstrap(sample).repeat(2, axis=0), 7),
        ("twin_overlap:lam=7:share=0.4", lambda sample: overlapping(sample, 0.4), 7),
        ("codistillation:lam=7", lambda sample: shards(sample, sample.rows), 7),
    ],
)
def test_networks_predict_what_a_plain_pytorch_loop_does(task, method, rows_of, lam):
    problem = problem_of(task)
    pull = (lambda outputs, _: lam * plain.between_twins(task, outputs)) if lam else None
    np.testing.assert_allclose(predicted(problem, method), plain.by_loop(problem, rows_of, pull), atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_swa_averages_the_weights_of_erm_at_the_ends_of_the_later_epochs(task):
    problem = problem_of(task)
    for values, seed in zip(predicted(problem, "swa:start=0.5"), SEEDS, strict=True):
        rows = bootstrap(sample_of(problem, seed))
        epochs = plain.epochs(problem, seed, plain.perceptrons(problem, seed, 1), rows)
        ends = [deepcopy(network).state_dict() for (network,) in epochs]
        (averaged,) = plain.perceptrons(problem, seed, 1)
        averaged.load_state_dict({name: torch.stack([end[name] for end in ends[2:]]).mean(0) for name in ends[0]})
        np.testing.assert_allclose(values, plain.expected(problem, [averaged]), atol=1e-4)


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


def test_numbers_that_are_taken_as_zero_while_networks_train_change_no_prediction(monkeypatch):
    problem = replace(problem_of("classification"), recipe=Recipe(hidden=32, lr=1e-2, epochs=400))
    tiny, are_zero, values = np.float32(1e-20), [], []
    monkeypatch.setattr(loop, "generator", lambda *key: (are_zero.append(tiny * tiny == 0), generator(*key))[1])
    for context in (without_denormals, nullcontext):
        monkeypatch.setattr(loop, "without_denormals", context)
        values.append(predicted(problem, "erm"))
    assert are_zero == [True] * len(SEEDS) + [False] * len(SEEDS)
    assert tiny * tiny > 0
    np.testing.assert_array_equal(*values)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("special", "general", "tolerance"),
    [
        ("twin:lam=0:members=3", "bagging:k=3", 1e-5),
        ("swa:start=0.75", "erm", 0),  # the last of four epochs
        ("swa:start=0.99", "erm", 0),  # averages no epoch: the final weights are kept
        ("mc_dropout:p=0:passes=1", "erm", 0),
        ("mc_dropout:p=0:passes=3", "erm", 1e-6),
        ("twin_shared:lam=0", "deep_ensemble:k=2", 1e-5),
        ("erm_fixed", "erm", 0),
        ("swa_gaussian:start=0.9", "swa:start=0.75", 1e-5),  # the weights of one epoch do not vary
    ],
)
def test_a_special_case_of_a_method_is_another_method(task, special, general, tolerance):
    problem = problem_of(task)
    np.testing.assert_allclose(predicted(problem, special), predicted(problem, general), rtol=0, atol=tolerance)


def test_certain_and_opposite_outputs_disagree_by_a_finite_amount_with_a_finite_gradient():
    a = torch.tensor([[1000.0, -1000.0]], requires_grad=True)
    value = disagreement("classification", a, -a.detach())
    value.backward()
    assert value.item() == pytest.approx(2000)
    assert torch.isfinite(a.grad).all()


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
