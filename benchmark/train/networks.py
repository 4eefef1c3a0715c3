"""Perceptrons whose weights have a leading model axis, so that M networks are trained as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from benchmark.train.ensemble import Key, TrainedNetworks
from benchmark.train.resampling import Stream, generator

SPARSE = 0.1
"""The share of ones below which sums of rows are faster than a matrix product."""


class StackedMLP:
    """M two-hidden-layer ReLU perceptrons (paper, section Methods), one for each ``(seed, member)`` key.

    Weights are initialised as in torch.nn.Linear, uniform within ±1/√fan_in, from each network's own generator.
    ``dropout`` is the rate of stochastic forward passes at prediction.
    """

    def __init__(self, keys: Sequence[Key], n_inputs: int, hidden: int, n_outputs: int, dropout: float = 0.0):
        self.keys, self.n_outputs, self.dropout = keys, n_outputs, dropout
        layers = [(n_inputs, hidden), (hidden, hidden), (hidden, n_outputs)]
        self.parameters: list[Tensor] = []
        for rows, columns in layers:
            self.parameters += [torch.zeros(len(keys), rows, columns), torch.zeros(len(keys), 1, columns)]
        for m, (seed, member) in enumerate(keys):
            draw = generator("initialisation", seed, member)
            for layer, (rows, columns) in enumerate(layers):
                for parameter in self.parameters[2 * layer : 2 * layer + 2]:
                    uniform = 2 * draw.random((parameter.shape[1], columns), dtype=np.float32) - 1
                    parameter[m] = torch.from_numpy(uniform / np.float32(rows**0.5))

    def select(self, m: int) -> StackedMLP:
        """Return the m-th network alone, sharing its weights."""
        one = copy(self)
        one.keys, one.parameters = self.keys[m : m + 1], [p[m : m + 1] for p in self.parameters]
        return one

    @property
    def state(self) -> Sequence[Tensor]:
        return self.parameters

    def with_state(self, state: Sequence[Tensor]) -> StackedMLP:
        """Return the same networks with other weights."""
        other = copy(self)
        other.parameters = list(state)
        return other

    def started_from(self, networks: Sequence[TrainedNetworks]) -> StackedMLP:
        """Return these networks with the weights of others."""
        states = [of.state if isinstance(of, StackedMLP) else stacked(of.state) for of in networks]
        return self.with_state([torch.cat(parts) for parts in zip(*states, strict=True)])

    def as_layers(self) -> StackedMLP:
        """Return the only network with its weights (H, D) and biases (H,) as in torch.nn.Linear, to start a module."""
        return self.with_state([p[0, 0] if i % 2 else p[0].T for i, p in enumerate(self.parameters)])

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
        return torch.baddbmm(b3, h, w3)


def stacked(layers: Sequence[Tensor]) -> list[Tensor]:
    """Return the parameters of a StackedMLP of one network from those of torch.nn.Linear, (H, D) and (H,) in turn."""
    return [p.detach().T[None] if p.ndim == 2 else p.detach()[None, None] for p in layers]


class Inputs:
    """Training features (N, D). Sparse bits such as fingerprints are also a matrix in CSR form, ``ones``."""

    def __init__(self, x: np.ndarray):
        self.x = torch.tensor(x, dtype=torch.float32)
        bits = bool(((x == 0) | (x == 1)).all())
        self.ones = csr_matrix(x) if bits and x.sum() < SPARSE * x.size else None

    def live(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers (L,) of the columns that are not zero in all of these rows."""
        if self.ones is not None:
            return np.unique(self.ones[np.unique(rows)].indices)
        return np.flatnonzero(self.x[torch.from_numpy(np.unique(rows))].any(0).numpy())


class Dropout:
    """Dropout factors, 0 or 1/(1−p), drawn from each network's own generator."""

    def __init__(self, keys: Sequence[Key], p: float, stream: Stream):
        states = [int(generator(stream, *key).integers(2**63)) for key in keys]
        self.p, self.generators = p, [torch.Generator().manual_seed(state) for state in states]

    def masks(self, rows: int, hidden: int) -> list[Tensor]:
        """Draw one tensor (M, rows, hidden) per hidden layer; return no tensors if p is 0."""
        if self.p == 0:
            return []
        keep = 1 - self.p
        both = torch.stack([torch.empty(2, rows, hidden).bernoulli_(keep, generator=g) for g in self.generators], 1)
        return list(both / keep)
