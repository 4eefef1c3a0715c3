"""Tables in Parquet, CSV or MLflow's JSON files, whose columns stay text or numbers as they were written."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from pydantic_core import from_json

from benchmark.data import parquet
from benchmark.errors import UserError

NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"
MOST_BYTES = 2**31
"""Bytes of a table in memory, where each text is kept once."""
SEPARATED = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=([,;|\t])"?[,;|\t]*\r?\n', re.IGNORECASE)
"""Excel's first line for the separator."""
OTHERS = {
    b"PAR1": "a Parquet file: expected its name to end in .parquet",
    b"PK\3\4": "a workbook or an archive: save its table as CSV",
    b"\x1f\x8b": "compressed: expected its name to end in .gz",
    b"BZh91AY&SY": "compressed: expected its name to end in .bz2",
}
"""The first bytes of files that are no CSV, and what they are."""
HINTS = {
    "straddling": "a field is longer than 1 MiB: is a quote never closed? Leave out long texts",
    "parse error": "expected as many fields in each row as the first line has: mend such rows, or leave them out",
    "failed": "it is damaged, or not compressed as its name says: rename it, or write it anew",
}
"""What to add to messages of Arrow."""
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
    column ``label`` is then its prediction.
    """

    name: str
    columns: dict[str, Column]
    ordered: bool = False
    output: bool = False

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
    kinds: dict[str, Callable[[Path], Any]] = {".parquet": _parquet, ".json": _logged}
    parse = kinds.get(path.suffix.lower(), texts_of)
    try:
        found = parse(path)
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        expected = "Parquet (.parquet), a table logged by MLflow (.json) or CSV (any other name)"
        hint = next((f": {hint}" for said, hint in HINTS.items() if said in str(error)), "")
        raise UserError(f"{name}: cannot be read as {expected}: {error}{hint}") from error
    columns = zip(found.column_names, found.columns, strict=True) if isinstance(found, pa.Table) else found
    read = table(name, columns, ordered=ordered)
    if parse is texts_of and (first := _entry_above(read)) is not None:
        raise UserError(
            f"{name}: the first line has {first!r} where names of columns are expected: add a line of names above, "
            "such as example_id,y_true,p1, or if this is a name, change it"
        )
    return read


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


def texts_of(path: Path) -> pa.Table:
    """Read every column of a CSV as text, but for those without a name and content; the most frequent of , ; | and tab
    in the header is the separator, if Excel's line ``sep=;`` does not name it.

    What is empty is missing, unless it is in quotes. A file may be compressed, as its suffix says. Raises ValueError
    for one that is no text in UTF-8.
    """
    path.stat()  # its error names a missing file better than Arrow's
    with pa.input_stream(str(path), compression="detect") as file:
        start = file.read(2**20)
    if b"\0" in start and (kind := next((kind for magic, kind in OTHERS.items() if start.startswith(magic)), "")):
        raise ValueError(f"it is {kind}")
    if b"\0" in start or start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(
            "it is binary, or text in UTF-16: expected text in UTF-8, as pandas.DataFrame.to_csv, or CSV UTF-8 of a "
            "spreadsheet, writes"
        )
    if re.match(rb'\s*(\{\s*"|\[\s*[\[{])', start):
        raise ValueError("it is JSON: write a CSV with a line of names of columns, as pandas.DataFrame.to_csv does")
    named = SEPARATED.match(start)
    header, *lines = start[named.end() if named else 0 :].splitlines() or [b""]
    below = lines[0] if lines else b""
    mark = named[1].decode() if named else max(",;\t|", key=lambda mark: header.count(mark.encode()))
    if mark.encode() not in header and 2 * sum(bool(re.match(b'[^"]*[,;\t]', line)) for line in lines) > len(lines):
        raise ValueError(
            f"its first line is {header.decode(errors='replace').strip()[:60]!r}, and most of the others have several "
            "fields: remove what stands above the names of the columns"
        )
    fields = len(header.split())  # of rows as pandas prints them, which may have a number before
    if mark.encode() not in header and 1 < fields <= len(below.split()) <= fields + 1:  # and no heading of two words
        raise ValueError(
            f"its only column is {header.decode(errors='replace').strip()[:60]!r}: put commas between fields"
        )
    parsed = pa.csv.ParseOptions(delimiter=mark, newlines_in_values=True)
    above = int(bool(named))
    options = {"null_values": [""], "strings_can_be_null": True, "quoted_strings_can_be_null": False}
    try:
        with pa.csv.open_csv(path, pa.csv.ReadOptions(skip_rows=above), parsed) as reader:
            texts = pa.csv.ConvertOptions(column_types=dict.fromkeys(reader.schema.names, pa.string()), **options)
        read = pa.csv.read_csv(path, pa.csv.ReadOptions(use_threads=False, skip_rows=above), parsed, texts)
    except ValueError as error:
        wider = re.search(r"Expected (\d+) columns, got (\d+)", str(error))
        if wider and int(wider[2]) == int(wider[1]) + 1 == below.count(mark.encode()) + 1 > 2:
            raise ValueError(
                "its rows have one field more than its first line, as R's write.table does: write a name for the first "
                "column, such as example_id"
            ) from error
        if "utf8" in str(error).lower().replace("-", ""):
            raise ValueError("its text is not UTF-8: save it as CSV UTF-8, as spreadsheets can") from error
        raise
    if len(read) and all(column[-1].as_py() is None for column in read.columns):  # rows of a spreadsheet
        there = np.any([column.is_valid().to_numpy() for column in read.columns], axis=0)
        read = read.slice(0, int(np.flatnonzero(there).max(initial=-1)) + 1)
    names = read.column_names
    return read.select([i for i, name in enumerate(names) if name or read.column(i).null_count < len(read)])
