"""What several retrainings say together: on which examples they conflict, and how far their probabilities range.

Each function takes R ≥ 2 retrainings and returns a number; of a single one it is nan.
"""

import numpy as np

from benchmark.measure.basics import predicted_class
from benchmark.types import Predictions


def conflicting(p: Predictions) -> np.ndarray:
    """Mark the examples (T,) on which not all retrainings predict one class."""
    classes = predicted_class(p.values)
    return np.asarray((classes != classes[0]).any(axis=0))


def ambiguity(p: Predictions) -> float:
    """Return the share of examples on which retrainings conflict (Marx et al. 2020, arXiv:1909.06677, definition 3).

    The source counts examples on which some competing model contradicts a baseline model: whichever retraining is the
    baseline, these are the examples on which not all agree. The number grows with R.
    """
    return float(conflicting(p).mean()) if len(p.seeds) > 1 else np.nan


def accuracy_where_agreed(p: Predictions) -> float:
    """Return the accuracy on the examples on which all retrainings agree; nan if there are none.

    A model that abstains elsewhere is self-consistent (Cooper et al. 2024, arXiv:2301.11562).
    """
    agreed = ~conflicting(p)
    if len(p.seeds) < 2 or not agreed.any():
        return np.nan
    return float((predicted_class(p.values[:1])[0] == p.y)[agreed].mean())


def viable_range(p: Predictions) -> float:
    """Return the mean over examples of the range of the probability of class 1 over retrainings.

    The range is the viable prediction range (Watson-Daniels et al. 2023, arXiv:2206.01131), with retrainings as the
    competing models. Of two classes, the Rashomon capacity of Hsu and Calmon (2022, arXiv:2206.01295) depends on the
    same two ends of the range and nothing else.
    """
    return float(np.ptp(p.values[..., 1].astype(np.float64), axis=0).mean()) if len(p.seeds) > 1 else np.nan
