"""Lines through families of datasets, with what they leave unexplained, and rank correlations with intervals."""

from typing import NamedTuple

import numpy as np

from benchmark.measure.intervals import Estimate


class Line(NamedTuple):
    """``coefficients`` (P,) and their ``covariance`` (P, P); ``spread``, the standard deviation around the line, with
    ``df`` degrees of freedom."""

    coefficients: np.ndarray
    covariance: np.ndarray
    spread: float
    df: int


def fit(terms: np.ndarray, y: np.ndarray) -> Line:
    """Return the least-squares line of ``y`` (N,) on ``terms`` (N, P). Raises ValueError unless N > P and rank P.

    >>> fit(np.array([[1.0, 0], [1, 1], [1, 2]]), np.array([1.0, 3, 5])).coefficients.round(6).tolist()
    [1.0, 2.0]
    """
    n, p = terms.shape
    if n <= p or np.linalg.matrix_rank(terms) < p:
        raise ValueError(f"a line with {p} coefficients needs more than {p} points that differ, got {n}")
    coefficients, *_ = np.linalg.lstsq(terms, y, rcond=None)
    residual = y - terms @ coefficients
    variance = float(residual @ residual) / (n - p)
    return Line(coefficients, variance * np.linalg.inv(terms.T @ terms), float(np.sqrt(variance)), n - p)


def spearman(x: np.ndarray, y: np.ndarray) -> Estimate:
    """Return Spearman's rank correlation of ``x`` (N,) and ``y`` (N,) with its 95 % interval.

    It is Fisher's z ± 1.96 √((1 + ρ²/2) / (N − 3)) (Bonett and Wright 2000, doi:10.1007/BF02294183). nan for fewer than
    five points, and for values that are all equal.
    """
    if len(x) < 5 or not np.ptp(x) or not np.ptp(y):
        return Estimate(np.nan, np.nan, np.nan)
    from scipy.stats import rankdata  # slow to import

    rho = float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])
    if abs(rho) > 1 - 1e-12:
        return Estimate(rho, np.nan, np.nan)
    half = 1.959964 * np.sqrt((1 + rho**2 / 2) / (len(x) - 3))
    z = np.arctanh(rho)
    return Estimate(rho, float(np.tanh(z - half)), float(np.tanh(z + half)))
