"""Orders of the test examples by retrainings: by log-odds of class 1, or by predicted value.

Shapes: R retrainings, T test examples, C classes.
"""

import numpy as np

from benchmark.types import Predictions

TOP = 10
"""Number of examples in a batch of acquisitions (paper, top-K appendix)."""


def scores(p: Predictions) -> np.ndarray:
    """Return what examples are ranked by, (R, T): log-odds of class 1, or the predicted value; cached."""
    if "scores" not in p.computed:
        p.computed["scores"] = log_odds(p) if p.task == "classification" else p.values[..., 0].astype(np.float64)
    return p.computed["scores"]


def auroc(p: Predictions) -> np.ndarray:
    """Return the area under the ROC curve of class 1, (R,); nan if all examples or none are of class 1.

    It is the probability that an example of class 1 has the higher score of two, with ties counted as half (Hanley and
    McNeil 1982, doi:10.1148/radiology.143.1.7063747).
    """
    true = p.y == 1
    ones, others = true.sum(), (~true).sum()
    if not ones or not others:
        return np.full(len(p.seeds), np.nan)
    ranks = _ranks(p)
    return np.asarray((ranks[:, true].sum(axis=1) - ones * (ones + 1) / 2) / (ones * others))


def rank_correlation(p: Predictions) -> np.ndarray:
    """Return Spearman's correlation between the scores of two runs, (R, R); nan if a run scores all examples equally.

    The diagonal is 0.
    """
    correlation = _correlations(_ranks(p))
    np.fill_diagonal(correlation, 0)
    return correlation


def rank_quality(p: Predictions) -> np.ndarray:
    """Return Spearman's correlation of the predicted with the true values, (R,); nan if either are all equal."""
    _, below, at_most = _sorted(p.y[None])
    return _correlations(np.vstack([(below + at_most + 1) / 2, _ranks(p)]))[0, 1:]


def _correlations(rows: np.ndarray) -> np.ndarray:
    """Return Pearson's correlation of each two rows; nan for a constant one."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.sqrt(np.square(centred).sum(axis=1))
    with np.errstate(invalid="ignore"):
        return np.asarray(centred @ centred.T / np.outer(lengths, lengths))


def share_of(p: Predictions, share: float) -> int:
    """Return the number of examples in the first ``share`` of the test set, at least one."""
    return max(1, round(share * len(p.ids)))


def average_precision(p: Predictions) -> np.ndarray:
    """Return the average precision of class 1, ranked by its odds, (R,); nan without an example of it.

    As in scikit-learn, this is the mean, over the examples of class 1, of the precision among all that score as high.
    """
    true = p.y == 1
    if not true.any():
        return np.full(len(p.seeds), np.nan)
    order, below, _ = _places(p)
    lower = np.pad(true[order].cumsum(axis=1), ((0, 0), (1, 0)))  # of class 1, up to each place
    as_high = true.sum() - np.take_along_axis(lower, below[:, true], axis=1)
    return np.asarray(np.ascontiguousarray(as_high / (len(true) - below[:, true])).mean(axis=1))


def _places(p: Predictions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``_sorted`` of the scores; cached."""
    if "places" not in p.computed:
        p.computed["places"] = _sorted(scores(p))
    return p.computed["places"]


def _sorted(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the order of each row, how many of its values are below each, and at most as large as each, all (R, T)."""
    order = np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    new = np.pad(ordered[:, 1:] != ordered[:, :-1], ((0, 0), (1, 1)), constant_values=True)  # (R, T + 1)
    at = np.arange(new.shape[1], dtype=np.int32)
    first = np.maximum.accumulate(np.where(new[:, :-1], at[:-1], 0), axis=1)
    last = np.minimum.accumulate(np.where(new, at, at[-1])[:, :0:-1], axis=1)[:, ::-1]
    below, at_most = np.empty_like(first), np.empty_like(first)
    np.put_along_axis(below, order, first, axis=1)
    np.put_along_axis(at_most, order, last, axis=1)
    return order, below, at_most


def _ranks(p: Predictions) -> np.ndarray:
    """Return the rank of each score in its retraining (R, T), 1 for the lowest; ties share the mean.

    As scipy.stats.rankdata, whose import takes as long as all scores of a table.
    """
    _, below, at_most = _places(p)
    return np.asarray((below + at_most + 1) / 2)


def top_jaccard(p: Predictions, k: int = TOP) -> np.ndarray:
    """Return the Jaccard overlap of the ``k`` examples with the highest scores, (R, R).

    Ties are broken by example id; a smaller test set is taken whole (paper, top-K appendix).
    """
    members = top(p, k)
    shared = members.astype(np.float64) @ members.T.astype(np.float64)
    overlap = shared / (2 * members[0].sum() - shared)
    np.fill_diagonal(overlap, 0)
    return np.asarray(overlap)


def hit_rate(p: Predictions, k: int = TOP) -> np.ndarray:
    """Return the share of class 1 among the ``k`` examples with the highest probability of it, (R,)."""
    members = top(p, k)
    return np.asarray((members & (p.y == 1)).sum(axis=1) / members[0].sum())


def top(p: Predictions, k: int) -> np.ndarray:
    """Mark the first ``k`` examples of each run, (R, T)."""
    members = np.zeros(p.values.shape[:2], dtype=bool)
    np.put_along_axis(members, _order(p)[:, :k], True, axis=1)
    return members


def _order(p: Predictions) -> np.ndarray:
    """Return the positions of the examples from the highest score to the lowest, (R, T), ties by id; cached."""
    if "order" not in p.computed:
        by_id = np.argsort(p.ids)
        p.computed["order"] = by_id[np.argsort(-scores(p)[:, by_id], axis=1, kind="stable")].astype(np.int32)
    return p.computed["order"]


def log_odds(p: Predictions) -> np.ndarray:
    """Return log-odds of class 1, (R, T), which order examples without the ties of float32 probabilities near one."""
    tiny = np.finfo(np.float64).tiny
    first, others = p.values[..., 1].astype(np.float64), np.delete(p.values, 1, axis=2).sum(axis=2, dtype=np.float64)
    return np.log(np.maximum(first, tiny)) - np.log(np.maximum(others, tiny))
