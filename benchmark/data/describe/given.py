"""What a user gives: a table, and options that say what its columns are."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pandas as pd

from benchmark.data import readers
from benchmark.data.describe.columns import at
from benchmark.data.downloads import contents
from benchmark.data.readers import LINE
from benchmark.errors import UserError, did_you_mean

CHOICES = {
    "task": ("classification", "regression"),
    "merge": ("mean", "majority", "drop"),
    "decimal": (",", "."),
    "bounds": ("exclude", "exact"),
}


def table_of(file: Path, sheet: str = "") -> tuple[bytes, pd.DataFrame]:
    """Return the content of a file and its table. Raises UserError."""
    try:
        state = os.stat(file)
        return _read(file, sheet, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise UserError(f"cannot read {file}: {error}") from error


@lru_cache(maxsize=1)
def _read(file: Path, sheet: str, *_: int) -> tuple[bytes, pd.DataFrame]:
    content = contents(file)
    return content, readers.read(content, str(file), sheet)


def columns_of(file: Path, sheet: str = "") -> list[str]:
    """Return the names of a table's columns. Raises UserError if it cannot be read."""
    return [*table_of(file, sheet)[1].columns.drop(LINE)]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user says of a table; what is empty is inferred. Raises UserError for a choice that there is not."""

    target: str
    beside: Sequence[str] = ()
    """Other targets, each of a dataset of its own, which are no features."""
    smiles: str = ""
    id_column: str = ""
    task: str = ""
    split: str = ""
    positive: str = ""
    classes: Sequence[str] = ()
    merge: str = ""
    one_hot: Sequence[str] = ()
    ignore_value: Sequence[str] = ()
    decimal: str = ""
    bounds: str = ""
    log10: bool = False
    desalt: bool = False
    sheet: str = ""
    sample: str = ""

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if (given := getattr(self, name)) not in ("", *known):
                raise did_you_mean(name if name == "task" else f"--{name}", given, list(known))
        if self.classes and self.positive:
            raise UserError("--classes and --positive both name class 1: leave one of them out")
        if self.task == "regression" and (self.classes or self.positive):
            raise UserError("--task regression has no classes: leave it out, or --classes and --positive")
        if self.sample not in ("", "all") and not (self.sample.isdecimal() and int(self.sample) > 1):
            raise UserError(f"--sample {self.sample!r}: expected a number of rows, or all")
        for option, named, what in (
            ("--one-hot", self.one_hot, "feature"),
            ("--smiles", [self.smiles], "column of molecules"),
            ("--id", [self.id_column], "name of a row, which is published with its prediction"),
        ):
            if taken := {self.target, *self.beside} & {*named}:
                raise UserError(f"{option} {min(taken)}: a target is no {what}")

    @property
    def columns(self) -> list[str]:
        """Columns that are named."""
        return [self.target, *filter(None, (self.smiles, self.id_column)), *self.one_hot]

    @property
    def divides(self) -> str:
        """The column that a split goes by, as in ``time:COLUMN``."""
        return self.split.partition(":")[2].partition(":")[0]


@dataclass
class Target:
    """The column to predict, its texts without blanks around them and empty ones, and the notes on how it was read."""

    table: pd.DataFrame
    given: Options
    file: str
    notes: list[str]
    numbers: pd.Series = field(default_factory=lambda: pd.Series(dtype=float))
    """Those of a regression or a cut, without missing values and, if they are left out, bounds."""

    def __post_init__(self) -> None:
        self.name = self.given.target
        self.columns: list[str] = [*self.table.columns.drop(LINE)]
        self.where = f"{self.file}: column {self.name!r}"
        self.texts = self.table[self.name].str.strip().loc[lambda texts: texts != ""]

    def at(self, texts: pd.Series) -> str:
        """Return where the first of some texts of the column is."""
        return at(self.table, self.name, texts, self.file)

    def line(self, texts: pd.Series) -> int:
        """Return the line of the first of some texts of the column."""
        return int(self.table[LINE][texts.index[0]])
