"""Perceptrons whose weights have a leading model axis: M networks are one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
import torch
from scipy.sparse import csc_matrix, csr_matrix
from torch import Tensor
from torch.nn.functional import embedding_bag

from benchmark.train.resampling import Stream, generator

LANES = 16
SPARSE = 0.1
"""Below this share of ones, sums of rows are faster than a matrix product."""


class StackedMLP:
    """M two-hidden-layer ReLU perceptrons (paper, section Methods), one for each ``(seed, member)`` key.

    Weights are drawn as torch.nn.Linear draws them, uniform within ±1/√fan_in, from each network's own generator.
    The output layer is padded with zero columns to a multiple of 16: fused AdamW rounds the tail of a tensor
    that does not fill a vector register differently, and the result would depend on what shares the stack.
    """

    def __init__(self, keys: Sequence[tuple[int, int]], n_inputs: int, hidden: int, n_outputs: int):
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
        """The m-th network alone, sharing its weights."""
        one = copy(self)
        one.keys, one.parameters = self.keys[m : m + 1], [p[m : m + 1] for p in self.parameters]
        return one

    def with_parameters(self, parameters: list[Tensor]) -> StackedMLP:
        """The same networks with other weights."""
        other = copy(self)
        other.parameters = parameters
        return other

    def after(self, first: Tensor, masks: Sequence[Tensor] = ()) -> Tensor:
        """Outputs (M, R, C) from the inputs times the first weights, (M, R, H).

        ``masks`` are dropout factors (M, R, H), one per hidden layer.
        """
        _, b1, w2, b2, w3, b3 = self.parameters
        h = torch.relu(first + b1)
        h = h * masks[0] if masks else h
        h = torch.relu(torch.baddbmm(b2, h, w2))
        h = h * masks[1] if masks else h
        return torch.baddbmm(b3, h, w3)[..., : self.n_outputs]


class Inputs:
    """Training features (N, D), without the columns that are 0 throughout: ``live`` (L,) are the others.

    Sparse bits, as fingerprints are, are multiplied as sums of rows of the weights.
    """

    def __init__(self, x: np.ndarray):
        self.width = x.shape[1]
        self.live = torch.from_numpy(np.flatnonzero(x.any(axis=0)))
        x = x[:, self.live.numpy()]
        self.x = torch.tensor(x, dtype=torch.float32)
        bits = bool(((x == 0) | (x == 1)).all())
        self.ones = csr_matrix(x) if bits and x.sum() < SPARSE * x.size else None

    def to(self, device: str) -> Inputs:
        """The same on another device; sums of rows win on a CPU only."""
        if device == "cpu":
            return self
        other = copy(self)
        other.x, other.ones = self.x.to(device), None
        return other

    def times(self, weight: Tensor, rows: Tensor) -> Tensor:
        """The product (M, R, H) of rows (M, R) of the features with the live weights (M, L, H) of M networks."""
        return self.product(rows)(weight)

    def product(self, rows: Tensor) -> Callable[[Tensor], Tensor]:
        """``times`` for these rows."""
        if self.ones is None:
            x = self.x[rows]
            return lambda weight: torch.bmm(x, weight)
        picked = self.ones[rows.flatten().numpy()]  # (M·R, L), to become block-diagonal (M·R, M·L)
        network = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(picked.indptr[:: rows.shape[1]]))
        width = len(self.live)
        shape = (rows.numel(), len(rows) * width)
        blocks = csr_matrix((picked.data, picked.indices + network * width, picked.indptr), shape=shape)
        by_column = blocks.tocsc()
        return lambda weight: _SumsOfRows.apply(weight, blocks, by_column)


class _SumsOfRows(torch.autograd.Function):
    """A product of 0/1 blocks with weights: outputs are sums of rows of weights, gradients sums of rows of outputs."""

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
    """Dropout factors, 0 or 1/(1−p), drawn for each network from its own generator."""

    def __init__(self, keys: Sequence[tuple[int, int]], p: float, stream: Stream):
        states = [int(generator(stream, seed, member).integers(2**63)) for seed, member in keys]
        self.p, self.generators = p, [torch.Generator().manual_seed(state) for state in states]

    def masks(self, rows: int, hidden: int, device: str = "cpu") -> list[Tensor]:
        """One tensor (M, rows, hidden) for each of the two hidden layers; none if p is 0. Drawn on the CPU."""
        if self.p == 0:
            return []
        keep = 1 - self.p
        both = torch.stack([torch.empty(2, rows, hidden).bernoulli_(keep, generator=g) for g in self.generators], 1)
        return list((both / keep).to(device))
