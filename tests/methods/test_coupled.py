"""Coupled networks are trained as by a plain loop with the loss terms written out by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.run.runner import retrain
from benchmark.train import Step, bootstrap, generator, sample_for, shards
from benchmark.train.ensemble import TargetScaler
from benchmark.train.learner import NetworkLearner
from benchmark.train.networks import Perceptron
from benchmark.types import PAPER, Problem, Recipe, Sample, Task
from methods.twin_overlap import overlapping

TASKS: list[Task] = ["classification", "regression"]
SEEDS = [3, 1]
Pull = Callable[[list[list[Tensor]], list[np.ndarray]], Tensor]
"""A term of the loss, computed from outputs [network][batch] and the rows of each batch."""


def problem_of(task: Task) -> Problem:
    return replace(synthetic(task, n=150), recipe=Recipe(hidden=16, lr=1e-2, epochs=3))


def output(parameters: list[Tensor], x: np.ndarray, n_outputs: int) -> Tensor:
    w1, b1, w2, b2, w3, b3 = (parameter[0] for parameter in parameters)
    return (((torch.tensor(x) @ w1 + b1).relu() @ w2 + b2).relu() @ w3 + b3)[:, :n_outputs]


def plain(problem: Problem, seed: int, rows: np.ndarray, pull: Pull | None = None) -> list[list[Tensor]]:
    """Train the networks of one train seed on ``rows`` (K, N), one batch at a time, and return their parameters."""
    train, recipe, task, c = problem.train, problem.recipe, problem.task, problem.n_outputs
    keys = [(seed, member) for member in range(len(rows))]
    networks = [Perceptron(key, train.x.shape[1], recipe.hidden, c).state for key in keys]
    every = [parameter.requires_grad_() for network in networks for parameter in network]
    optimiser = torch.optim.AdamW(every, lr=recipe.lr, weight_decay=recipe.weight_decay)
    orders = [generator("batches", *key) for key in keys]
    for _ in range(recipe.epochs):
        shuffled = np.stack([own[order.permutation(len(own))] for own, order in zip(rows, orders, strict=True)])
        for start, stop in pairwise([*range(0, rows.shape[1], recipe.batch_size), rows.shape[1]]):
            batches = list(shuffled[:, start:stop])
            outputs = [[output(network, train.x[batch], c) for batch in batches] for network in networks]
            loss = sum(
                nn.functional.cross_entropy(own[k], y) if task == "classification" else (own[k][:, 0] - y).pow(2).mean()
                for k, own in enumerate(outputs)
                for y in [torch.tensor(train.y[batches[k]])]
            )
            optimiser.zero_grad()
            (loss + pull(outputs, batches) if pull else loss).backward()
            for network in networks:
                nn.utils.clip_grad_norm_(network, 1.0)
            optimiser.step()
    return networks


def apart(task: Task, a: Tensor, b: Tensor) -> Tensor:
    """Return half of KL(p‖q) + KL(q‖p), or the mean squared error."""
    if task == "regression":
        return (a - b).pow(2).mean()
    log_p, log_q = a.log_softmax(-1), b.log_softmax(-1)
    kl = nn.KLDivLoss(reduction="batchmean", log_target=True)
    return (kl(log_q, log_p) + kl(log_p, log_q)) / 2


def between_twins(task: Task, outputs: list[list[Tensor]]) -> Tensor:
    """Average the disagreement of two networks over their two batches."""
    return (apart(task, outputs[0][0], outputs[1][0]) + apart(task, outputs[0][1], outputs[1][1])) / 2


def expected(problem: Problem, networks: list[list[Tensor]]) -> np.ndarray:
    with torch.no_grad():
        outputs = torch.stack([output(network, problem.evals["id"].x, problem.n_outputs) for network in networks])
    return (outputs.softmax(-1) if problem.task == "classification" else outputs).mean(0).numpy()


def sample_of(problem: Problem, seed: int) -> Sample:
    return sample_for(problem, PAPER, seed)[0]


def predicted(problem: Problem, method: str) -> np.ndarray:
    return retrain(make_method(method, problem.task), problem, SEEDS)["id"].values


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("method", "rows_of"),
    [
        ("codistillation:lam=7", lambda sample: shards(sample, sample.rows)),
        ("twin_shared:lam=7", lambda sample: bootstrap(sample).repeat(2, axis=0)),
        ("twin_overlap:lam=7:share=0.4", lambda sample: overlapping(sample, 0.4)),
    ],
)
def test_two_networks_are_pulled_together_on_both_batches(task, method, rows_of):
    problem = problem_of(task)
    for value, seed in zip(predicted(problem, method), SEEDS, strict=True):
        rows = rows_of(sample_of(problem, seed))
        networks = plain(problem, seed, rows, lambda outputs, _: 7 * between_twins(task, outputs))
        np.testing.assert_allclose(value, expected(problem, networks), atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_an_anchored_network_is_pulled_to_the_erm_of_seed_0_on_its_own_batch(task):
    problem = problem_of(task)
    (incumbent,) = plain(problem, 0, bootstrap(sample_of(problem, 0)))

    def pull(outputs: list[list[Tensor]], batches: list[np.ndarray]) -> Tensor:
        target = output(incumbent, problem.train.x[batches[0]], problem.n_outputs).detach()
        return 7 * apart(task, outputs[0][0], target)

    for value, seed in zip(predicted(problem, "anchor:lam=7"), SEEDS, strict=True):
        networks = plain(problem, seed, bootstrap(sample_of(problem, seed)), pull)
        np.testing.assert_allclose(value, expected(problem, networks), atol=1e-4)


def test_the_incumbent_is_not_anchored_to_itself():
    with pytest.raises(UserError, match="anchor: train seed 0 is the incumbent's"):
        make_method("anchor", "classification").fit(sample_of(problem_of("classification"), 0))


@pytest.mark.parametrize("task", TASKS)
def test_gradnorm_weighs_the_pull_by_norms_of_gradients_that_are_written_out_by_hand(task):
    problem = problem_of(task)

    def fit_gradient(own: Tensor, y: Tensor) -> Tensor:
        if task == "regression":
            return 2 * (own - y[:, None]) / len(y)
        return (own.softmax(-1) - nn.functional.one_hot(y, 2)) / len(y)

    def gradient_towards(a: Tensor, b: Tensor) -> Tensor:
        """Return the gradient of ``apart`` with respect to ``a``."""
        if task == "regression":
            return 2 * (a - b) / len(a)
        p, q, log = a.softmax(-1), b.softmax(-1), a.log_softmax(-1) - b.log_softmax(-1)
        return (p * (log - (p * log).sum(-1, keepdim=True)) + p - q) / 2 / len(a)

    def pull(outputs: list[list[Tensor]], batches: list[np.ndarray]) -> Tensor:
        (aa, ab), (ba, bb) = [[batch.detach() for batch in network] for network in outputs]
        ys = [torch.tensor(problem.train.y[batch]) for batch in batches]
        fit = torch.cat([fit_gradient(aa, ys[0]), fit_gradient(bb, ys[1])]).norm()
        pairs = [(aa, ba), (ba, aa), (ab, bb), (bb, ab)]
        between = torch.cat([gradient_towards(one, other) / 2 for one, other in pairs]).norm()
        return 3 * fit / between * between_twins(task, outputs)

    for value, seed in zip(predicted(problem, "gradnorm:ratio=3"), SEEDS, strict=True):
        networks = plain(problem, seed, bootstrap(sample_of(problem, seed), 2), pull)
        np.testing.assert_allclose(value, expected(problem, networks), atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("apart_by", [0.0, 1e-30, 1e-3, 1.0])
def test_gradnorm_pulls_as_strongly_as_the_fit_and_nowhere_where_the_networks_agree(task, apart_by, monkeypatch):
    problem = problem_of(task)
    monkeypatch.setattr(NetworkLearner, "train", lambda self, sample, rows, loss: loss)
    loss = make_method("gradnorm", task).fit(sample_of(problem, 1))
    one = torch.randn(1, 2, 5, problem.n_outputs, generator=torch.Generator().manual_seed(0)) * apart_by
    outputs = torch.cat([one, -one]).requires_grad_()  # (K, K, B, C)
    fit = outputs.diagonal(dim1=0, dim2=1).sum(dim=(0, 1))
    rows, targets = torch.zeros(2, 5, dtype=torch.int64), torch.zeros(2, 5)
    (loss(Step(outputs, rows, targets, fit, TargetScaler())) - fit.sum()).backward()
    assert outputs.grad is not None
    assert outputs.grad.isfinite().all()
    expected_norm = 0.0 if apart_by < 1e-20 else (2 * 5 * problem.n_outputs) ** 0.5  # the fit loss's
    assert outputs.grad.norm().item() == pytest.approx(expected_norm, rel=1e-3)
