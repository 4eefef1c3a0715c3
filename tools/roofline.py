"""The least time of training: what this machine's arithmetic and memory allow.

This is a roofline: Williams, Waterman and Patterson 2009, doi:10.1145/1498765.1498785.
"""

import time
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
import torch
from numba import njit

from benchmark.train import sample_for
from benchmark.train.device import one_thread
from benchmark.types import PAPER, Problem, Sampling

STEPS = 100
"""Random batches over which the bits of a batch are averaged."""
ADAMW_OPERATIONS, ADAMW_BYTES = 14, 28
"""Operations of AdamW for each weight, and bytes: it reads the gradient, and reads and writes weight and moments."""


class Counts(NamedTuple):
    """What a part of a step takes, or what a thread can do in a second."""

    operations: float
    """Floating-point operations, in a product of matrices (256, 256)."""
    bytes: float
    """Bytes read and written, in a copy of 4 MB, which stays in the caches."""
    roots: float = 0.0
    """Divisions by a square root, of numbers in the nearest cache."""
    divisions: float = 0.0
    """Other divisions there."""

    def least(self, rates: Self) -> float:
        """Return the seconds that the part takes at these rates."""
        slow = self.roots / rates.roots + self.divisions / rates.divisions
        return max(self.operations / rates.operations, self.bytes / rates.bytes, slow)


def rates() -> Counts:
    """Return what one thread can do in a second."""
    a, b, out = torch.rand(256, 256), torch.rand(256, 256), torch.empty(256, 256)
    source, target = np.zeros(2**19, np.float32), np.zeros(2**19, np.float32)
    few = np.ones(2**12, np.float32), np.ones(2**12, np.float32), np.empty(2**12, np.float32)
    with one_thread():
        return Counts(
            2 * 256**3 / _seconds(lambda: torch.mm(a, b, out=out)),
            2**22 / _seconds(lambda: np.copyto(target, source)),
            2**12 / _seconds(lambda: _by_roots(*few)),
            2**12 / _seconds(lambda: _divided(*few)),
        )


@njit(error_model="numpy")
def _by_roots(x, y, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        out[i] = x[i] / np.sqrt(y[i])


@njit(error_model="numpy")
def _divided(x, y, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        out[i] = x[i] / y[i]


def _seconds(run: Callable[[], object]) -> float:
    taken = []
    for _ in range(200):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def parts(problem: Problem, copies: int = 1) -> list[Counts]:
    """Return what each part of a training step of one network on ``copies`` batches takes.

    The inputs are bits, of which the first layer sums rows of its weights. A row that is touched is also moved on by
    the steps that do not touch it, with the same root. Coupled networks each see the batches of both: two copies.
    """
    x, h, c = problem.train.x > 0, problem.recipe.hidden, problem.n_outputs
    batch = copies * problem.recipe.batch_size
    batches = x[np.random.default_rng(0).integers(len(x), size=(STEPS, batch))]
    sums, touched = h * batches.sum() / STEPS, h * batches.any(axis=1).sum() / STEPS
    weights = h * (h + c)
    rest = weights + 2 * h + c
    return [
        Counts(sums, 4 * (sums + batch * h)),  # the first layer, forward
        Counts(sums, 4 * (sums + touched)),  # and backward
        Counts(2 * batch * weights, 4 * (weights + 2 * batch * h)),  # the other layers, forward
        Counts(4 * batch * weights, 8 * (weights + 2 * batch * h)),  # and backward
        Counts(ADAMW_OPERATIONS * touched, ADAMW_BYTES * touched, touched, touched),
        Counts(ADAMW_OPERATIONS * rest, ADAMW_BYTES * rest, rest),
    ]


def report(problem: Problem) -> None:
    """Print the least time of the networks that a train seed of the paper's methods needs.

    These are bagging's five and a deep ensemble's five, which share one under ``paper``, one with dropout, two twins.
    """
    of = rates()
    print(f"\nOne thread: {of.operations / 1e9:.0f} GFLOP/s, {of.bytes / 1e9:.0f} GB/s in the caches, ", end="")
    print(f"{of.roots / 1e9:.1f} billion divisions by roots, {of.divisions / 1e9:.1f} by numbers a second")
    samplings: tuple[tuple[Sampling, int], ...] = ((PAPER, 10), ("halves", 11))
    for sampling, single in samplings:
        steps = -(-len(sample_for(problem, sampling, 1)[0].rows) // problem.recipe.batch_size) * problem.recipe.epochs
        needed = [*parts(problem)] * single + [*parts(problem, copies=2)] * 2
        least = steps * sum(part.least(of) for part in needed)
        print(f"A train seed of the paper's methods under {sampling}: at least {least:.2f} s")
