"""Changes by an update of a model: good and bad flips, and how much of a list of highest predictions changes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.types import Predictions, Task, partner

TOP = 0.1
"""Share of the test examples that a list of the highest predictions holds."""


@dataclass(frozen=True)
class Changes:
    """Changes from old to new predictions, (R,) each, for R pairs of runs on T examples: shares of the examples.

    A class flips if it differs; a number flips if it moves by more than the tolerance. A flip is bad if right turns
    wrong, or if the error grows; good if wrong turns right, or if the error does not grow.
    """

    flips: np.ndarray
    good: np.ndarray
    bad: np.ndarray
    turnover: np.ndarray
    """Share of the top list that is replaced."""


def changes(old: np.ndarray, new: np.ndarray, y: np.ndarray, task: Task, tolerance: float = 0.0) -> Changes:
    """Compare outputs (R, T, C) of R old models with those of R new ones, run by run, given the labels (T,).

    >>> old, new = np.array([[[0.9, 0.1], [0.4, 0.6]]]), np.array([[[0.2, 0.8], [0.7, 0.3]]])
    >>> found = changes(old, new, np.array([1, 1]), "classification")
    >>> found.flips, found.good, found.bad
    (array([1.]), array([0.5]), array([0.5]))
    """
    if task == "classification":
        before, after = old.argmax(axis=2), new.argmax(axis=2)
        flips, was, now = before != after, before == y, after == y
        good, bad = flips & ~was & now, flips & was & ~now
    else:
        flips = np.abs(new[..., 0] - old[..., 0]) > tolerance
        grows = np.abs(new[..., 0] - y) > np.abs(old[..., 0] - y)
        good, bad = flips & ~grows, flips & grows
    lists = [_top(values[..., -1]) for values in (old, new)]
    kept = (lists[0] & lists[1]).sum(axis=1) / lists[0].sum(axis=1)
    return Changes(flips.mean(axis=1), good.mean(axis=1), bad.mean(axis=1), 1 - kept)


def _top(scores: np.ndarray) -> np.ndarray:
    """Return masks (R, T) of the highest tenth of the scores (R, T); of equal ones, the first."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, : math.ceil(TOP * scores.shape[1])]
    mask = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(mask, order, True, axis=1)
    return mask


def partners(seeds: Sequence[int]) -> list[int]:
    """Return the partner of each train seed: 2j − 1 and 2j are partners, and a last one that has none joins those two
    before it, each of which then has the next as its partner.

    Raises ValueError for another seed without a partner.

    >>> partners([1, 2, 3, 4]), partners([1, 2, 3])
    ([2, 1, 4, 3], [2, 3, 1])
    """
    found = [*map(partner, seeds)]
    if len(seeds) % 2 and len(seeds) > 2:
        found[-3:] = [seeds[-2], seeds[-1], seeds[-3]]
    if lacking := set(found) - set(seeds):
        raise ValueError(f"train seed {min(lacking)} is missing")
    return found


def paired(old: Predictions, new: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """Return outputs (S, T, C) of the old models, each at the partner of a new run's train seed, and of the new runs.

    Raises ValueError for other test examples or a seed without its partner (``partners``).
    """
    if not np.array_equal(old.ids, new.ids):
        raise ValueError("old and new predictions are of different examples")
    place = {seed: i for i, seed in enumerate(old.seeds)}
    return old.values[[place[seed] for seed in partners(new.seeds)]], new.values


def by_pair(values: np.ndarray) -> np.ndarray:
    """Average values (S,) of train seeds 1, 2, 3, 4, … over the two of each pair: (S / 2,), rounded down.

    The two share both of their models' seeds, so a pair is the unit of replication. The last three of an odd number
    are averaged.
    """
    starts = 2 * np.arange(1, len(values) // 2)
    return np.array([part.mean() for part in np.split(values, starts)])
