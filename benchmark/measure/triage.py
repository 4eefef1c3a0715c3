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

from benchmark.measure.basics import entropy, predicted_class
from benchmark.types import Predictions

DECILE = 0.1
REVIEWED = 0.3
"""The share of predictions that the paper has reviewed."""
RUNS = (2, 3, 5, 10)
"""Retrainings that the score is made from (paper, appendix on convergence)."""
SUBSETS = 45
"""So many sets of runs are tried for a score from few runs: all pairs of ten, and no more of them."""


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

    >>> gain(np.array([0.9, 0.1, 0.5, 0.5]), np.array([0.5, 0.0, 0.5, 0.0])).captured.tolist()
    [0.0, 0.5, 0.75, 1.0, 1.0]
    """
    _, group = np.unique(-score, return_inverse=True)
    mean = np.bincount(group, weights=flips) / np.bincount(group)
    ordered = mean[np.sort(group)]
    with np.errstate(invalid="ignore"):
        captured = np.concatenate([[0.0], np.cumsum(ordered)]) / flips.sum()
    return Gain(np.linspace(0, 1, len(score) + 1), captured, float(flips.mean()))


def by_churn(p: Predictions, k: int) -> list[Gain]:
    """Curves of the per-example churn of ``k`` runs of a classification, for up to 45 sets of runs: see ``average``.

    Each is judged by the flips among the other runs if there are two or more, else by those among all runs: with
    ``k`` = R as in the paper. Raises ValueError for ``k`` below 2 or above R.
    """
    r = len(p.seeds)
    if not 2 <= k <= r:
        raise ValueError(f"a score needs 2 to {r} of {r} runs, got {k}")
    votes = _votes(p)
    chosen = [votes[runs].sum(axis=0) for runs in subsets(r, k)]
    return [gain(_churn(some), _flips(votes.sum(axis=0), some)) for some in chosen]


def by_entropy(p: Predictions) -> list[Gain]:
    """A curve for the predictive entropy of each run, judged by the flips among the other runs."""
    votes = _votes(p)
    every = votes.sum(axis=0)
    return [gain(score, _flips(every, own)) for score, own in zip(entropy(p), votes, strict=True)]


def by_mean_entropy(p: Predictions) -> list[Gain]:
    """The curve for the entropy averaged over all runs, judged by the flips among all runs.

    The paper speaks of the entropy of a single model; this is what gives its numbers.
    """
    return [gain(entropy(p).mean(axis=0), _churn(_votes(p).sum(axis=0)))]


def average(curves: Sequence[Gain], what: Callable[[Gain], float]) -> float:
    """The mean over ``curves`` of one number of each; nan where there is no flip."""
    return float(np.mean([what(curve) for curve in curves]))


def recall_curve(curves: Sequence[Gain], shares: np.ndarray) -> np.ndarray:
    """The mean over ``curves`` of the share of flips captured at each of ``shares``."""
    return np.asarray(np.mean([curve.recall(shares) for curve in curves], axis=0))


def decile(curve: Gain) -> float:
    """Share of all flips in the first tenth of examples."""
    return float(curve.recall(DECILE))


def measured(p: Predictions) -> dict[str, float]:
    """How well scores of one retraining workflow find flips: of the churn of two runs and of the entropy of one.

    "seen" ones are made from all runs and judged by the same runs, as in the paper.
    """
    curves = {
        "churn": by_churn(p, 2),
        "entropy": by_entropy(p),
        "churn, seen": by_churn(p, len(p.seeds)),
        "entropy, seen": by_mean_entropy(p),
    }
    found = {f"recall of {score}": average(some, decile) for score, some in curves.items()}
    found |= {f"area of {score}": average(some, _area) for score, some in curves.items()}
    for what in ("recall", "area"):
        found[f"{what}, difference"] = found[f"{what} of churn"] - found[f"{what} of entropy"]
    return found


def _area(curve: Gain) -> float:
    return curve.area


def _votes(p: Predictions) -> np.ndarray:
    """1 for the class that a run predicts, (R, T, C)."""
    return np.eye(p.values.shape[2], dtype=np.int64)[predicted_class(p.values)]


def _churn(votes: np.ndarray) -> np.ndarray:
    """Share of pairs of runs that differ at each example, (T,), from how many runs predict each class, (T, C)."""
    r = votes[0].sum()
    return np.asarray((r * r - np.square(votes).sum(axis=1)) / (r * (r - 1)))


def _flips(every: np.ndarray, used: np.ndarray) -> np.ndarray:
    """The churn among the runs that are not ``used``, or among all where fewer than two are left."""
    others = every - used
    return _churn(others if others[0].sum() >= 2 else every)


def subsets(r: int, k: int) -> list[list[int]]:
    """All sets of ``k`` of ``r`` runs, or ``SUBSETS`` of them drawn at random, the same each time."""
    if comb(r, k) <= SUBSETS:
        return [list(runs) for runs in combinations(range(r), k)]
    rng = np.random.default_rng(0)
    return [rng.choice(r, size=k, replace=False).tolist() for _ in range(SUBSETS)]
