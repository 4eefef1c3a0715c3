"""Batches of molecules as graphs, made by index arithmetic, in which nothing is computed twice.

After l layers of message passing, an atom's row depends only on its environment of radius l. Environments that occur
more than once in a batch, such as those of all methyl carbons, are merged: one row stands for all of them. The classes
of equal environments are the colours of Weisfeiler and Leman's refinement, computed once for a set of molecules.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag


@dataclass(frozen=True)
class Lists:
    """R lists of integers: the length of each (R,), and their values, one list after another."""

    counts: np.ndarray
    values: np.ndarray

    @cached_property
    def starts(self) -> np.ndarray:
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def owners(self) -> np.ndarray:
        """The number of the list of each value."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def at(self, rows: np.ndarray | slice) -> "Lists":
        """Return the lists with the given numbers (P,)."""
        counts = self.counts[rows]
        shift = self.starts[rows] - (np.cumsum(counts) - counts)
        return Lists(counts, self.values[np.arange(counts.sum()) + np.repeat(shift, counts)])


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows (U, D) of a matrix (R, D), and the position (R,) of each row among them."""
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel().tolist()
    seen: dict[Any, int] = {}  # several times faster than sorting the rows, as numpy.unique does
    first = np.array([seen.setdefault(key, i) for i, key in enumerate(keys)], dtype=np.int64)
    values, inverse = np.unique(first, return_inverse=True)
    return rows[values], inverse


def refined(colours: np.ndarray, seen: np.ndarray, lists: Lists) -> np.ndarray:
    """Return new colours (R,) of R items, equal where the old ones are and where the items see the same colours.

    ``lists`` are the positions in ``seen`` of the colours that each item sees, in any order.
    """
    padded = np.full((len(colours), lists.counts.max(initial=0)), -1)
    padded[lists.owners, np.arange(len(lists.values)) - lists.starts[lists.owners]] = seen[lists.values]
    return distinct(np.column_stack([colours, np.sort(padded, axis=1)]))[1]


def merged(colours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions (U,) of one item of each colour, and the number (R,) of each item's colour among them.

    Both depend only on which colours are equal, not on their values, hence on nothing outside the batch.
    """
    place = np.arange(len(colours))
    last = np.empty(colours.max(initial=0) + 1, dtype=np.int64)
    last[colours] = place
    standing = last[colours]
    stands = standing == place
    return np.flatnonzero(stands), (np.cumsum(stands) - 1)[standing]


class Sums:
    """Sums of the rows of a matrix (C, H), one for each of R lists of row numbers, to (R, H)."""

    def __init__(self, lists: Lists, width: int, device: torch.device) -> None:
        small = lists.values.astype(np.min_scalar_type(width))  # a stable sort of 16 bits takes linear time
        by_row = Lists(np.bincount(small, minlength=width), lists.owners[np.argsort(small, kind="stable")])
        self.lists = torch.from_numpy(lists.values).to(device), torch.from_numpy(lists.starts).to(device)
        self.by_row = torch.from_numpy(by_row.values).to(device), torch.from_numpy(by_row.starts).to(device)

    def of(self, rows: Tensor) -> Tensor:
        """Return the sums (R, H) of rows (C, H)."""
        index, starts = self.lists
        return embedding_bag(index, rows, starts, mode="sum")

    def back(self, gradient: Tensor) -> Tensor:
        """Return the gradient with respect to the rows (C, H) from that with respect to their sums (R, H)."""
        index, starts = self.by_row
        return embedding_bag(index, gradient, starts, mode="sum")

    def __call__(self, rows: Tensor) -> Tensor:
        """Return the sums (R, H) of rows (C, H), in the graph."""
        return _Sums.apply(rows, self)


class _Sums(torch.autograd.Function):
    """PyTorch's own backward pass adds the rows one by one."""

    @staticmethod
    def forward(context: Any, rows: Tensor, sums: Sums) -> Tensor:
        context.sums = sums
        return sums.of(rows)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return context.sums.back(gradient), None


class Step(NamedTuple):
    """A layer of a batch: the row of the layer before that each row (R,) continues, and sums of what it receives."""

    own: Tensor
    received: Sums


class Layers(NamedTuple):
    """The nodes of a batch of molecules, as rows of a network's layers."""

    features: Tensor
    """Those of the distinct nodes (R, D), the rows of the first layer."""
    steps: list[Step]
    nodes: Lists
    """The nodes of each molecule."""
    rows: np.ndarray
    """The row (P,) of the last layer that stands for each node of the batch."""
    width: int
    """The number of these rows."""


class Nodes:
    """The nodes of N molecules, which are atoms or bonds and receive the rows of others in each layer."""

    def __init__(self, counts: np.ndarray, features: np.ndarray, received: Lists, layers: int) -> None:
        """Take the number (N,) of nodes of each molecule, the features (R, D) of all, and the nodes each receives."""
        self.of_molecules, self.received, self.layers = Lists(counts, np.arange(counts.sum())), received, layers
        self.features, self.types = distinct(features)

    @cached_property
    def environments(self) -> list[np.ndarray]:
        """For each layer, the colours (R,) of all nodes by their environments."""
        colours = [self.types]
        for _ in range(self.layers):
            colours.append(refined(colours[-1], colours[-1], self.received))
        return colours[1:]

    def batch(self, rows: np.ndarray | slice, merge: bool, device: torch.device) -> Layers:
        """Return the molecules of rows (B,); ``merge`` equal environments unless dropout tells them apart."""
        nodes = self.of_molecules.at(rows)
        ids, everything = nodes.values, np.arange(len(nodes.values))
        some, row = merged(self.types[ids])  # positions of the nodes that are computed, and the row of each node
        features, steps, width = self.features[self.types[ids[some]]], [], len(some)
        for layer in range(self.layers):
            some, after = merged(self.environments[layer][ids]) if merge else (everything, everything)
            before = self.received.at(ids[some])
            here = before.values + np.repeat(some - ids[some], before.counts)  # positions in the batch
            sums = Sums(Lists(before.counts, row[here]), width, device)
            steps.append(Step(torch.from_numpy(row[some]).to(device), sums))
            row, width = after, len(some)
        return Layers(torch.from_numpy(features).to(device), steps, nodes, row, width)
