"""Reader of files of published numbers."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from benchmark.errors import UserError

COLUMNS = ("table", "dataset", "method", "canonical_seed", "metric", "unit", "value", "low", "high")
SCALES = {"pp": 100, "%": 100, "nats": 1, "target": 1, "": 1}


@dataclass(frozen=True)
class Published:
    """A row of the file; ``last_place`` is one unit of the last digit of ``value``."""

    table: str
    dataset: str
    method: str
    canonical_seed: int
    metric: str
    unit: str
    value: float
    low: float
    high: float
    last_place: float


def read(path: Path) -> list[Published]:
    """Read the rows of a file of published numbers. Raises UserError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines)
            names = reader.fieldnames or ()
            if twice := next((name for name in names if names.count(name) > 1), ""):
                raise UserError(f"{path}: two columns are called {twice!r}: rename the one that is not meant")
            if missing := ", ".join(sorted(set(COLUMNS) - set(names))):
                raise UserError(f"{path}: lacks the columns {missing}; expected {', '.join(COLUMNS)}")
            rows = [_published(row, f"{path}, line {reader.line_num}") for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error
    if not rows:
        raise UserError(f"{path}: there is no row below the header: expected a published number in each")
    return rows


def _published(row: Mapping[str, str], where: str) -> Published:
    if None in row or None in [row[name] for name in COLUMNS[:-2]]:  # DictReader's key of fields beyond the header
        raise UserError(
            f"{where}: more or fewer fields than columns in the header: quote values with commas, and keep the comma "
            "of an empty one"
        )

    def number(column: str, empty: float | None = None) -> float:
        text = (row[column] or "").strip()
        if not text and empty is not None:
            return empty
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise UserError(f"{where}: {column} is {text!r}, expected a number")
        return value

    if row["unit"] not in SCALES:
        raise UserError(f"{where}: unknown unit {row['unit']!r}, expected one of {', '.join(map(repr, SCALES))}")
    value, split = number("value"), number("canonical_seed")
    if split != int(split):
        raise UserError(f"{where}: canonical_seed is {row['canonical_seed']!r}, expected a whole number")
    place = Decimal(1).scaleb(int(Decimal(row["value"].strip()).as_tuple().exponent))
    names = (row["table"], row["dataset"], row["method"], int(split), row["metric"], row["unit"])
    return Published(*names, value, number("low", np.nan), number("high", np.nan), float(place))
