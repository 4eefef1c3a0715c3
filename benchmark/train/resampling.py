"""Random generators, keyed by purpose, train seed and member, and resampling of the training pool.

A draw never depends on other draws, so all methods at a train seed see the same bootstraps, initialisations and
batch orders, whatever else runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

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
STREAMS: dict[Stream, int] = {stream: number for number, stream in enumerate(get_args(Stream))}
"""The number of each stream, which keys its generators: append to ``Stream``, never reorder it."""


def generator(stream: Stream, seed: int, member: int = 0) -> np.random.Generator:
    """Return an independent random generator for one purpose, train seed and member."""
    return np.random.default_rng([STREAMS[stream], seed, member])


def bootstrap(problem: Problem, seeds: Sequence[int], members: int = 1) -> np.ndarray:
    """Draw rows (S, K, N) int64 of the training pool: N with replacement for each seed and member.

    Paper, section Cross-sample prediction churn, "Bootstrap estimator".
    """
    n = len(problem.train)
    draws = [[generator("bootstrap", s, k).integers(0, n, size=n) for k in range(members)] for s in seeds]
    return np.array(draws, dtype=np.int64).reshape(len(seeds), members, n)


def shards(problem: Problem, seeds: Sequence[int]) -> np.ndarray:
    """Divide the bootstrap of each seed (member 0) into two shards without a common molecule: rows (S, 2, N//2) int64.

    Molecules are assigned with all their repeats to the shard that is shorter so far, most repeated first, ties in
    random order. The lengths then differ by at most one; a surplus row is dropped. Raises UserError if the training
    pool is so small that its bootstrap cannot be divided.
    """
    size = len(problem.train) // 2
    pairs = []
    for seed, (rows,) in zip(seeds, bootstrap(problem, seeds), strict=True):
        molecules, repeats = np.unique(rows, return_counts=True)
        order = generator("shards", seed).permutation(len(molecules))
        parts: list[list[int]] = [[], []]
        for i in order[np.argsort(-repeats[order], kind="stable")]:
            min(parts, key=len).extend([molecules[i]] * repeats[i])
        if min(map(len, parts)) < size:
            raise UserError(
                f"{problem.name}: the bootstrap of train seed {seed} cannot be divided into two shards of {size} "
                f"rows without a common molecule: {len(rows)} training rows are too few; use a larger dataset"
            )
        pairs.append([part[:size] for part in parts])
    return np.array(pairs, dtype=np.int64).reshape(len(seeds), 2, size)


def overlapping(problem: Problem, seeds: Sequence[int], share: float) -> np.ndarray:
    """Draw rows (S, 2, N) int64 for two networks that have an expected ``share`` in [0, 1] of their draws in common.

    With probability ``share``, both networks take a draw from the seed's bootstrap (member 0). Otherwise each draws
    from its own half of the training pool, which is split at random for each seed. At 0 the two share no molecule, at
    1 all of them; draws in common at one share remain in common at a larger one.
    """
    n = len(problem.train)
    pairs = []
    for seed, (common,) in zip(seeds, bootstrap(problem, seeds), strict=True):
        draw = generator("overlap", seed)
        halves = np.split(draw.permutation(n), [n // 2])
        together = draw.random(n) < share
        separate = [half[draw.integers(0, len(half), size=n)] for half in halves]
        pairs.append(np.where(together, common, separate))
    return np.array(pairs, dtype=np.int64).reshape(len(seeds), 2, n)


class Overlap(NamedTuple):
    """Fractions (S,) of training molecules that two networks share, as returned by ``overlap``."""

    of_pool: np.ndarray
    of_network: np.ndarray


def overlap(rows: np.ndarray, n: int) -> Overlap:
    """Measure the overlap of the rows (S, 2, R) of two networks in a training pool of ``n``, ignoring repeats.

    ``of_pool`` is the fraction of the pool held by both networks; ``of_network`` is the fraction of one network's
    distinct molecules that the other also holds, averaged over the two. Independent bootstraps share (1 − 1/e)² ≈ 40 %
    of the pool and 63 % of each network's molecules (paper, overlap appendix).
    """
    holds = np.zeros((len(rows), 2, n), dtype=bool)
    np.put_along_axis(holds, rows, True, axis=2)
    both = holds.all(axis=1).sum(axis=1)
    return Overlap(both / n, (both[:, None] / holds.sum(axis=2)).mean(axis=1))
