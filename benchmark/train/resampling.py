"""Random generators, keyed by purpose, train seed and member, and the samples of the training pool.

A draw never depends on other draws, so all methods at a train seed see the same bootstraps, initialisations and
batch orders, whatever else runs.
"""

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from benchmark.errors import UserError, number_of
from benchmark.types import SAMPLINGS, Problem, Sample, Sampling

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
    "halving",
    "resampling",
    "folds",
]
STREAMS: dict[Stream, int] = {stream: number for number, stream in enumerate(get_args(Stream))}
"""The number of each stream, which keys its generators: append to ``Stream``, never reorder it."""

REVISIONS: dict[Sampling, int] = dict.fromkeys(SAMPLINGS, 1)
"""Raised when the sample of a retraining changes."""


def generator(stream: Stream, seed: int, member: int = 0) -> np.random.Generator:
    """Return an independent random generator for one purpose, train seed and member."""
    return np.random.default_rng([STREAMS[stream], seed, member])


def sample_for(problem: Problem, sampling: Sampling, seed: int, device: str = "cpu") -> tuple[Sample, np.ndarray]:
    """Return what a retraining may see of the training pool, and the rows (R,) of the pool that its R molecules are.

    ``paper``: the pool; a single model is trained on a bootstrap of it (paper, section Cross-sample prediction churn).
    ``nested``: that bootstrap alone. ``halves``: train seeds 2j − 1 and 2j get the two halves of the j-th random
    halving of the pool, two independent samples; of an odd number of rows, one is left out. ``update``: the pool, with
    nothing resampled, and the rows that an earlier model knew.
    """
    n = len(problem.train)
    places = rows = resampled = np.arange(n)
    if sampling == "halves":
        order = generator("halving", (seed + 1) // 2).permutation(n)
        places = np.sort(order[: n // 2] if seed % 2 else order[n // 2 : n // 2 * 2])
        rows = resampled = np.arange(len(places))
    elif sampling != "update":
        rows = _draws("bootstrap", seed, 0, n)
    if sampling == "nested":
        places, resampled = np.unique(rows, return_inverse=True)
        rows = resampled
    pool = problem.train
    parts = pool.x[places], pool.y[places], pool.smiles[places], rows, resampled  # copies: a view leads to its base
    about = seed, sampling, problem.task, problem.n_outputs
    earlier_rows = problem.earlier_rows if sampling == "update" else None
    return Sample(*about, *parts, problem.recipe, earlier_rows, device=device), places


def before_update(sample: Sample) -> Sample:
    """Return the sample that the earlier model had, under the train seed of the partner.

    It is the same object each time. Raises UserError if there was no earlier model.
    """
    if sample.earlier is None:
        raise UserError(
            "there is no earlier model: the method needs --sampling update and a variant that says how many rows are "
            "new, as in bace@train=600@new=100"
        )
    return sample.earlier


def was_right(sample: Sample, outputs: np.ndarray) -> np.ndarray:
    """Return a mask (R,) of the molecules that ``outputs`` (R, C) have right.

    A number of a regression is right if its error is not above the median error.
    """
    if sample.task == "classification":
        return np.asarray(outputs.argmax(axis=1) == sample.y)
    errors = np.abs(outputs[:, 0] - sample.y)
    return np.asarray(errors <= np.median(errors))


def at_seed(sample: Sample, seed: int) -> Sample:
    """Return the sample of another train seed, which only ``paper`` grants. Raises UserError for other samplings."""
    if sample.sampling != "paper":
        raise UserError(f"the sampling {sample.sampling} hides the sample of train seed {seed} from other retrainings")
    return replace(sample, seed=seed, rows=_draws("bootstrap", seed, 0, len(sample)))


def bootstrap(sample: Sample, members: int = 1) -> np.ndarray:
    """Draw rows (K, N) int64 of the sample for K members, with replacement.

    Under ``paper`` they are drawn from the pool, and the first bootstrap is ``sample.rows``.
    """
    stream: Stream = "bootstrap" if sample.sampling == "paper" else "resampling"
    n = len(sample.bootstrap_pool)
    first = sample.member
    return np.stack([sample.bootstrap_pool[_draws(stream, sample.seed, first + k, n)] for k in range(members)])


def _draws(stream: Stream, seed: int, member: int, n: int) -> np.ndarray:
    return generator(stream, seed, member).integers(0, n, size=n)


def shards(sample: Sample, rows: np.ndarray) -> np.ndarray:
    """Divide ``rows`` (N,) of a sample into two shards without a common molecule: rows (2, N//2) int64.

    Molecules are assigned with all their repeats to the shard that is shorter so far, most repeated first, ties in
    random order. The lengths then differ by at most one; a surplus row is dropped. Raises UserError if there are too
    few rows to divide.
    """
    size = len(rows) // 2
    molecules, repeats = np.unique(rows, return_counts=True)
    order = generator("shards", sample.seed, sample.member).permutation(len(molecules))
    parts: list[list[int]] = [[], []]
    for i in order[np.argsort(-repeats[order], kind="stable")]:
        min(parts, key=len).extend([molecules[i]] * repeats[i])
    if min(map(len, parts)) < size:
        raise UserError(
            f"the {len(rows)} training rows of train seed {sample.seed} cannot be divided into two shards of "
            f"{number_of(size, 'row')} without a common molecule: use a larger dataset"
        )
    return np.array([part[:size] for part in parts], dtype=np.int64)
