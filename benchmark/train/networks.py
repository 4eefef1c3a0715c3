"""Perceptrons whose weights have a leading model axis, so that M networks are trained as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
import torch
from scipy.sparse import csc_matrix, csr_matrix
from torch import Tensor
from torch.nn.functional import embedding_bag

from benchmark.train.device import Device
from benchmark.train.group import Key
from benchmark.train.resampling import Stream, generator
from benchmark.types import Recipe

LANES = 16
SPARSE = 0.1
"""The share of ones below which sums of rows are faster than a matrix product."""


class StackedMLP:
    """M two-hidden-layer ReLU perceptrons (paper, section Methods), one for each ``(seed, member)`` key.

    Weights are initialised as in torch.nn.Linear, uniform within ±1/√fan_in, from each network's own generator.
    The output layer is padded with zero columns to a multiple of 16: fused AdamW rounds differently at the end of a
    tensor that does not fill a vector register, and results would depend on what shares the stack.
    """

    dropout = 0.0
    """Dropout rate of stochastic forward passes at prediction."""

    def __init__(self, keys: Sequence[Key], n_inputs: int, hidden: int, n_outputs: int):
        self.keys, self.n_outputs = keys, n_outputs
        padded = -(-n_outputs // LANES) * LANES
        layers = [(n_inputs, hidden, hidden), (hidden, hidden, hidden), (hidden, n_outputs, padded)]
        self.parameters: list[Tensor] = []
        for rows, _, columns in layers:
            self.parameters += [torch.zeros(len(keys), rows, columns), torch.zeros(len(keys), 1, columns)]
        for m, (seed, member) in enumerate(keys):
            draw = generator("initialisation", seed, member)
            for layer, (rows, used, _) in enumerate(layers):
                for parameter in self.parameters[2 * layer : 2 * layer + 2]:
                    uniform = 2 * draw.random((parameter.shape[1], used), dtype=np.float32) - 1
                    parameter[m, :, :used] = torch.from_numpy(uniform / np.float32(rows**0.5))

    def select(self, m: int) -> StackedMLP:
        """Return the m-th network alone, sharing its weights."""
        one = copy(self)
        one.keys, one.parameters = self.keys[m : m + 1], [p[m : m + 1] for p in self.parameters]
        return one

    def with_parameters(self, parameters: list[Tensor]) -> StackedMLP:
        """Return the same networks with other weights."""
        other = copy(self)
        other.parameters = parameters
        return other

    @torch.no_grad()
    def passes(self, x: np.ndarray, n: int) -> Iterator[Tensor]:
        """Yield outputs (n, T, C) of each network for ``x`` (T, D), one at a time to save memory.

        If n > 1, each of the n passes uses dropout.
        """
        features = torch.tensor(x, dtype=torch.float32)
        for m, key in enumerate(self.keys):
            network = self.select(m)
            noise = Dropout([key], self.dropout if n > 1 else 0.0, "dropout at prediction")
            first = features[None] @ network.parameters[0]
            yield torch.stack([network.after(first, noise.masks(len(x), first.shape[2]))[0] for _ in range(n)])

    def after(self, first: Tensor, masks: Sequence[Tensor] = ()) -> Tensor:
        """Return outputs (M, R, C) from ``first`` (M, R, H), the product of inputs and first-layer weights.

        ``masks`` are dropout factors (M, R, H), one per hidden layer.
        """
        _, b1, w2, b2, w3, b3 = self.parameters
        h = torch.relu(first + b1)
        h = h * masks[0] if masks else h
        h = torch.relu(torch.baddbmm(b2, h, w2))
        h = h * masks[1] if masks else h
        return torch.baddbmm(b3, h, w3)[..., : self.n_outputs]


class Inputs:
    """Training features (N, D) without all-zero columns; ``live`` (L,) indexes the remaining ones.

    Sparse bits such as fingerprints are multiplied by summing rows of the weights.
    """

    def __init__(self, x: np.ndarray):
        self.width = x.shape[1]
        self.live = torch.from_numpy(np.flatnonzero(x.any(axis=0)))
        x = x[:, self.live.numpy()]
        self.x = torch.tensor(x, dtype=torch.float32)
        bits = bool(((x == 0) | (x == 1)).all())
        self.ones = csr_matrix(x) if bits and x.sum() < SPARSE * x.size else None

    def to(self, device: str) -> Inputs:
        """Return the features on another device, dense unless it is the CPU."""
        if device == "cpu":
            return self
        other = copy(self)
        other.x, other.ones = self.x.to(device), None
        return other

    def product(self, rows: Tensor) -> Callable[[Tensor], Tensor]:
        """Return a function that multiplies rows (M, R) of the features with live weights (M, L, H) to (M, R, H)."""
        if self.ones is None:
            x = self.x[rows]
            return lambda weight: torch.bmm(x, weight)
        picked = self.ones[rows.flatten().numpy()]  # (M·R, L), made block-diagonal (M·R, M·L) below
        network = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(picked.indptr[:: rows.shape[1]]))
        shape = (rows.numel(), len(rows) * len(self.live))
        blocks = csr_matrix((picked.data, picked.indices + network * len(self.live), picked.indptr), shape=shape)
        by_column = blocks.tocsc()
        return lambda weight: _SumsOfRows.apply(weight, blocks, by_column)


class _SumsOfRows(torch.autograd.Function):
    """A product of 0/1 blocks with weights: sums of rows of weights forward, of rows of gradients backward."""

    @staticmethod
    def forward(context: Any, weight: Tensor, by_row: csr_matrix, by_column: csc_matrix) -> Tensor:
        context.by_column, context.shape = by_column, weight.shape
        return _sums(by_row, weight.flatten(0, 1)).view(len(weight), -1, weight.shape[2])

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _sums(context.by_column, gradient.flatten(0, 1)).view(context.shape), None, None


def _sums(ones: csr_matrix | csc_matrix, values: Tensor) -> Tensor:
    index, offsets = torch.from_numpy(ones.indices), torch.from_numpy(ones.indptr[:-1])
    return embedding_bag(index, values, offsets, mode="sum")


class Dropout:
    """Dropout factors, 0 or 1/(1−p), drawn from each network's own generator."""

    def __init__(self, keys: Sequence[Key], p: float, stream: Stream):
        states = [int(generator(stream, *key).integers(2**63)) for key in keys]
        self.p, self.generators = p, [torch.Generator().manual_seed(state) for state in states]

    def masks(self, rows: int, hidden: int, device: str = "cpu") -> list[Tensor]:
        """Draw one tensor (M, rows, hidden) per hidden layer, on the CPU; return no tensors if p is 0."""
        if self.p == 0:
            return []
        keep = 1 - self.p
        both = torch.stack([torch.empty(2, rows, hidden).bernoulli_(keep, generator=g) for g in self.generators], 1)
        return list((both / keep).to(device))


class Perceptrons:
    """M perceptrons in training on ``inputs``; weights of all-zero columns only decay."""

    def __init__(
        self, keys: Sequence[Key], inputs: Inputs, recipe: Recipe, n_outputs: int, dropout: float, device: Device
    ) -> None:
        self.inputs, self.recipe, self.device = inputs, recipe, device
        self.network = StackedMLP(keys, inputs.width, recipe.hidden, n_outputs)
        self.network.dropout = dropout
        self.noise = Dropout(keys, dropout, "dropout")
        self.first = self.network.parameters[0]
        live = [self.first[:, inputs.live], *self.network.parameters[1:]]
        self.parameters = [parameter.to(device.name).requires_grad_() for parameter in live]
        self.network.parameters = self.parameters
        self.kept = torch.ones((), dtype=torch.float64)
        """The factor by which weights with zero gradients have decayed so far."""
        self.state = [*self.parameters, self.kept]

    def outputs(self, rows: Tensor) -> Tensor:
        first = self.inputs.product(rows)(self.parameters[0])
        return self.network.after(first, self.noise.masks(rows.shape[1], self.recipe.hidden, self.device.name))

    def clip(self, limit: float) -> None:
        (clip_each if self.device.to_the_bit else clip_together)(self.parameters, limit)

    def stepped(self) -> None:
        self.kept *= 1 - self.recipe.lr * self.recipe.weight_decay

    def trained(self, state: Sequence[Tensor]) -> StackedMLP:
        weights, *others, kept = (value.detach().cpu() for value in state)
        first = self.first * float(kept)  # as AdamW decays weights with zero gradients
        first[:, self.inputs.live] = weights
        return self.network.with_parameters([first, *others])


def clip_each(parameters: Sequence[Tensor], limit: float) -> None:
    """Scale the gradient of each network, over all its parameters together, to a norm of at most ``limit``.

    The squares are added parameter by parameter: the rounding of a reduction over a short axis depends on its length.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    for m in range(len(gradients[0])):
        square = sum(float(torch.dot(flat, flat)) for flat in (gradient[m].flatten() for gradient in gradients))
        scale = limit / (square**0.5 + 1e-6)
        if scale < 1:
            for gradient in gradients:
                gradient[m].mul_(scale)


def clip_together(parameters: Sequence[Tensor], limit: float) -> None:
    """Do the same as ``clip_each`` for all networks at once, up to rounding."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    squares = torch.stack([gradient.flatten(1).square().sum(1) for gradient in gradients]).sum(0)
    scales = (limit / (squares.sqrt() + 1e-6)).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(scales[:, None, None])
