"""Measures that no threshold and no scaling of outputs changes: churn at a fixed number of positives, 1 − κ, 1 − ICC.

Of two classes, every retraining calls its k highest scores positive, for the same k. Examples whose scores tie at the
cut are drawn at random, independently in each retraining, and all measures are expectations over these draws: breaking
ties by id would reward coarse scores, and a constant would never churn.

κ and the intraclass correlation are the test–retest reliability of psychometrics. Shapes: R retrainings, T test
examples, C classes.
"""

import numpy as np

from benchmark.measure.basics import flip_rate, flips, right, votes
from benchmark.measure.ranking import scores, share_of
from benchmark.types import Predictions


def class_shares(p: Predictions) -> np.ndarray:
    """Return the shares (C,) of the classes in the training pool; where it is unknown, among the true labels."""
    return np.asarray(p.class_shares or np.bincount(p.y, minlength=p.values.shape[2]) / len(p.y))


def rarer_class(p: Predictions) -> np.ndarray:
    """Mark the examples (T,) whose true class is the one with the smallest share; of equal ones the last."""
    shares = class_shares(p)
    return np.asarray(p.y == len(shares) - 1 - shares[::-1].argmin())


def called(p: Predictions, k: int) -> np.ndarray:
    """Return the probability (R, T) that each run calls an example positive if it calls its ``k`` highest scores.

    It is 1 above the cut, 0 below it, and (k − those above) / those tied at the cut itself.
    """
    rows = scores(p)
    cut = np.partition(rows, rows.shape[1] - k, axis=1)[:, [rows.shape[1] - k]]
    above, tied = rows > cut, rows == cut
    return np.asarray(above + tied * ((k - above.sum(axis=1)) / tied.sum(axis=1))[:, None])


def positives(p: Predictions) -> int:
    """Return how many examples each retraining calls positive: the training pool's share of class 1, at least one."""
    return max(1, min(len(p.ids) - 1, round(len(p.ids) * float(class_shares(p)[1]))))


def _replaced(calls: np.ndarray, k: int) -> np.ndarray:
    """Return how many of the ``k`` calls of one run another does not make, (R, R), as an expectation."""
    other = np.maximum(k - calls @ calls.T, 0)
    np.fill_diagonal(other, 0)
    return other


def matched_churn(p: Predictions) -> np.ndarray:
    """Return the share of examples on which the calls of two runs differ, (R, R), at the same number of positives.

    Of more than two classes it is 1 − κ times the churn of two independent predictors with the pool's class shares:
    the same scale, on which two runs that have nothing in common have that churn.
    """
    if p.values.shape[2] > 2:
        return chance_corrected(p) * (1 - np.square(class_shares(p)).sum())
    k = positives(p)
    return 2 * _replaced(called(p, k), k) / len(p.ids)


def example_matched_churn(p: Predictions) -> np.ndarray:
    """Return the share of pairs of runs whose calls differ on each example, (T,); nan for a single run."""
    r = len(p.seeds)
    if r < 2:
        return np.full(len(p.ids), np.nan)
    if p.values.shape[2] > 2:
        flipping = flip_rate(votes(p).sum(axis=0))
        mean = matched_churn(p)[np.triu_indices(r, k=1)].mean()
        return flipping * (mean / flipping.mean()) if flipping.any() else np.full(len(p.ids), mean)
    calls = called(p, positives(p))
    every, squares = calls.sum(axis=0), np.square(calls).sum(axis=0)
    return np.asarray(((r - 1) * every - (np.square(every) - squares)) / (r * (r - 1) / 2))


def matched_right(p: Predictions) -> np.ndarray:
    """Return the probability (R, T) that the call of ``matched_churn`` is right; of more than two classes, if it is."""
    if p.values.shape[2] > 2:
        return right(p)
    calls = called(p, positives(p))
    return np.where(p.y == 1, calls, 1 - calls)


def list_churn(p: Predictions, share: float) -> np.ndarray:
    """Return the share of the first ``share`` of examples by score that another run replaces, (R, R)."""
    k = share_of(p, share)
    return _replaced(called(p, k), k) / k


def chance_corrected(p: Predictions) -> np.ndarray:
    """Return 1 − Cohen's κ of the classes of two runs, (R, R): their churn divided by that of chance.

    Chance are two independent predictors with the same shares of classes (Cohen 1960, doi:10.1177/001316446002000104).
    0 is identical, 1 no better than chance; nan where both predict a single class.
    """
    shares = votes(p).mean(axis=1)
    return _divided(flips(p), 1 - shares @ shares.T)


def one_minus_icc(p: Predictions) -> np.ndarray:
    """Return 1 − the intraclass correlation of the values of two runs, (R, R): ICC(2,1) of Shrout and Fleiss (1979).

    Two-way random effects, absolute agreement, single measurement (doi:10.1037/0033-2909.86.2.420): the share of the
    variance of predictions that is retraining. With the (co)variances s of runs a and b and their means m over T
    examples, ICC = 2 s_ab / (s_aa + s_bb + (m_a − m_b)² − (s_aa + s_bb − 2 s_ab) / T); nan for equal constants.
    """
    values = p.values[..., 0] / max(float(np.abs(p.values).max()), np.finfo(np.float64).tiny)
    t = values.shape[1]
    if t < 2:
        return np.full((len(values), len(values)), np.nan)
    covariance = np.atleast_2d(np.cov(values))
    each = np.add.outer(np.diag(covariance), np.diag(covariance))
    distance = np.square(np.subtract.outer(values.mean(axis=1), values.mean(axis=1)))
    whole = each + distance - (each - 2 * covariance) / t
    return _divided(whole - 2 * covariance, whole)


def _divided(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return ``part`` / ``whole`` with a diagonal of 0, and nan where ``whole`` is 0 but for rounding."""
    ratio = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 1e-12)
    np.fill_diagonal(ratio, 0)
    return ratio
