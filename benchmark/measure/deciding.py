"""What it takes to decide between methods on a user's own data, which is known before anything is trained."""

from collections.abc import Sequence

import numpy as np

from benchmark.errors import number_of
from benchmark.types import Sampling

ENOUGH, ENOUGH_OF_CLASS, ENOUGH_RETRAININGS = 30, 10, 5
"""Test rows, test rows of each class, and retrainings (halvings under ``halves``) that it takes to decide: with fewer,
one molecule or one sample moves churn or recall by several points."""


def lacking(y: np.ndarray, classes: Sequence[str], rows: int, retrainings: int, sampling: Sampling) -> str:
    """Return what a decision lacks, with what it would take; empty if nothing.

    ``y`` (T,) are the labels of the ID test, ``classes`` the names of its classes, none for a regression, and ``rows``
    the number of all rows.
    """
    asked, factor = [], ENOUGH / len(y)
    if len(y) < ENOUGH:
        asked.append(f"the ID test has {number_of(len(y), 'row')}, and a decision needs {ENOUGH}")
    counts = np.bincount(y.astype(int), minlength=len(classes)) if classes else np.array([ENOUGH_OF_CLASS])
    if counts.min() < ENOUGH_OF_CLASS:
        name = classes[int(counts.argmin())]
        asked.append(
            f"the ID test has {number_of(int(counts.min()), 'row')} of {name!r}, and a decision needs {ENOUGH_OF_CLASS}"
        )
        factor = max(factor, ENOUGH_OF_CLASS / max(counts.min(), 1))
    if asked:
        asked.append(f"a table of about {10 * int(np.ceil(rows * factor / 10)):,} such rows would do")
    needed = ENOUGH_RETRAININGS * (1 + (sampling == "halves"))
    if retrainings < needed:
        asked.append(f"a decision needs {needed} retrainings, and has {retrainings}: --seeds {needed}")
    return "; ".join(asked)
