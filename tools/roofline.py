"""The least time of training: what this machine's arithmetic and memory allow.

This is a roofline: Williams, Waterman and Patterson 2009, doi:10.1145/1498765.1498785.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from benchmark.train import sample_for
from benchmark.train.device import one_thread
from benchmark.types import PAPER, Problem, Sampling

STEPS = 100
"""Random batches over which the bits of a batch are averaged."""
ADAMW_OPERATIONS, ADAMW_BYTES = 14, 28
"""Operations of AdamW for each weight, and bytes: it reads the gradient, and reads and writes weight and moments."""


def rates() -> tuple[float, float]:
    """Return what one thread can do in a second: floating-point operations in a product of matrices (256, 256), and
    bytes read and written by a copy of 4 MB, which stays in the caches."""
    a, b, out = torch.rand(256, 256), torch.rand(256, 256), torch.empty(256, 256)
    source, target = np.zeros(2**19, np.float32), np.zeros(2**19, np.float32)
    with one_thread():
        return 2 * 256**3 / _seconds(lambda: torch.mm(a, b, out=out)), 2**22 / _seconds(
            lambda: np.copyto(target, source)
        )


def _seconds(run: Callable[[], object]) -> float:
    taken = []
    for _ in range(50):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def parts(problem: Problem, copies: int = 1) -> list[tuple[float, float]]:
    """Return the operations and bytes of each part of a training step of one network on ``copies`` batches.

    The inputs are bits, of which the first layer sums rows of its weights. Coupled networks each see the batches of
    both: two copies.
    """
    x, h, c = problem.train.x > 0, problem.recipe.hidden, problem.n_outputs
    batch = copies * problem.recipe.batch_size
    batches = x[np.random.default_rng(0).integers(len(x), size=(STEPS, batch))]
    sums, touched = h * batches.sum() / STEPS, h * batches.any(axis=1).sum() / STEPS
    weights, biases = h * (h + c), 2 * h + c
    return [
        (sums, 4 * (sums + batch * h)),  # the first layer, forward
        (sums, 4 * (sums + touched)),  # and backward
        (2 * batch * weights, 4 * (weights + 2 * batch * h)),  # the other layers, forward
        (4 * batch * weights, 8 * (weights + 2 * batch * h)),  # and backward
        (ADAMW_OPERATIONS * touched, ADAMW_BYTES * touched),
        (ADAMW_OPERATIONS * (weights + biases), ADAMW_BYTES * (weights + biases)),
    ]


def report(problem: Problem) -> None:
    """Print the least time of the networks that a train seed of the paper's methods needs.

    These are bagging's five and a deep ensemble's five, which share one under ``paper``, one with dropout, two twins.
    """
    operations, moved = rates()
    print(f"\nOne thread: {operations / 1e9:.0f} GFLOP/s, {moved / 1e9:.0f} GB/s in the caches")
    samplings: tuple[tuple[Sampling, int], ...] = ((PAPER, 10), ("halves", 11))
    for sampling, single in samplings:
        steps = -(-len(sample_for(problem, sampling, 1)[0].rows) // problem.recipe.batch_size) * problem.recipe.epochs
        needed = [*parts(problem)] * single + [*parts(problem, copies=2)] * 2
        least = steps * sum(max(of / operations, size / moved) for of, size in needed)
        print(f"A train seed of the paper's methods under {sampling}: at least {least:.2f} s")
