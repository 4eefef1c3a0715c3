"""What is left if a model abstains where its retrainings disagree: self-consistency (Cooper et al. 2024).

The self-consistency of an example is the share of pairs of retrainings that agree on it: 1 less its churn
(arXiv:2301.11562, definition 2). Retrainings that decide whether to abstain are never those that are judged: judged by
themselves, those that agree would not churn at all.
"""

from itertools import combinations

import numpy as np

from benchmark.measure.basics import predicted_class
from benchmark.types import Predictions

CONSISTENCIES = (0.0, 0.5, 0.75, 1.0)
"""Smallest self-consistencies at which a prediction is made; 1 is unanimity, 0 makes every prediction."""
FEWEST = 4
"""Number of retrainings below which no two are left to decide on the other two."""


def curve(p: Predictions) -> np.ndarray:
    """Return coverage, accuracy and churn for each of ``CONSISTENCIES``, (4, 3).

    For each pair of retrainings, the R − 2 others decide which examples are kept; coverage is the share of those, and
    accuracy and churn are the pair's on them, pooled over pairs. All are nan below ``FEWEST`` retrainings, and accuracy
    and churn where nothing is kept.
    """
    r, t = p.values.shape[:2]
    if r < FEWEST:
        return np.full((len(CONSISTENCIES), 3), np.nan)
    classes = predicted_class(p.values)
    votes = np.eye(p.values.shape[2], dtype=np.int64)[classes]
    every, n = votes.sum(axis=0), r - 2
    right, totals = classes == p.y, np.zeros((len(CONSISTENCIES), 3))
    for i, j in combinations(range(r), 2):
        others = every - votes[i] - votes[j]
        consistency = (others * (others - 1)).sum(axis=1) / (n * (n - 1))
        kept = consistency >= np.array(CONSISTENCIES)[:, None]
        of_pair = np.stack([np.ones(t), (right[i] + right[j].astype(float)) / 2, classes[i] != classes[j]], axis=1)
        totals += kept @ of_pair
    with np.errstate(invalid="ignore"):
        shares = totals / totals[:, :1]
    shares[:, 0] = totals[:, 0] / (t * r * (r - 1) / 2)
    return shares
