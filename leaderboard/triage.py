"""Triage: how many of all flips are among the examples that a score puts first (paper, sections 5 and appendices).

A score is made from some runs, flips are counted on other runs, where there are enough of them: a score that has seen
the flips it is judged by looks better than it is. The paper scores on the runs that it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from benchmark.types import Predictions
from leaderboard.quantities import entropy, example_churn

DECILE = 0.1
SUBSETS = 30
"""So many sets of runs are tried for a score from few runs, as in the paper; all of them where there are no more."""


@dataclass(frozen=True)
class Gain:
    """Flips by share reviewed: of the ``shares`` (T + 1,) of examples, in the order of a score, ``captured`` of all
    flips lie there; ``rate`` is the mean flip rate of all examples. Equal scores come in random order: in expectation.
    """

    shares: np.ndarray
    captured: np.ndarray
    rate: float

    def recall(self, share: float | np.ndarray) -> np.ndarray:
        """Share of all flips among the first ``share`` of examples."""
        return np.interp(share, self.shares, self.captured)

    @property
    def area(self) -> float:
        """Area under the curve of precision (mean flip rate of the first n examples) against coverage n/T: AuPC."""
        return float(np.mean(self.captured[1:] / self.shares[1:]) * self.rate)


def gain(score: np.ndarray, flips: np.ndarray) -> Gain:
    """The curve for a ``score`` (T,), high first, and the ``flips`` (T,) of the same examples.

    Without any flip nothing can be captured: nan.

    >>> gain(np.array([0.9, 0.1, 0.5, 0.5]), np.array([0.4, 0.0, 0.4, 0.0])).captured.tolist()
    [0.0, 0.5, 0.75, 1.0, 1.0]
    """
    _, group = np.unique(-score, return_inverse=True)
    mean = np.bincount(group, weights=flips) / np.bincount(group)
    ordered = mean[np.sort(group)]
    with np.errstate(invalid="ignore"):
        captured = np.concatenate([[0.0], np.cumsum(ordered)]) / flips.sum()
    return Gain(np.linspace(0, 1, len(score) + 1), captured, float(flips.mean()))


def by_churn(p: Predictions, k: int) -> list[Gain]:
    """Curves of the per-example churn of ``k`` runs, for up to 30 sets of runs: see ``average``.

    Each is judged by the flips among the other runs if there are two or more, else by those among all runs: with
    ``k`` = R as in the paper. Raises ValueError for ``k`` below 2 or above R.
    """
    r = len(p.seeds)
    if not 2 <= k <= r:
        raise ValueError(f"a score needs 2 to {r} of {r} runs, got {k}")
    return [_gain(example_churn(_only(p, chosen)), p, chosen) for chosen in _subsets(r, k)]


def by_entropy(p: Predictions, in_sample: bool = False) -> list[Gain]:
    """A curve for the predictive entropy of each run, judged by the flips among the other runs.

    With ``in_sample``, as in the paper, by those among all runs.
    """
    flips = example_churn(p)
    scores = entropy(p)
    return [gain(score, flips) if in_sample else _gain(score, p, (run,)) for run, score in enumerate(scores)]


def average(curves: Sequence[Gain], what: Callable[[Gain], float]) -> float:
    """The mean over ``curves`` of one number of each; nan where there is no flip."""
    return float(np.mean([what(curve) for curve in curves]))


def recall_curve(curves: Sequence[Gain], shares: np.ndarray) -> np.ndarray:
    """The mean over ``curves`` of the share of flips captured at each of ``shares``."""
    return np.asarray(np.mean([curve.recall(shares) for curve in curves], axis=0))


def decile(curve: Gain) -> float:
    """Share of all flips in the first tenth of examples."""
    return float(curve.recall(DECILE))


def _gain(score: np.ndarray, p: Predictions, used: Sequence[int]) -> Gain:
    others = [run for run in range(len(p.seeds)) if run not in used]
    return gain(score, example_churn(_only(p, others) if len(others) >= 2 else p))


def _only(p: Predictions, runs: Sequence[int]) -> Predictions:
    return Predictions(tuple(p.seeds[run] for run in runs), p.ids, p.y, p.values[list(runs)], p.task)


def _subsets(r: int, k: int) -> list[tuple[int, ...]]:
    """All sets of ``k`` of ``r`` runs, or ``SUBSETS`` of them drawn at random, the same each time."""
    if comb(r, k) <= SUBSETS:
        return list(combinations(range(r), k))
    rng = np.random.default_rng(0)
    return [tuple(int(run) for run in rng.choice(r, size=k, replace=False)) for _ in range(SUBSETS)]
