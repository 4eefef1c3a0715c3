"""From tracked cells to tables: statistics → columns → table → HTML, LaTeX, CSV.

On one's own model, from arrays of predictions (runs, examples, classes)::

    from leaderboard import churn, score

    churn(values)             # Estimate(value, low, high, p), a fraction
    score(values, y).ranking  # the most fragile examples first
"""

from typing import Any

__all__ = ["churn", "score"]


def __getattr__(name: str) -> Any:  # the command line starts without what these import
    if name not in __all__:
        raise AttributeError(f"module 'leaderboard' has no attribute {name!r}")
    from leaderboard.scoring import score

    return getattr(score, name)
