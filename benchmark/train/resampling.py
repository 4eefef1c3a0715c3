"""All randomness, keyed by what it is for, the train seed and the member.

A draw never depends on what else is drawn, so every method at train seed s sees the same bootstraps,
initialisations and batch orders, whichever methods and seeds run beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from benchmark.errors import UserError
from benchmark.types import Problem

Stream = Literal[
    "bootstrap",
    "initialisation",
    "batches",
    "dropout",
    "dropout at prediction",
    "forest",
    "other",
    "shards",
    "overlap",
    "augmentation",
]
STREAMS: dict[Stream, int] = {
    "bootstrap": 0,
    "initialisation": 1,
    "batches": 2,
    "dropout": 3,
    "dropout at prediction": 4,
    "forest": 5,
    "other": 6,
    "shards": 7,
    "overlap": 8,
    "augmentation": 9,
}


def generator(stream: Stream, seed: int, member: int = 0) -> np.random.Generator:
    """An independent random generator for one purpose of one member at one train seed."""
    return np.random.default_rng([STREAMS[stream], seed, member])


def bootstrap(problem: Problem, seeds: Sequence[int], members: int = 1) -> np.ndarray:
    """Rows (S, K, N) int64 of the training pool: N draws with replacement for each seed and member.

    Paper, section Cross-sample prediction churn, "Bootstrap estimator".
    """
    n = len(problem.train)
    draws = [[generator("bootstrap", s, k).integers(0, n, size=n) for k in range(members)] for s in seeds]
    return np.array(draws, dtype=np.int64).reshape(len(seeds), members, n)


def shards(problem: Problem, seeds: Sequence[int]) -> np.ndarray:
    """Rows (S, 2, N//2) int64: the bootstrap of each seed (its member 0) in two shards that share no molecule.

    A molecule goes with all its repeats to the shard that is shorter so far, the most often drawn first and ties in
    random order. The lengths then differ by one at most; what is over is left out. Raises UserError for a training
    pool so small that its bootstrap cannot be divided.
    """
    size = len(problem.train) // 2
    found = []
    for seed, (rows,) in zip(seeds, bootstrap(problem, seeds), strict=True):
        molecules, repeats = np.unique(rows, return_counts=True)
        order = generator("shards", seed).permutation(len(molecules))
        parts: list[list[int]] = [[], []]
        for i in order[np.argsort(-repeats[order], kind="stable")]:
            min(parts, key=len).extend([molecules[i]] * repeats[i])
        if min(map(len, parts)) < size:
            raise UserError(
                f"{problem.name}: the bootstrap of train seed {seed} cannot be divided into two shards of {size} "
                f"rows without a molecule in common: {len(rows)} training rows are too few, take a larger dataset"
            )
        found.append([part[:size] for part in parts])
    return np.array(found, dtype=np.int64).reshape(len(seeds), 2, size)


def overlapping(problem: Problem, seeds: Sequence[int], share: float) -> np.ndarray:
    """Rows (S, 2, N) int64 of two networks, of which a ``share`` in [0, 1] is drawn for both together.

    Each of the N draws is, with probability ``share``, that of the seed's bootstrap (its member 0) for both networks,
    and otherwise one for each from its own half of the training pool, halved at random for the seed. At 0 the two
    share no molecule, at 1 every one; what is common at a share stays so at a larger one.
    """
    n = len(problem.train)
    found = []
    for seed, (common,) in zip(seeds, bootstrap(problem, seeds), strict=True):
        draw = generator("overlap", seed)
        halves = np.split(draw.permutation(n), [n // 2])
        together = draw.random(n) < share
        own = [half[draw.integers(0, len(half), size=n)] for half in halves]
        found.append(np.where(together, common, own))
    return np.array(found, dtype=np.int64).reshape(len(seeds), 2, n)


class Overlap(NamedTuple):
    """What two networks share of their training molecules, as fractions (S,): see ``overlap``."""

    of_pool: np.ndarray
    of_network: np.ndarray


def overlap(rows: np.ndarray, n: int) -> Overlap:
    """How much the rows (S, 2, R) of two networks overlap in a training pool of ``n``, whatever their repeats.

    ``of_pool`` is the fraction of the pool that both networks hold; ``of_network`` the fraction of one network's
    distinct molecules that the other holds too, averaged over the two. Independent bootstraps share (1 − 1/e)² ≈ 40 %
    of the pool, 63 % of each (paper, overlap appendix).
    """
    holds = np.zeros((len(rows), 2, n), dtype=bool)
    np.put_along_axis(holds, rows, True, axis=2)
    both = holds.all(axis=1).sum(axis=1)
    return Overlap(both / n, (both[:, None] / holds.sum(axis=2)).mean(axis=1))
