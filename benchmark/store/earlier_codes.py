"""Look up what results of version 0.1.0 do not say: the revisions behind a fingerprint of code, and rows by class."""

import csv
from functools import cache
from pathlib import Path


@cache
def earlier() -> dict[str, str]:
    """Return the revisions by fingerprint, without the sampling."""
    with Path(__file__).with_name("codes.csv").open(encoding="utf-8", newline="") as lines:
        return {row["code"]: row["revisions"] for row in csv.DictReader(lines)}


@cache
def fingerprint_of(revisions: str) -> str:
    """Return the fingerprint that version 0.1.0 gave to these revisions; empty if it had none."""
    return {known: code for code, known in earlier().items()}.get(revisions, "")


@cache
def class_rows() -> dict[str, tuple[int, int]]:
    """Return the rows of each class in the training pool, by the fingerprint of the problem."""
    with Path(__file__).with_name("classes.csv").open(encoding="utf-8", newline="") as lines:
        return {row["problem"]: (int(row["class_0"]), int(row["class_1"])) for row in csv.DictReader(lines)}
