"""The health of many datasets as a table, with a line for each: ``datasets/health.csv`` has that of the suite."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import pandas as pd

from benchmark.data.checks.expected_churn import Properties
from benchmark.data.checks.health import REASONS, Health
from benchmark.data.spec import DatasetSpec
from benchmark.files import shipped_datasets

PARTS = ("train", "id", "ood")
"""Parts of a split: the training pool and the test sets."""
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


def table(reports: Iterable[Health]) -> pd.DataFrame:
    """Return ``COLUMNS`` for each report, empty where a figure does not apply.

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
    return made.astype(dict.fromkeys(COUNTS, "Int64")).astype(dict.fromkeys(SHARES, float))


def to_csv(reports: Iterable[Health]) -> str:
    """Return ``table`` as CSV, its shares with five significant digits."""
    return table(reports).to_csv(index=False, float_format="%.5g", lineterminator="\n")


@cache
def listed() -> Mapping[str, Mapping[str, Any]]:
    """Return the shipped table: figures by column for each dataset, without those that do not apply."""
    found = pd.read_csv(shipped_datasets() / "health.csv", dtype=dict.fromkeys(COUNTS, "Int64"))
    lines: Iterable[dict[Any, Any]] = (line.dropna().to_dict() for _, line in found.iterrows())
    return {str(line.pop("dataset")): line for line in lines}


def properties(spec: DatasetSpec) -> Properties | None:
    """Return the properties of a dataset under the paper's split as the shipped table has them; None without them."""
    line = listed().get(spec.name, {})
    if "knn_churn" not in line:
        return None
    share = line.get("train_positive")
    of: dict[str, Any] = {field: line.get(field) for field in OF_TABLE}
    return Properties(spec.task, line["train"], None if share is None else min(share, 1 - share), **of)
