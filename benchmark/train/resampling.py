"""All randomness, keyed by what it is for, the train seed and the member.

A draw never depends on what else is drawn, so every method at train seed s sees the same bootstraps,
initialisations and batch orders, whichever methods and seeds run beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from benchmark.types import Problem

Stream = Literal["bootstrap", "initialisation", "batches", "dropout", "dropout at prediction", "forest", "other"]
STREAMS: dict[Stream, int] = {
    "bootstrap": 0,
    "initialisation": 1,
    "batches": 2,
    "dropout": 3,
    "dropout at prediction": 4,
    "forest": 5,
    "other": 6,
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
