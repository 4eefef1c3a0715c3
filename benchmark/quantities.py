"""What is measured on predictions, beyond ``benchmark.metrics``: pure functions, fractions, never percent.

R retrainings, T test examples, C classes, P = R(R−1)/2 pairs. A per-run quantity is (R,), a pairwise one a symmetric
matrix (R, R) with zeros on its diagonal, a contribution of each example (T,), whose mean over examples is the quantity.
Nothing of size P·T is ever made. What is undefined, as the churn of a class with no example, is nan.
"""

from __future__ import annotations

import numpy as np

from benchmark import metrics
from benchmark.types import Predictions

TOP = 10
"""How many examples a batch of acquisitions takes (paper, top-K appendix)."""
FLIPPING = 0.36
"""An example of the case study flips in at least this share of pairs of ERM's retrainings (paper, appendix)."""


def positive_fraction(p: Predictions) -> float:
    """Share of test examples of class 1: the prior that a top-K hit rate is to be compared with."""
    return float((p.y == 1).mean())


def churn_of_class(p: Predictions, label: int) -> np.ndarray:
    """Churn over the test examples of true class ``label``, (R, R) (paper, per-class appendix)."""
    rows = p.y == label
    if not rows.any():
        return np.full((len(p.seeds), len(p.seeds)), np.nan)
    return metrics.churn(p.values[:, rows])


def drift(of_run: np.ndarray) -> np.ndarray:
    """|Δ| of a per-run quantity (R,) between two retrainings, (R, R) (paper, additional metrics).

    >>> drift(np.array([0.7, 0.75, 0.7])).round(2).tolist()
    [[0.0, 0.05, 0.0], [0.05, 0.0, 0.05], [0.0, 0.05, 0.0]]
    """
    return np.abs(of_run[:, None] - of_run[None, :])


def precision(p: Predictions) -> np.ndarray:
    """Share of class 1 among the examples predicted as class 1, (R,); 0 where none is, as in scikit-learn."""
    hit, said, _ = _counts(p)
    return _ratio(hit, said)


def recall(p: Predictions) -> np.ndarray:
    """Share predicted as class 1 among the examples of class 1, (R,); 0 where there is none."""
    hit, _, true = _counts(p)
    return _ratio(hit, true)


def f1(p: Predictions) -> np.ndarray:
    """Harmonic mean of precision and recall of class 1, (R,); 0 where there is neither."""
    hit, said, true = _counts(p)
    return _ratio(2 * hit, said + true)


def _counts(p: Predictions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    said, true = metrics.predicted_class(p.values) == 1, p.y == 1
    return (said & true).sum(axis=1), said.sum(axis=1), np.full(len(p.seeds), true.sum())


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def average_precision(p: Predictions) -> np.ndarray:
    """Average precision of class 1 by its odds, (R,), as scikit-learn has it; nan without an example of it."""
    from sklearn.metrics import average_precision_score  # late: it takes a second

    true = p.y == 1
    if not true.any():
        return np.full(len(p.seeds), np.nan)
    return np.array([average_precision_score(true, score) for score in _log_odds(p)])


def example_accuracy(p: Predictions) -> np.ndarray:
    """Share of runs that have each example right, (T,)."""
    return np.asarray((metrics.predicted_class(p.values) == p.y).mean(axis=0))


def example_churn(p: Predictions) -> np.ndarray:
    """Share of the P pairs in which each example changes its class, (T,); of a regression its mean |f − f'|.

    Memory and time grow with R·T. One run has no pair: nan.
    """
    r = len(p.seeds)
    if r < 2:
        return np.full(len(p.ids), np.nan)
    if p.task == "regression":
        ordered = np.sort(p.values[..., 0].astype(np.float64), axis=0)
        above = 2 * np.arange(r) - (r - 1)  # how often each is the larger of a pair, less how often the smaller
        return np.asarray(above @ ordered / (r * (r - 1) / 2))
    classes = metrics.predicted_class(p.values)
    same = sum(np.square((classes == c).sum(axis=0, dtype=np.int64)) for c in range(p.values.shape[2]))
    return np.asarray((r * r - same) / (r * (r - 1)))


def example_sym_kl(p: Predictions) -> np.ndarray:
    """Mean over the P pairs of each example's ½(KL(p‖q) + KL(q‖p)) in nats, (T,)."""
    r = len(p.seeds)
    if r < 2:
        return np.full(len(p.ids), np.nan)
    q = np.maximum(p.values.astype(np.float64), metrics.CLIP)
    log = np.log(q)
    both = r * (q * log).sum(axis=0) - q.sum(axis=0) * log.sum(axis=0)  # Σ over pairs of (p − q)(log p − log q)
    return np.asarray(both.sum(axis=-1) / (r * (r - 1)))


def example_error(p: Predictions) -> np.ndarray:
    """Mean over runs of each example's absolute error in target units, (T,)."""
    return np.asarray(np.abs(p.values[..., 0].astype(np.float64) - p.y).mean(axis=0))


def entropy(p: Predictions) -> np.ndarray:
    """Predictive entropy of each run at each example in nats, (R, T)."""
    q = np.maximum(p.values.astype(np.float64), metrics.CLIP)
    return np.asarray(-(q * np.log(q)).sum(axis=-1))


def top_jaccard(p: Predictions, k: int = TOP) -> np.ndarray:
    """Jaccard overlap of the ``k`` examples with the highest probability of class 1, (R, R).

    Ties are broken by example id; a test set of fewer examples is taken whole. The diagonal is zero, as for all
    pairwise quantities (paper, top-K appendix).
    """
    members = _top(p, k)
    shared = members.astype(np.float64) @ members.T.astype(np.float64)
    overlap = shared / (2 * members[0].sum() - shared)
    np.fill_diagonal(overlap, 0)
    return np.asarray(overlap)


def hit_rate(p: Predictions, k: int = TOP) -> np.ndarray:
    """Share of class 1 among the ``k`` examples with the highest probability of it, (R,)."""
    members = _top(p, k)
    return np.asarray((members & (p.y == 1)).sum(axis=1) / members[0].sum())


def _top(p: Predictions, k: int) -> np.ndarray:
    """Which examples are among the first ``k`` of each run, (R, T)."""
    members = np.zeros(p.values.shape[:2], dtype=bool)
    for row, score in zip(members, _log_odds(p), strict=True):
        row[np.lexsort((p.ids, -score))[:k]] = True
    return members


def _log_odds(p: Predictions) -> np.ndarray:
    """Log-odds of class 1, (R, T): the order of its probability, without the ties that float32 has next to one."""
    tiny = np.finfo(np.float64).tiny
    one, others = p.values[..., 1].astype(np.float64), np.delete(p.values, 1, axis=2).sum(axis=2, dtype=np.float64)
    return np.log(np.maximum(one, tiny)) - np.log(np.maximum(others, tiny))


def good_flips(before: Predictions, after: Predictions) -> np.ndarray:
    """What a change of method mends: wrong before and right after, at equal train seeds, (R, T) of bool."""
    return ~_right(before) & _right(after)


def bad_flips(before: Predictions, after: Predictions) -> np.ndarray:
    """What it breaks: right before and wrong after, (R, T): negative flips (Yan et al. 2021, arXiv:2011.09161).

    Between retrainings of one method good and bad flips are equal in expectation, so only a change of method has both.
    """
    return _right(before) & ~_right(after)


def _right(p: Predictions) -> np.ndarray:
    return np.asarray(metrics.predicted_class(p.values) == p.y)
