"""The one training loop of every network method."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from benchmark.data.spec import Recipe
from benchmark.train.losses import fit_loss
from benchmark.train.networks import Dropout, StackedMLP
from benchmark.train.resampling import generator
from benchmark.types import Problem, Task

CLIP = 1.0
NETWORKS_PER_STACK = 8
"""More does not help on a CPU, where the weights of a stack should stay near its caches."""


@dataclass(frozen=True)
class Step:
    """One training step, for a coupling: ``outputs`` (S, K, K, B, C) is network × whose batch."""

    outputs: Tensor


Coupling = Callable[[Step], Tensor]
"""A loss term of each train seed, (S,), that ties its K networks together."""


@contextmanager
def one_thread() -> Iterator[None]:
    """A second thread splits sums differently: results would depend on the machine's core count."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def fit_stack(
    problem: Problem,
    rows: np.ndarray,
    seeds: Sequence[int],
    *,
    coupling: Coupling | None = None,
    dropout: float = 0.0,
    passes: int = 1,
    average_from: float | None = None,
) -> Stack:
    """Train S × K networks by the paper's protocol: AdamW, clipping per network, last partial batch kept.

    ``rows`` (S, K, N) are the training rows of each network, as from ``bootstrap``. ``coupling`` adds a loss
    between the networks of a seed; each then also sees the others' batches. ``dropout`` is active in training
    and, if ``passes`` > 1, in each of so many forward passes that are averaged at prediction.
    ``average_from`` replaces the final weights by their mean over the ends of the epochs after that share of
    training. A network's result depends on its own rows and key (seed, member), never on what shares its stack.
    """
    rule = _Rule(problem.task, problem.recipe, coupling, dropout, average_from)
    x = torch.tensor(problem.train.x)
    y = torch.tensor(problem.train.y)
    per_stack = max(1, NETWORKS_PER_STACK // rows.shape[1])
    with one_thread():
        parts = [
            _train(x, y, problem.n_outputs, rows[i : i + per_stack], seeds[i : i + per_stack], rule)
            for i in range(0, len(seeds), per_stack)
        ]
    return Stack(problem.task, rows.shape[1], parts, dropout if passes > 1 else 0.0, passes)


@dataclass(frozen=True)
class Stack:
    """Trained networks, K for each train seed, whose predictions are averaged over the K."""

    task: Task
    members: int
    parts: Sequence[StackedMLP]
    dropout: float
    passes: int

    @torch.no_grad()
    def predict(self, x: np.ndarray) -> np.ndarray:
        """Class probabilities (S, T, C) or predicted targets (S, T, 1), float32, for features ``x`` (T, D)."""
        features = torch.tensor(x)
        with one_thread():
            return np.concatenate([self._predict(part, features) for part in self.parts])

    def _predict(self, part: StackedMLP, x: Tensor) -> np.ndarray:
        """Network after network, so that memory does not grow with their number."""
        values = []
        hidden = part.parameters[0].shape[2]
        for m, key in enumerate(part.keys):
            network = part.select(m)
            noise = Dropout([key], self.dropout, "dropout at prediction")
            outputs = [network(x[None], noise.masks(len(x), hidden))[0] for _ in range(self.passes)]
            if self.task == "classification":
                outputs = [output.softmax(-1) for output in outputs]
            values.append(torch.stack(outputs).mean(0))
        return torch.stack(values).unflatten(0, (-1, self.members)).mean(1).numpy()


@dataclass(frozen=True)
class _Rule:
    """How a stack is trained, apart from its data."""

    task: Task
    recipe: Recipe
    coupling: Coupling | None
    dropout: float
    average_from: float | None


def _train(x: Tensor, y: Tensor, n_outputs: int, rows: np.ndarray, seeds: Sequence[int], rule: _Rule) -> StackedMLP:
    """One stack of S × K networks, trained on ``rows`` (S, K, N) of ``x`` (N, D) and ``y`` (N,)."""
    (s, k, n), recipe = rows.shape, rule.recipe
    keys = [(seed, member) for seed in seeds for member in range(k)]
    network = StackedMLP(keys, x.shape[1], recipe.hidden, n_outputs)
    noise = Dropout(keys, rule.dropout, "dropout")
    orders = [generator("batches", *key) for key in keys]
    for parameter in network.parameters:
        parameter.requires_grad_()
    optimiser = torch.optim.AdamW(network.parameters, lr=recipe.lr, weight_decay=recipe.weight_decay, fused=True)
    mean = [torch.zeros_like(parameter) for parameter in network.parameters] if rule.average_from is not None else []
    averaged = 0

    for epoch in range(recipe.epochs):
        order = np.stack([g.permutation(n) for g in orders]).reshape(s, k, n)
        shuffled = torch.from_numpy(np.take_along_axis(rows, order, axis=2))
        for batch in shuffled.split(recipe.batch_size, dim=2):  # (S, K, B)
            size = batch.shape[2]
            seen = batch if rule.coupling is None else batch.flatten(1)[:, None].expand(s, k, k * size)
            inputs = x[seen.reshape(s * k, -1)]
            outputs = network(inputs, noise.masks(inputs.shape[1], recipe.hidden))
            if rule.coupling is None:
                loss = fit_loss(rule.task, outputs.unflatten(0, (s, k)), y[batch]).sum()
            else:
                everything = outputs.reshape(s, k, k, size, -1)
                own = everything.diagonal(dim1=1, dim2=2).movedim(-1, 1)
                loss = fit_loss(rule.task, own, y[batch]).sum() + rule.coupling(Step(everything)).sum()
            optimiser.zero_grad()
            loss.backward()
            clip_each(network.parameters, CLIP)
            optimiser.step()
        if rule.average_from is not None and epoch >= rule.average_from * recipe.epochs:
            averaged += 1
            for total, parameter in zip(mean, network.parameters, strict=True):
                total += (parameter.detach() - total) / averaged
    network.parameters = [p.detach() for p in (mean if averaged else network.parameters)]
    return network


def clip_each(parameters: Sequence[Tensor], limit: float) -> None:
    """Scale the gradient of each network, over all its parameters together, to a norm of at most ``limit``.

    The squares are added parameter by parameter: a reduction over a short axis would round by its length.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    square = torch.zeros(len(gradients[0]))
    for gradient in gradients:
        square += gradient.flatten(1).norm(dim=1).square()
    scale = (limit / (square.sqrt() + 1e-6)).clamp(max=1)
    if bool((scale < 1).any()):
        for gradient in gradients:
            gradient.mul_(scale[:, None, None])
