"""Perceptrons on a CPU, and what they read: the weights of each begin with an axis of length one."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from benchmark.train.ensemble import Key
from benchmark.train.resampling import Stream, generator

SPARSE = 0.1
"""The share of ones below which sums of rows are faster than a matrix product."""


class Perceptron:
    """A perceptron with two hidden ReLU layers (paper, section Methods), whose weights multiply rows from the right.

    They are initialised as in torch.nn.Linear, uniform within ±1/√fan_in. ``dropout`` is the rate of stochastic forward
    passes at prediction.
    """

    def __init__(self, key: Key, n_inputs: int, hidden: int, n_outputs: int, dropout: float = 0.0):
        self.key, self.dropout = key, dropout
        self.state: list[Tensor] = []
        draw = generator("initialisation", *key)
        for rows, columns in [(n_inputs, hidden), (hidden, hidden), (hidden, n_outputs)]:
            for height in (rows, 1):
                uniform = 2 * draw.random((1, height, columns), dtype=np.float32) - 1
                self.state.append(torch.from_numpy(uniform / np.float32(rows**0.5)))

    def with_state(self, state: Sequence[Tensor]) -> Perceptron:
        other = copy(self)
        other.state = list(state)
        return other

    def started_from(self, state: Sequence[Tensor]) -> Perceptron:
        """Return this network with other weights, also those of a module: (H, D) and (H,)."""
        return self.with_state([p if p.ndim == 3 else (p.T if p.ndim == 2 else p[None])[None].detach() for p in state])

    @property
    def layers(self) -> list[Tensor]:
        """The weights (H, D) and biases (H,) as in torch.nn.Linear."""
        return [p[0, 0] if i % 2 else p[0].T for i, p in enumerate(self.state)]

    @torch.no_grad()
    def passes(self, x: np.ndarray, n: int) -> Tensor:
        features = torch.tensor(x, dtype=torch.float32)
        noise = Dropout(self.key, self.dropout if n > 1 else 0.0, "dropout at prediction")
        first = features[None] @ self.state[0]
        return torch.stack([self.after(first, noise.masks(len(x), first.shape[2]))[0] for _ in range(n)])

    def after(self, first: Tensor, masks: Sequence[Tensor] = ()) -> Tensor:
        """Return outputs (1, R, C) from ``first`` (1, R, H), the product of inputs and first-layer weights.

        ``masks`` are dropout factors (R, H), one per hidden layer.
        """
        _, b1, w2, b2, w3, b3 = self.state
        h = torch.relu(first + b1)
        h = h * masks[0] if masks else h
        h = torch.relu(torch.baddbmm(b2, h, w2))
        h = h * masks[1] if masks else h
        return torch.baddbmm(b3, h, w3)


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
    """Dropout factors, 0 or 1/(1−p), drawn from a network's own generator."""

    def __init__(self, key: Key, p: float, stream: Stream):
        self.p = p
        self.generator = torch.Generator().manual_seed(int(generator(stream, *key).integers(2**63)))

    def masks(self, rows: int, hidden: int) -> list[Tensor]:
        """Draw one tensor (rows, hidden) per hidden layer; return no tensors if p is 0."""
        return list(self.like(torch.empty(2, rows, hidden))) if self.p else []

    def like(self, rows: Tensor) -> Tensor:
        """Draw one factor for each number of ``rows``."""
        return torch.empty(rows.shape).bernoulli_(1 - self.p, generator=self.generator).div_(1 - self.p).to(rows.device)
