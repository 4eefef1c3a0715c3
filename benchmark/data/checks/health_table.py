"""The health of many datasets as a table, with a line for each: ``datasets/health.csv`` has that of the suite."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pandas as pd

from benchmark.data.checks.health import Health
from benchmark.data.rows import REASONS

OF_TABLE = ("sd", "scaffolds", "similarity", "conflicts", "disagreement", "knn_churn")
"""Fields of ``Properties`` in the table; ``rows`` of the training pool are in it anyway."""
SHARES = ("train_positive", "id_positive", "ood_positive", *OF_TABLE)
OF_SUITE = tuple(reason for reason in REASONS if reason not in ("too_large", "bound"))
"""Reasons to leave out a row that occur in the suite."""
COUNTS = (
    *("rows", "parsable", "used", *OF_SUITE, "repeats", "conflicting"),
    *("train", "id", "id_in_train", "id_near_train", "ood", "ood_in_train", "ood_near_train"),
)
COLUMNS = ("dataset", *COUNTS, *SHARES)


def to_csv(reports: Iterable[Health]) -> str:
    """Return ``COLUMNS`` for each report as CSV, shares with five significant digits, empty where one does not apply.

    ``rows`` of the file, those that are ``parsable`` and ``used``, the rows left out for each of ``OF_SUITE``,
    molecules on several lines (``repeats``) and those of them with different targets (``conflicting``); of each part of
    the split its rows, its share of class 1, and its molecules that are in the training pool, exactly or nearly
    (``health.NEAR``); and the properties ``OF_TABLE``, as ``Properties`` defines them.
    """
    lines = []
    for report in reports:
        left = Counter(row.reason for row in report.left_out)
        line: dict[str, Any] = {
            "dataset": report.dataset,
            "rows": report.rows,
            "parsable": report.parsable,
            "used": report.used,
            **{reason: left[reason] for reason in OF_SUITE},
            "repeats": len(report.repeats),
            "conflicting": sum(repeat.conflict for repeat in report.repeats),
        }
        for name, part in report.parts.items():
            line |= {name: part.rows, f"{name}_positive": part.positive}
            line |= {f"{name}_in_train": part.in_train, f"{name}_near_train": part.near_train}
        if (found := report.properties) is not None:
            line |= {field: getattr(found, field) for field in OF_TABLE}
        lines.append(line)
    made = pd.DataFrame(lines).reindex(columns=list(COLUMNS))
    made = made.astype(dict.fromkeys(COUNTS, "Int64")).astype(dict.fromkeys(SHARES, float))
    return made.to_csv(index=False, float_format="%.5g", lineterminator="\n")
