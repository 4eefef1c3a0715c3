"""An independent reference: plain PyTorch, one train seed at a time, one module and one optimiser per network."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import is_classifier
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, kl_div, mse_loss

from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.run.runner import retrain
from benchmark.train import bootstrap, generator, sample_for
from benchmark.train.device import CPU
from benchmark.train.networks import Perceptron
from benchmark.types import PAPER, Problem, Recipe, Sample, Sampling, Task

SEEDS = [3, 1]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU")
Pull = Callable[[list[list[Tensor]], list[np.ndarray]], Tensor]
"""A term of the loss, computed from outputs [network][batch] and the rows of each batch."""


def problem_of(task: Task) -> Problem:
    """Return a small problem with few, long steps."""
    return replace(synthetic(task, n=150), recipe=Recipe(hidden=16, lr=1e-2, epochs=3))


def sample_of(problem: Problem, seed: int = 1, sampling: Sampling = PAPER) -> Sample:
    return sample_for(problem, sampling, seed)[0]


def rows_of(
    problem: Problem, seed: int, sampling: Sampling = PAPER
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features and labels that a single model is fitted to, their row numbers, and the features of the test set."""
    sample = sample_of(problem, seed, sampling)
    rows, test = sample.rows, problem.evals["id"]
    return sample.x[rows].astype(np.float64), sample.y[rows], rows, test.x.astype(np.float64)


def predicted(problem: Problem, method: str, seeds: Sequence[int] = SEEDS, device: str = CPU) -> np.ndarray:
    """Predictions (S, T, C) of retrainings that the suite trains together."""
    pipeline = make_method(method, problem.task, None, problem.backbone)
    return retrain(pipeline, problem, seeds, device=device)["id"].values


def perceptrons(problem: Problem, seed: int, members: int) -> list[nn.Sequential]:
    """PyTorch layers with the initial weights of the networks of a train seed."""
    width, hidden = problem.train.x.shape[1], problem.recipe.hidden
    networks = []
    for member in range(members):
        layers = [nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()]
        networks.append(nn.Sequential(*layers, nn.Linear(hidden, problem.n_outputs)))
        initial = Perceptron((seed, member), width, hidden, problem.n_outputs).layers
        networks[-1].load_state_dict(dict(zip(networks[-1].state_dict(), initial, strict=True)))
    return networks


def epochs(
    problem: Problem, seed: int, networks: Sequence[nn.Module], rows: np.ndarray, pull: Pull | None = None
) -> Iterator[Sequence[nn.Module]]:
    """Train networks of one seed on ``rows`` (K, N), with a further term of the loss, yielding after each epoch."""
    recipe, n = problem.recipe, rows.shape[1]
    x, y = torch.tensor(problem.train.x), torch.tensor(problem.train.y)
    about = {"lr": recipe.lr, "weight_decay": recipe.weight_decay}
    optimisers = [torch.optim.AdamW(network.parameters(), **about) for network in networks]
    orders = [generator("batches", seed, member) for member in range(len(rows))]
    for _ in range(recipe.epochs):
        shuffled = [own[order.permutation(n)] for own, order in zip(rows, orders, strict=True)]
        for start, stop in pairwise([*range(0, n, recipe.batch_size), n]):
            batches = [own[start:stop] for own in shuffled]
            # Each network sees all batches in one pass: they share the statistics of a batch norm.
            seen = [[*network(x[np.concatenate(batches)]).split(stop - start)] for network in networks]
            loss = torch.stack([fit_loss(problem.task, seen[i][i], y[batch]) for i, batch in enumerate(batches)]).sum()
            for optimiser in optimisers:
                optimiser.zero_grad()
            (loss + pull(seen, batches) if pull else loss).backward()
            for network, optimiser in zip(networks, optimisers, strict=True):
                nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimiser.step()
        yield networks


def trained(problem: Problem, seed: int, rows: np.ndarray, pull: Pull | None = None) -> list[nn.Module]:
    """Perceptrons of a train seed after all epochs."""
    *_, networks = epochs(problem, seed, perceptrons(problem, seed, len(rows)), rows, pull)
    return list(networks)


def by_loop(
    problem: Problem,
    rows_of: Callable[[Sample], np.ndarray] = bootstrap,
    pull: Pull | None = None,
    deployed: slice = slice(None),
) -> list[np.ndarray]:
    """Predictions (S, T, C) of perceptrons on ``rows_of`` the sample of each seed; those ``deployed`` are averaged."""
    rows = {seed: rows_of(sample_of(problem, seed)) for seed in SEEDS}
    return [expected(problem, trained(problem, seed, own, pull)[deployed]) for seed, own in rows.items()]


def outputs(estimator: Any, x: np.ndarray) -> np.ndarray:
    return np.asarray(estimator.predict_proba(x) if is_classifier(estimator) else estimator.predict(x)[:, None])


def state(seed: int) -> int:
    """The number that ``generator("forest", seed)`` draws."""
    return int(np.random.default_rng([5, seed, 0]).integers(2**31))


@torch.no_grad()
def expected(problem: Problem, networks: Sequence[nn.Module]) -> np.ndarray:
    """Mean predictions (T, C) of networks for the test set."""
    x = torch.tensor(problem.evals["id"].x)
    outputs = torch.stack([network.eval()(x) for network in networks])
    return (outputs.softmax(-1) if problem.task == "classification" else outputs).mean(0).numpy()


def fit_loss(task: Task, outputs: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(outputs, y) if task == "classification" else mse_loss(outputs[:, 0], y)


def apart(task: Task, a: Tensor, b: Tensor) -> Tensor:
    """Half of KL(p‖q) + KL(q‖p), or the mean squared difference."""
    if task == "regression":
        return mse_loss(a, b)
    log_p, log_q = a.log_softmax(-1), b.log_softmax(-1)
    pairs = (log_p, log_q), (log_q, log_p)
    return sum(kl_div(*pair, log_target=True, reduction="batchmean") for pair in pairs) / 2


def between_twins(task: Task, outputs: list[list[Tensor]]) -> Tensor:
    """The disagreement of two networks, averaged over their two batches (Algorithm 1)."""
    return (apart(task, outputs[0][0], outputs[1][0]) + apart(task, outputs[0][1], outputs[1][1])) / 2
