"""Modules trained by the loop equal those of plain PyTorch, and draws are reproducible."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from pydantic.dataclasses import dataclass
from torch import nn

from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.run.runner import retrain
from benchmark.train import bootstrap, generator
from benchmark.train.device import CPU
from benchmark.train.ensemble import Training
from benchmark.train.learner import NetworkLearner
from benchmark.train.modules import Draws
from benchmark.train.resampling import Stream
from benchmark.types import TASKS, Problem, Recipe, Task
from tests import plain
from tests.plain import SEEDS, sample_of

N = 100  # not a multiple of the batch size: the last batch is a partial one


@dataclass(frozen=True)
class Normed(NetworkLearner):
    """A network with a batch norm."""

    def module(self, recipe, n_inputs, n_outputs, dropout):
        return nn.Sequential(
            nn.Linear(n_inputs, recipe.hidden, bias=False),  # the norm cancels a bias; its gradient would be noise
            nn.BatchNorm1d(recipe.hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(recipe.hidden, n_outputs),
        )


def problem_of(task: Task) -> Problem:
    """Return a small problem with steps so long that gradients are clipped and weight decay matters."""
    recipe = Recipe(hidden=16, batch_size=32, lr=1e-2, weight_decay=0.1, epochs=4)
    return replace(synthetic(task, n=N), recipe=recipe)


def predicted(problem: Problem, method: str, seeds: Sequence[int] = SEEDS) -> np.ndarray:
    return retrain(replace(make_method(method, problem.task), learner=Normed()), problem, seeds)["id"].values


def rows_of(problem: Problem, seed: int, members: int = 1) -> np.ndarray:
    return bootstrap(sample_of(problem, seed), members)


def draw_as(stream: Stream, seed: int, member: int = 0) -> None:
    torch.manual_seed(int(generator(stream, seed, member).integers(2**63)))


def module_of(problem: Problem, dropout: float = 0.0) -> nn.Module:
    return Normed().module(problem.recipe, problem.train.x.shape[1], problem.n_outputs, dropout)


def drawn(problem: Problem, seed: int, members: int = 1, dropout: float = 0.0) -> list[nn.Module]:
    """Return new networks of one train seed in training mode, drawn as in the loop."""
    networks = []
    for member in range(members):
        draw_as("initialisation", seed, member)
        networks.append(module_of(problem, dropout).train())
    draw_as("dropout", seed)
    return networks


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("method", "members", "lam"), [("erm", 1, 0.0), ("twin:lam=3", 2, 3.0)])
def test_modules_predict_what_a_plain_pytorch_loop_does(task, method, members, lam):
    problem, before = problem_of(task), torch.get_rng_state()
    values = predicted(problem, method)
    assert torch.equal(before, torch.get_rng_state())
    for i, seed in enumerate(SEEDS):
        rows = rows_of(problem, seed, members)
        pull = (lambda outputs, _: lam * plain.between_twins(task, outputs)) if lam else None
        *_, networks = plain.epochs(problem, seed, drawn(problem, seed, members), rows, pull)
        np.testing.assert_allclose(values[i], plain.expected(problem, networks), atol=1e-5)


@pytest.mark.parametrize("task", TASKS)
def test_swa_averages_weights_and_the_statistics_of_batch_norms(task):
    problem = problem_of(task)
    for seed, values in zip(SEEDS, predicted(problem, "swa:start=0.5"), strict=True):
        epochs = plain.epochs(problem, seed, drawn(problem, seed), rows_of(problem, seed))
        ends = [deepcopy(networks[0]).state_dict() for networks in epochs]
        averaged = module_of(problem)
        late = {name: torch.stack([end[name].double() for end in ends[2:]]) for name in ends[0]}
        assert late["1.running_mean"].std(0).max() > 1e-3
        averaged.load_state_dict({name: tensors.mean(0) for name, tensors in late.items()})
        np.testing.assert_allclose(values, plain.expected(problem, [averaged]), atol=1e-5)


@pytest.mark.parametrize("task", TASKS)
def test_mc_dropout_averages_passes_with_dropout_and_with_the_statistics_of_training(task):
    problem = problem_of(task)
    networks = drawn(problem, SEEDS[0], dropout=0.5)
    *_, (network,) = plain.epochs(problem, SEEDS[0], networks, rows_of(problem, SEEDS[0]))
    network.eval()[3].train()
    draw_as("dropout at prediction", SEEDS[0])
    with torch.no_grad():
        passes = [torch.cat([network(x) for x in torch.tensor(problem.evals["id"].x).split(32)]) for _ in range(3)]
    assert not torch.allclose(passes[0], passes[1])
    outputs = torch.stack(passes)
    expected = (outputs.softmax(-1) if task == "classification" else outputs).mean(0)
    values = predicted(problem, "mc_dropout:p=0.5:passes=3")
    np.testing.assert_allclose(values[0], expected.numpy(), atol=1e-5)


@dataclass(frozen=True)
class Noisy(NetworkLearner):
    """A learner whose views are features with noise."""

    def module(self, recipe, n_inputs, n_outputs, dropout):
        return torch.nn.PReLU(init=1.0)  # an identity with a parameter

    def augmented(self, x):
        return x + torch.randn_like(x)


def test_coupled_networks_see_the_same_views_of_a_batch_and_others_their_own():
    x = torch.zeros(6, 2)
    rows = torch.tensor([[0, 1, 2], [0, 1, 2]])

    def seen(keys: list[tuple[int, int]]) -> list[torch.Tensor]:
        networks = Noisy().networks(keys, x, Recipe(), 2, CPU, Training())
        return list(networks.epoch([rows[: len(keys)]] * 2))

    (one, two), (first, second), (other, _) = seen([(1, 0), (1, 1)]), seen([(1, 0)]), seen([(2, 0)])
    assert torch.equal(one[0], one[1])
    assert torch.equal(two[0], two[1])
    assert not torch.equal(one, two), "each step has its own views"
    assert torch.equal(one[0], first[0])
    assert torch.equal(two[0], second[0])
    assert not torch.equal(first, other)


@dataclass(frozen=True)
class Halving(NetworkLearner):
    """A learner that learns in the first half of its epochs alone."""

    def module(self, recipe, n_inputs, n_outputs, dropout):
        return nn.Linear(n_inputs, n_outputs)

    def schedule(self, epoch, epochs):
        return float(epoch < epochs / 2)


@pytest.mark.parametrize("method", ["erm", "sharpness_aware"])  # whose steps are its own
def test_a_learning_rate_follows_its_schedule_over_all_epochs(method):
    problem = replace(problem_of("classification"), recipe=Recipe(batch_size=32, weight_decay=0.0, epochs=4))

    def trained(learner: NetworkLearner, epochs: int) -> np.ndarray:
        pipeline = replace(make_method(method, problem.task), learner=replace(learner, epochs=epochs))
        return retrain(pipeline, problem, SEEDS)["id"].values

    @dataclass(frozen=True)
    class Constant(Halving):
        schedule = NetworkLearner.schedule

    assert np.array_equal(trained(Halving(), 4), trained(Constant(), 2))
    assert not np.array_equal(trained(Halving(), 4), trained(Constant(), 4))


def test_a_schedule_is_that_of_each_number_of_epochs_when_these_are_compared():
    problem = replace(problem_of("classification"), recipe=Recipe(epochs=4))
    sample = sample_of(problem, 1)
    fits = [Halving(epochs=epochs).fit(sample).predict(sample.inputs) for epochs in (1, 3, 4)]
    along = Halving().along(sample, [1, 3, None], sample.inputs)
    assert all(map(np.array_equal, along, fits))


def test_draws_go_on_where_they_stopped_whatever_is_drawn_between():
    draw_as("dropout", 5)
    expected = torch.rand(8)
    torch.manual_seed(0)
    outside = torch.rand(4)
    torch.manual_seed(0)
    draws, other = Draws("dropout", (5, 0), CPU), Draws("dropout", (5, 1), CPU)
    inner, outer = [], []
    for _ in range(4):
        with draws:
            inner.append(torch.rand(2))
        with other:
            assert not torch.equal(torch.rand(2), inner[-1])
        outer.append(torch.rand(1))
    assert torch.equal(torch.cat(inner), expected)
    assert torch.equal(torch.cat(outer), outside)


def test_draws_give_the_global_generator_back_after_an_error():
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError), Draws("initialisation", (1, 0), CPU):
        torch.rand(3) + torch.rand(4)
    assert torch.equal(before, torch.get_rng_state())
