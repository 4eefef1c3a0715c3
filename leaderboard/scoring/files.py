"""Tables in files, whose columns stay text or numbers as they were written."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic_core import from_json

from benchmark.data import parquet, readers
from benchmark.data.downloads import contents
from benchmark.errors import UserError

NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"
MOST_BYTES = 2**31
"""Bytes of a table in memory, where each text is kept once."""
WHOLE = 2.0**53
"""Every smaller integer is an exact float."""


def number(text: str) -> float:
    """Return a text as a number; nan if it is none."""
    try:
        return float("nan") if "_" in text else float(text)  # Python reads 1_000
    except ValueError:
        return float("nan")


@dataclass(frozen=True)
class Column:
    """A column of n rows: an array of numbers, or a dictionary of texts without surrounding spaces."""

    values: pa.Array

    @cached_property
    def encoded(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct texts, and the index of that of each row (n,), −1 where it is empty."""
        values = self.values
        if pa.types.is_float16(values.type):
            values = values.cast(pa.float32())
        if pa.types.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), None, values)
            if pc.all(pc.and_(pc.equal(values, pc.round(values)), pc.less(pc.abs(values), WHOLE))).as_py():
                values = values.cast(pa.int64())  # integers lose the .0 that a gap among them brings
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        codes = np.asarray(pc.fill_null(values.indices, -1), dtype=np.int64)
        return codes, np.array(values.dictionary.cast(pa.string()).to_pylist(), dtype=object)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The rows as float64 (n,), nan where empty or no number."""
        if not pa.types.is_dictionary(self.values.type):
            return np.array(self.values.cast(pa.float64(), safe=False), dtype=float)
        texts = self.values.dictionary
        numeric = pc.if_else(pc.match_substring_regex(texts, NUMBER), texts, None).cast(pa.float64())
        return np.append(np.array(numeric, dtype=float), np.nan)[self.encoded[0]]

    @cached_property
    def text(self) -> bool:
        """True if most of the rows that are not empty are no numbers."""
        filled = self.encoded[0] >= 0 if pa.types.is_dictionary(self.values.type) else np.array([])
        return bool(np.isnan(self.numbers[filled]).mean() > 0.5) if filled.any() else False


@dataclass(frozen=True)
class Table:
    """The columns of a file, which errors call ``name``.

    ``ordered`` says that the order of the rows may identify examples, ``output`` that a model has just written it: a
    column ``label`` is then its prediction, and ``notes`` how it was read.
    """

    name: str
    columns: dict[str, Column]
    ordered: bool = False
    output: bool = False
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        return len(next(iter(self.columns.values())).values)

    def missing(self, column: str, option: str) -> UserError:
        """Return the error for a ``column`` that an option names and the table lacks."""
        there = ", ".join(map(repr, self.columns))
        return UserError(f"{self.name}: no column {column!r} ({option}); its columns: {there}")


def read(path: Path, name: str = "", ordered: bool = False) -> Table:
    """Read a table, which errors call ``name``. Raises UserError if it cannot be read, or has no rows."""
    name = name or str(path)
    notes: list[str] = []
    named = True
    try:
        if is_parquet(path):
            found = _parquet(path)
        elif path.suffix.lower() == ".json":
            found = _logged(path)
        else:
            named = False
            found, notes = texts_of(path, name)
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        raise UserError(f"{name}: cannot be read as a table: {error}") from error
    columns = zip(found.column_names, found.columns, strict=True) if isinstance(found, pa.Table) else found
    read = replace(table(name, columns, ordered=ordered), notes=tuple(notes))
    if not named and (first := _entry_above(read)) is not None:
        raise UserError(
            f"{name}: the first line has {first!r} where names of columns are expected: add a line of names above, "
            "such as example_id,y_true,p1, or if this is a name, change it"
        )
    return read


def is_parquet(path: Path) -> bool:
    """Tell by its first bytes whether a file is Parquet; of a pipe, they would be lost. Raises OSError."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _entry_above(read: Table) -> str | None:
    """Return a name of a column that is an entry of the first row, as in a file without names; None if there is none.

    It is a number, unless it may count the classes or runs, or all entries differ from it in digits alone.
    """
    numeric = [name for name in read.columns if re.fullmatch(NUMBER, name)]
    odd = [name for name in numeric if not number(name).is_integer() or (len(numeric) == 1 and name not in ("0", "1"))]
    for name in set(read.columns) - set(numeric):
        texts = read.columns[name].encoded[1]
        alike = (re.sub(r"\d", "0", text) == re.sub(r"\d", "0", name) for text in texts)
        if re.search(r"\d", name) and len(texts) and all(alike):
            odd.append(name)
    return next((name for name in read.columns if name in odd), None)


def table(name: str, columns: Iterable[tuple[str, Any]], ordered: bool = False, output: bool = False) -> Table:
    """Make a table of columns with their names: Arrow arrays or lists. Raises UserError for what is no text or number.

    Raises UserError, too, for a table without rows, and for two columns of one name.
    """
    read: dict[str, Column] = {}
    for column, values in columns:
        if column in read:
            raise UserError(f"{name}: the column {column!r} appears twice: columns need distinct names")
        try:
            array = pa.array(values) if isinstance(values, list) else values
            read[column] = Column(_plain(array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array))
        except (TypeError, OverflowError, pa.ArrowException) as error:
            raise UserError(
                f"{name}: the column {column!r} mixes text, numbers or other values: expected text or one number per "
                f"row: {error}"
            ) from error
    if not read or not len(next(iter(read.values())).values):
        raise UserError(f"{name}: no rows: expected predictions")
    return Table(name, read, ordered, output)


def _plain(values: pa.Array) -> pa.Array:
    """Return numbers as they are, and anything else as a dictionary of texts, in which nothing is empty."""
    kind = values.type
    if pa.types.is_dictionary(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return values
    if pa.types.is_decimal(kind):
        return values.cast(pa.float64())
    if pa.types.is_nested(kind):
        raise TypeError(f"it holds {kind}")
    if pa.types.is_boolean(kind):
        return pc.if_else(values, "True", "False").dictionary_encode()
    values.validate(full=True)  # bytes that are no UTF-8 would raise an error wherever they are read
    texts = pc.utf8_trim_whitespace(values.cast(pa.string()))
    return pc.if_else(pc.equal(texts, ""), None, texts).dictionary_encode()


def _parquet(path: Path) -> pa.Table:
    read, size = [], 0
    for batch in parquet.batches(path):
        plain = []
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            try:
                plain.append(_plain(values))
            except (TypeError, pa.ArrowException) as error:
                raise ValueError(
                    f"the column {name!r}: {error}: expected text or one number per row: leave it out"
                ) from error
        read.append(pa.RecordBatch.from_arrays(plain, batch.schema.names))
        size += read[-1].nbytes
        if size > MOST_BYTES:
            raise ValueError(f"it takes more than {MOST_BYTES // 2**30} GiB: keep the columns and rows that are needed")
    return pa.Table.from_batches(read).unify_dictionaries()


def _logged(path: Path) -> Iterable[tuple[str, Any]]:
    """Return the columns of a table as ``mlflow.log_table`` writes it."""
    expected = (
        'expected a table as mlflow.log_table or pandas.DataFrame.to_json(orient="split") writes it, {"columns": […], '
        '"data": [[…], …]}'
    )
    try:
        content = from_json(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{expected}: {error}") from error
    if not isinstance(content, dict) or not all(isinstance(content.get(name), list) for name in ("columns", "data")):
        raise ValueError(expected)
    names, rows = [str(name) for name in content["columns"]], content["data"]
    odd = next((i for i, row in enumerate(rows, 1) if not isinstance(row, list) or len(row) != len(names)), None)
    if odd is not None:
        raise ValueError(f"{expected}: row {odd} does not have a value for each of {len(names)} columns")
    return zip(names, [list(values) for values in zip(*rows, strict=True)], strict=bool(rows))


def texts_of(path: Path, name: str) -> tuple[pa.Table, list[str]]:
    """Read a table of any format but Parquet as text, as those of molecules are read (``benchmark.data.readers``).

    An empty text is missing; columns without a name and content are none. Also returns sentences on how it was read.
    Raises OSError, and UserError.
    """
    content = contents(path)
    frame = readers.read(content, name, most_rows=readers.MOST_CELLS)
    columns = dict(zip(frame.columns, frame.to_numpy(dtype=object).T, strict=True))
    del columns[readers.LINE]
    filled = {column: texts for column, texts in columns.items() if column.strip(".0123456789") or (texts != "").any()}
    readers.refuse_repeated(frame, filled, name)
    if len(filled) == 1 and not frame.empty:
        ((only, texts),) = filled.items()
        if 1 < len(only.split()) <= len(texts[0].split()) <= len(only.split()) + 1:  # as pandas prints rows
            raise UserError(f"{name}: its only column is {only!r}: put commas between fields")
    arrays = [pa.array([text or None for text in texts], pa.string()) for texts in filled.values()]
    return pa.table(arrays, [*filled]), frame.attrs["notes"]
