"""Tables in Parquet, CSV or MLflow's JSON files, read in batches, with columns as texts or numbers."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from pydantic_core import from_json

from benchmark.data import parquet
from benchmark.errors import UserError

WHOLE = 2.0**53
"""Every smaller integer is an exact float."""


def columns_of(path: Path) -> list[str]:
    """Return the column names of a table. Raises UserError if it cannot be read."""
    try:
        if path.suffix == ".parquet":
            return list(pa.parquet.read_schema(path).names)
        if path.suffix == ".json":
            return _logged(path)[0]
        with pa.csv.open_csv(path, parse_options=_separated(path)) as reader:
            return list(reader.schema.names)
    except (OSError, pa.ArrowException) as error:
        kinds = "Parquet (.parquet), a table logged by MLflow (.json) or CSV (any other name)"
        raise UserError(f"{path}: cannot be read as {kinds}: {error}") from error


def _logged(path: Path) -> tuple[list[str], list[list[object]]]:
    """Return the column names and the rows of a table as ``mlflow.log_table`` writes it. Raises UserError."""
    expected = f'{path}: expected a table as mlflow.log_table writes it, {{"columns": […], "data": [[…], …]}}'
    try:
        content = from_json(path.read_bytes())
    except ValueError as error:
        raise UserError(f"{expected}: {error}") from error
    if not isinstance(content, dict) or not all(isinstance(content.get(name), list) for name in ("columns", "data")):
        raise UserError(expected)
    names, rows = [str(name) for name in content["columns"]], content["data"]
    odd = next((i for i, row in enumerate(rows, 1) if not isinstance(row, list) or len(row) != len(names)), None)
    if odd is not None:
        raise UserError(f"{expected}: row {odd} does not have a value for each of {len(names)} columns")
    return names, rows


def _separated(path: Path) -> pa.csv.ParseOptions:
    """Take the most frequent of comma, semicolon and tab in the header as the separator."""
    with path.open("rb") as file:
        header = file.readline(2**20)
    return pa.csv.ParseOptions(delimiter=max(",;\t", key=lambda mark: header.count(mark.encode())))


def batches(path: Path, columns: list[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield batches with the number of their first row; the first row below the header is 1."""
    row = 1
    try:
        if path.suffix == ".parquet":
            with closing(parquet.batches(path, columns)) as read:
                for batch in read:
                    _check_flat(path, batch.schema)
                    if len(batch):
                        yield row, batch
                        row += len(batch)
            return
        if path.suffix == ".json":
            names, rows = _logged(path)
            batch = pa.record_batch(
                [_column(path, name, [r[names.index(name)] for r in rows]) for name in columns], columns
            )
            _check_flat(path, batch.schema)
            if len(batch):
                yield row, batch
            return
        texts = pa.csv.ConvertOptions(include_columns=columns, column_types=dict.fromkeys(columns, pa.string()))
        one = pa.csv.ReadOptions(use_threads=False)
        with pa.csv.open_csv(path, one, parse_options=_separated(path), convert_options=texts) as reader:
            for batch in reader:
                yield row, batch
                row += len(batch)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error


def _check_flat(path: Path, schema: pa.Schema) -> None:
    for field in schema:
        if pa.types.is_nested(field.type):
            raise UserError(
                f"{path}: the column {field.name!r} holds {field.type}: expected text or one number per row"
            )


def _column(path: Path, name: str, values: list[object]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError) as error:
        raise UserError(f"{path}: the column {name!r} mixes text, numbers or other values: {error}") from error


def texts_of(column: pa.Array) -> pa.Array:
    """Return a column as texts; integers stored as floats lose their ``.0``."""
    if pa.types.is_floating(column.type):
        safe = pc.and_(pc.equal(column, pc.round(column)), pc.less(pc.abs(column), WHOLE))
        if pc.all(safe).as_py():
            column = column.cast(pa.int64())
    return column.cast(pa.string())


def numbers_of(column: pa.Array) -> np.ndarray | None:
    """Return a column as float64 (nan for empty entries), or None if any entry is not a number."""
    if pa.types.is_boolean(column.type):
        return None
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.if_else(pc.equal(column, ""), None, column)
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def check_filled(path: Path, name: str, column: pa.Array, row: int) -> None:
    """Raise UserError for an empty entry in ``column``, whose first row has the number ``row``."""
    empty = np.asarray(pc.fill_null(pc.equal(texts_of(column), ""), True))
    if empty.any():
        raise UserError(f"{path}, row {row + int(empty.argmax())}: the column {name!r} is empty: expected a value")


def natural(text: str) -> tuple[float, str]:
    """Return a sort key that puts numbers first, in order of size."""
    try:
        return float(text), text
    except ValueError:
        return float("inf"), text


def plain(text: str) -> str:
    """Normalise a class label for comparison: ``1.0`` becomes ``1``."""
    return text[:-2] if re.fullmatch(r"-?\d+\.0", text) else text
