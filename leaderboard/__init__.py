"""From tracked cells to tables: statistics → columns → table → HTML, LaTeX, CSV.

To score a model of your own, from arrays of predictions (runs, examples, classes)::

    from leaderboard import churn, score

    churn(values)             # Estimate(value, low, high, p), a fraction
    score(values, y).ranking  # indices of the examples, most fragile first
"""

from typing import Any

__all__ = ["churn", "score"]


def __getattr__(name: str) -> Any:  # imported lazily, to keep the command line fast
    if name not in __all__:
        raise AttributeError(f"module 'leaderboard' has no attribute {name!r}")
    from leaderboard.scoring import score

    return getattr(score, name)
