"""Triage: the share of all flips among the examples that a score ranks first (paper, section 5 and appendices).

A score is computed from some runs and judged by the flips among the others, if enough are left: judged by flips it has
seen, it would look better than it is. The paper scores and counts flips on the same runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from benchmark.measure.basics import entropy, flip_rate, votes
from benchmark.types import Predictions

DECILE = 0.1
REVIEWED = 0.3
"""Share of predictions that is reviewed in the paper."""
RUNS = (2, 3, 5, 10)
"""Numbers of retrainings that a score is computed from (paper, appendix on convergence)."""
SUBSETS = 45
"""Maximum number of sets of runs that are tried for a score from few runs: all pairs of ten."""


@dataclass(frozen=True)
class Gain:
    """Gain curve: the share of all flips ``captured`` in the first ``shares`` (T + 1,) of examples, ordered by a score.

    ``rate`` is the mean flip rate of all examples. Ties are counted as the expectation over random orders.
    """

    shares: np.ndarray
    captured: np.ndarray
    rate: float

    def recall(self, share: float | np.ndarray) -> np.ndarray:
        """Return the share of all flips among the first ``share`` of examples."""
        return np.interp(share, self.shares, self.captured)

    @property
    def area(self) -> float:
        """Area under the curve of precision (mean flip rate of the first n examples) against coverage n/T: AuPC."""
        return float(np.mean(self.captured[1:] / self.shares[1:]) * self.rate)


def gain(score: np.ndarray, flips: np.ndarray) -> Gain:
    """Return the curve for a ``score`` (T,), highest first, and the ``flips`` (T,) of the same examples.

    If there are no flips, ``captured`` is nan.

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
    """Return curves for the per-example churn of ``k`` runs of a classification, for up to 45 sets of runs.

    Each is judged by the flips among the other runs if there are two or more, otherwise by those among all runs (as in
    the paper with ``k`` = R). Raises ValueError if ``k`` is below 2 or above R.
    """
    r = len(p.seeds)
    if not 2 <= k <= r:
        raise ValueError(f"a score needs 2 to {r} of {r} runs, got {k}")
    each = votes(p)
    every = each.sum(axis=0)
    used = [each[runs].sum(axis=0) for runs in subsets(r, k)]
    return [gain(flip_rate(counts), _flips(every, counts)) for counts in used]


def by_entropy(p: Predictions) -> list[Gain]:
    """Return a curve for the predictive entropy of each run, judged by the flips among the other runs."""
    each = votes(p)
    every = each.sum(axis=0)
    return [gain(score, _flips(every, used)) for score, used in zip(entropy(p), each, strict=True)]


def by_mean_entropy(p: Predictions) -> list[Gain]:
    """Return the curve for the entropy averaged over all runs, judged by the flips among all runs.

    The paper describes the entropy of a single model, but this definition reproduces its numbers.
    """
    return [gain(entropy(p).mean(axis=0), flip_rate(votes(p).sum(axis=0)))]


def mean_recall(curves: Sequence[Gain], share: float | np.ndarray) -> np.ndarray:
    """Return the mean over ``curves`` of the share of flips captured at each ``share``; nan without flips."""
    return np.asarray(np.mean([curve.recall(share) for curve in curves], axis=0))


def measured(p: Predictions) -> dict[str, float]:
    """Return how well the churn of two runs and the entropy of one find flips.

    Scores marked "seen" are computed from all runs and judged by the same runs, as in the paper.
    """
    curves = {
        "churn": by_churn(p, 2),
        "entropy": by_entropy(p),
        "churn, seen": by_churn(p, len(p.seeds)),
        "entropy, seen": by_mean_entropy(p),
    }
    numbers = {f"recall of {score}": float(mean_recall(c, DECILE)) for score, c in curves.items()}
    numbers |= {f"area of {score}": float(np.mean([curve.area for curve in c])) for score, c in curves.items()}
    for name in ("recall", "area"):
        numbers[f"{name}, difference"] = numbers[f"{name} of churn"] - numbers[f"{name} of entropy"]
    return numbers


def _flips(every: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Return the churn among the runs that are not ``used``, or among all if fewer than two are left, (T,).

    Both are numbers of runs that predict each class, (T, C).
    """
    others = every - used
    return flip_rate(others if others[0].sum() >= 2 else every)


def subsets(r: int, k: int) -> list[list[int]]:
    """Return all sets of ``k`` of ``r`` runs, or the same ``SUBSETS`` random ones if there are more."""
    if comb(r, k) <= SUBSETS:
        return [list(runs) for runs in combinations(range(r), k)]
    rng = np.random.default_rng(0)
    return [rng.choice(r, size=k, replace=False).tolist() for _ in range(SUBSETS)]
