"""Readers of raw files: bytes → a table of text with the rows of the file and their lines (or records)."""

import csv
import io
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, redirect_stderr
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from rdkit import Chem, rdBase

from benchmark.data import parquet
from benchmark.data.spec import DatasetSpec
from benchmark.errors import UserError

LINE = "(line)"
"""Column with a row's line in a text file, or record in another, counted from 1."""
REPEATED = "(repeated)"
"""Column that marks rows that repeat an earlier one."""
MOST_BYTES = 2**29
MOST_ROWS = 200_000
MOST_CELLS = 20_000_000
"""The largest table: bytes when uncompressed, rows, and rows times columns. The largest of the suite has 7,807 rows."""
MISSING = frozenset({"", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"})
"""Texts that stand for a missing value."""


def read(content: bytes, name: str) -> pd.DataFrame:
    """Return the rows of a table with all columns as text, without blank lines, and their places in ``LINE``.

    Reads CSV (comma or semicolon), TSV, Parquet and SDF (whose structures become the column ``SMILES``), recognised by
    content. The UserError of a failure names the file, and the line if there is one.
    """
    if content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise UserError(
            f"{name}: it is an Excel workbook or another archive, despite its name: expected CSV, TSV, Parquet or "
            "SDF; save the sheet as CSV (UTF-8)"
        )
    try:
        if content.startswith(b"PAR1"):
            return _numbered(_parquet(content))
        content = content.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
        text = _decoded(content, name)
        return _numbered(_sdf(content)) if "M  END" in text else _delimited(text)
    except (ValueError, OSError, csv.Error, pa.ArrowException) as error:
        raise UserError(f"{name}: cannot be read as a table: {str(error).strip()}") from error


def _decoded(content: bytes, name: str) -> str:
    odd = content.find(b"\0")
    try:
        if odd < 0:
            return content.decode("utf-8")
    except UnicodeDecodeError as error:
        odd = error.start
    line = content.count(b"\n", 0, odd) + 1
    raise UserError(f"{name}: line {line}: byte {content[odd]:#04x} is not UTF-8 text; save as UTF-8")


def _numbered(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(**{LINE: np.arange(1, len(table) + 1)})


def _check_size(rows: int, columns: int) -> None:
    if rows > MOST_ROWS or rows * columns > MOST_CELLS:
        raise ValueError(
            f"it is too large: {rows:,} rows or more, {columns:,} columns; at most {MOST_ROWS:,} rows and "
            f"{MOST_CELLS:,} cells are allowed; keep the columns and rows that are needed"
        )


def _parquet(content: bytes) -> pd.DataFrame:
    """Return the columns of a Parquet file as text. Raises ValueError."""
    read: list[pa.RecordBatch] = []
    rows = size = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        path.write_bytes(content)
        with closing(parquet.batches(path)) as batches:
            for batch in batches:
                rows, size = rows + len(batch), size + batch.nbytes
                _check_size(rows, batch.num_columns)
                if size > MOST_BYTES:
                    raise ValueError(f"it is too large: at most {MOST_BYTES:,} bytes are allowed")
                read.append(batch)
    return _text(pa.Table.from_batches(read).to_pandas())


def _text(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with all entries and names as text. Raises ValueError for the row of a NUL."""
    table = table.astype(object).where(table.notna(), "").astype(str).set_axis(_names(map(str, table)), axis=1)
    for name, texts in table.items():
        if (odd := texts.str.contains("\0", regex=False)).any():
            raise ValueError(f"row {odd.to_numpy().argmax() + 1}, column {name!r}: expected text, found a NUL byte")
    return table


def _delimited(text: str) -> pd.DataFrame:
    separator = max(",\t;", key=text.lstrip().partition("\n")[0].count)
    rows: list[list[str]] = []
    lines: list[int] = []
    spanned: list[str] = []  # lines of the file that the current row spans
    reader = csv.reader(_noted(io.StringIO(text, newline=""), spanned), delimiter=separator)
    line = 1
    try:
        for fields in reader:
            if any(fields):
                rows.append(fields)
                lines.append(line)
                _check_size(len(rows) - 1, len(rows[0]))
                last = "".join(spanned) if len(spanned) > 1 else ""
            spanned.clear()
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"line {line}: {error}") from error
    if not rows:
        raise ValueError("it is empty")
    if last.count('"') % 2:
        raise ValueError(f"line {lines[-1]}: a quote is never closed")
    header, *rows = rows
    for line, fields in zip(lines[1:], rows, strict=True):
        if len(fields) > len(header):
            raise ValueError(
                f"line {line}: {len(fields)} fields, but the header has {len(header)}; a value that contains "
                f"{separator!r} (a decimal comma?) needs quotes"
            )
        fields += [""] * (len(header) - len(fields))
    cells = np.array(rows, dtype=object).reshape(len(rows), len(header))  # one block, however many columns
    return pd.DataFrame(cells, columns=_names(name.strip() for name in header), dtype=object).assign(
        **{LINE: np.array(lines[1:], dtype=int)}
    )


def _noted(lines: Iterable[str], seen: list[str]) -> Iterator[str]:
    for line in lines:
        seen.append(line)
        yield line


def _names(header: Iterable[str]) -> list[str]:
    """Make the names of columns distinct from each other and from ours: a second ``a`` becomes ``a.1``."""
    ours = [LINE, REPEATED]
    return distinct([*ours, *header], ".", 1)[len(ours) :]


def distinct(names: Sequence[str], mark: str, start: int) -> list[str]:
    """Number the repeated ones of ``names``, from ``start`` on, and skip numbers that would give another of the names.

    >>> distinct(["a", "a", "b", "a-2", "a"], "-", 2)
    ['a', 'a-3', 'b', 'a-2', 'a-4']
    """
    taken, seen, numbers = set(names), set(), dict.fromkeys(names, start)
    result = []
    for name in names:
        new = name
        if name in seen:
            while (new := f"{name}{mark}{numbers[name]}") in taken:
                numbers[name] += 1
            taken.add(new)
        seen.add(name)
        result.append(new)
    return result


def _sdf(content: bytes) -> pd.DataFrame:
    records: list[dict[str, str]] = []
    names = {"SMILES"}
    with rdBase.BlockLogs():
        for molecule in Chem.ForwardSDMolSupplier(io.BytesIO(content.rstrip() + b"\n")):
            if molecule is None:
                records.append({"SMILES": "(a structure that RDKit cannot read)"})
            else:
                fields = molecule.GetPropsAsDict(autoConvertStrings=False)
                records.append({**fields, "SMILES": Chem.MolToSmiles(molecule)})
            names.update(records[-1])
            _check_size(len(records), len(names))
    return _text(pd.DataFrame(records))


def clean(table: pd.DataFrame, content: bytes, spec: DatasetSpec) -> pd.DataFrame:
    """Process a table as the published loader of its source does, except that repeated rows are marked, not dropped."""
    scheme, _, name = spec.source.partition(":")
    repeated = pd.Series(False, index=table.index)
    if scheme == "tdc":
        repeated = table.drop(columns=LINE).duplicated()
        if find_spec("tdc"):
            task, dataset, _ = name.split("/")
            _through_pytdc(task, dataset, content, table[~repeated & ~table[spec.target].isin(MISSING)], spec)
    if scheme == "tadf":
        table = _tadf(table, spec)
    return table.assign(**{REPEATED: repeated})


def _through_pytdc(task: str, dataset: str, content: bytes, ours: pd.DataFrame, spec: DatasetSpec) -> None:
    """Read the verified bytes with PyTDC as well. Raises UserError unless it gives the same rows in the same order."""
    before = list(sys.path)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")  # importing it warns, then silences all later warnings
        try:
            from tdc import single_pred

            Path(folder, f"{dataset.lower()}.tab").write_bytes(content)
            theirs = getattr(single_pred, task)(name=dataset, path=folder).get_data()
        except (Exception, SystemExit) as error:
            raise UserError(f"{spec.name}: PyTDC cannot read the file: {error!r}; pip uninstall PyTDC") from error
        finally:
            sys.path[:] = before
    if not (
        np.array_equal(theirs[spec.smiles], ours[spec.smiles])
        and np.array_equal(theirs[spec.target].to_numpy(float), ours[spec.target].to_numpy(float))
    ):
        raise UserError(
            f"{spec.name}: PyTDC reads {len(theirs)} rows, not the {len(ours)} expected; pip install PyTDC==1.1.15"
        )


def _tadf(table: pd.DataFrame, spec: DatasetSpec) -> pd.DataFrame:
    """Select the emission wavelengths (nm) from the table of Huang and Cole, doi:10.1038/s41597-023-02897-3."""
    if "model_name" not in table:
        raise UserError(f"{spec.name}: the table has no column 'model_name': expected subsidary.csv of figshare")
    table = table[table["model_name"] == "EmissionWavelength"].reset_index(drop=True)
    first = table[spec.target].str.extract(r"(-?\d+(?:\.\d+)?)", expand=False).fillna("")
    return table.assign(**{spec.target: first})
