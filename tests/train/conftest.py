"""An independent reference: plain PyTorch, one train seed at a time, one module and one optimiser per network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, kl_div, mse_loss

from benchmark.train import generator
from benchmark.types import Problem, Task


def fit_loss(task: Task, outputs: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(outputs, y) if task == "classification" else mse_loss(outputs[:, 0], y)


def disagreement(task: Task, a: Tensor, b: Tensor) -> Tensor:
    if task == "regression":
        return mse_loss(a, b)
    log_p, log_q = a.log_softmax(-1), b.log_softmax(-1)
    forward, backward = (kl_div(x, y, log_target=True, reduction="batchmean") for x, y in permutations((log_p, log_q)))
    return (forward + backward) / 2


class Plain:
    @staticmethod
    def epochs(
        problem: Problem, seed: int, networks: Sequence[nn.Module], rows: np.ndarray, lam: float = 0.0
    ) -> Iterator[Sequence[nn.Module]]:
        """Train networks of one seed on ``rows`` (K, N), yielding after each epoch; with ``lam``, by Algorithm 1."""
        task, recipe, n = problem.task, problem.recipe, rows.shape[1]
        x, y = torch.tensor(problem.train.x), torch.tensor(problem.train.y)
        optimisers = [
            torch.optim.AdamW(network.parameters(), lr=recipe.lr, weight_decay=recipe.weight_decay)
            for network in networks
        ]
        orders = [generator("batches", seed, member) for member in range(len(rows))]
        for _ in range(recipe.epochs):
            shuffled = [own[order.permutation(n)] for own, order in zip(rows, orders, strict=True)]
            for start, stop in pairwise([*range(0, n, recipe.batch_size), n]):
                batches = [own[start:stop] for own in shuffled]
                # Each network sees all batches in one pass: they share the statistics of a batch norm.
                seen = [network(x[np.concatenate(batches)]).split(stop - start) for network in networks]
                loss = torch.zeros(())
                for i, batch in enumerate(batches):
                    loss = loss + fit_loss(task, seen[i][i], y[batch])
                    if lam:
                        loss = loss + lam * 0.5 * disagreement(task, seen[0][i], seen[1][i])
                for optimiser in optimisers:
                    optimiser.zero_grad()
                loss.backward()
                for network, optimiser in zip(networks, optimisers, strict=True):
                    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                    optimiser.step()
            yield networks

    @staticmethod
    @torch.no_grad()
    def predictions(problem: Problem, networks: Sequence[nn.Module]) -> np.ndarray:
        x = torch.tensor(problem.evals["id"].x)
        outputs = torch.stack([network.eval()(x) for network in networks])
        return (outputs.softmax(-1) if problem.task == "classification" else outputs).mean(0).numpy()


@pytest.fixture
def plain() -> type[Plain]:
    return Plain
