"""Readers of raw files: bytes → a table of text with the rows of the file and their lines (or records)."""

import codecs
import csv
import io
import re
import tempfile
import unicodedata
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmark.data import parquet
from benchmark.data.spec import DatasetSpec
from benchmark.errors import UserError, did_you_mean, number_of

LINE = "(line)"
"""Column with a row's line in a text file, or record in another, counted from 1."""
REPEATED = "(repeated)"
"""Column that marks rows that repeat an earlier one."""
MOST_BYTES = 2**29
MOST_ROWS = 200_000
MOST_CELLS = 20_000_000
"""The largest table: bytes when uncompressed, rows, and rows times columns. The largest of the suite has 7,807 rows."""
PROBED = 2**20
"""Characters of a text that are read to find what separates its fields."""
MISSING = frozenset({"", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"})
"""Texts that stand for a missing value in every table."""
SEPARATED = re.compile(r'"?sep=(.)"?[;,\t]*\r?\n', re.IGNORECASE)
"""Excel's first line for the separator of a CSV file."""
UTF8 = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")
"""A character of several bytes, of which text in Windows-1252 has next to none."""
WORKBOOK = b"PK\x03\x04"
"""The first bytes of an Excel workbook."""
OTHERS = {
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls), or one that is protected by a password",
    b"BZh91AY&SY": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
    b"7z\xbc\xaf": "an archive of 7-Zip",
    b"(\xb5/\xfd": "compressed by Zstandard",
    b"\x1f\x8b": "compressed twice",
    b"%PDF": "a PDF",
    b"\x89HDF": "an HDF5 file",
    b"SQLite format 3": "a database of SQLite",
    b"ARROW1\0\0": "a Feather file",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
}
"""The first bytes of files that are not read, and what they are."""
UNREADABLE = "(a structure that RDKit cannot read)"


def read(content: bytes, name: str, sheet: str = "", most_rows: int = 0) -> pd.DataFrame:
    """Return the rows of a table with all columns as text, without blank lines, and their places in ``LINE``.

    Reads CSV (comma or semicolon), TSV, Excel workbooks (``sheet`` of several), Parquet, and SDF (whose structures
    become the column ``SMILES``, and titles ``Name``), recognised by content; text in UTF-8, -16, -32 or Windows-1252.
    ``attrs`` has ``notes``, sentences on how the file was read, ``repeated``, the names that several columns, or
    several fields of a record, have, the ``separator`` of a text file, and ``native``, the columns with fractions that
    the file holds as numbers and not as text: what their point means is certain.
    The UserError of a failure, such as for more than ``most_rows`` (by default ``MOST_ROWS``), names the file, and the
    line if there is one.
    """
    notes: list[str] = []
    separator = ""
    twice: set[str] = set()
    try:
        if kind := next((kind for magic, kind in OTHERS.items() if content.startswith(magic)), ""):
            raise ValueError(f"it is {kind}: save the table as CSV, Excel workbook (.xlsx) or Parquet")
        if sheet and not content.startswith(WORKBOOK):
            raise ValueError(f"it is no Excel workbook (.xlsx), and has no sheet {sheet!r}: leave out the sheet")
        if content.startswith(b"PAR1"):
            header, cells, lines, native = _parquet(content)
        elif content.startswith(WORKBOOK):
            header, cells, lines, native = _workbook(content, name, sheet, notes)
        else:
            text = _decoded(content, name, notes).lstrip(codecs.BOM_UTF8.decode())  # a second one
            if "\0" in text:
                raise ValueError("it has NUL characters, as UTF-32 without a mark has: save as UTF-8")
            if odd := re.match(r"\s*(\[?\s*\{|<(!doctype|html|\?xml|table|datawarrior))", text, re.IGNORECASE):
                raise ValueError(
                    f"it begins with {odd[1]}, as JSON, a web page or a file of DataWarrior does: save the table as CSV"
                )
            if _is_sdf(text):
                (header, cells, lines, native), twice = _sdf(text)
            else:
                (header, cells, lines, native), separator = _delimited(text)
        _check_size(len(cells), len(header), most_rows or MOST_ROWS)
    except (ValueError, OSError, csv.Error, zipfile.BadZipFile, pa.ArrowException) as error:
        raise UserError(f"{name}: cannot be read as a table: {str(error).strip()}") from error
    header = [re.sub(r"\s*[\r\n]+\s*", " ", seen(name)) for name in header]  # of a heading in two lines
    names = _names(header)
    table = pd.DataFrame(cells, columns=names, dtype=object).assign(**{LINE: np.array(lines, dtype=int)})
    repeated = sorted(twice | {name for name, count in Counter(header).items() if count > 1})
    table.attrs = {"notes": notes, "repeated": repeated, "separator": separator, "native": [names[i] for i in native]}
    return table


def seen(name: str) -> str:
    """Return the name of a column without characters that are not seen, such as a zero-width space."""
    return name if name.isascii() else "".join(c for c in name if unicodedata.category(c) != "Cf")


Cells = tuple[list[str], np.ndarray, Sequence[int], Sequence[int]]
"""Header (D,), texts (N, D) as objects, the line of each row (N,), and the places of the ``native`` columns."""


class Fraction(str):
    """A cell of a workbook that holds a number with a point, and not its text."""


def _decoded(content: bytes, name: str, notes: list[str]) -> str:
    """Return the text of a file: UTF-8, -16, -32, or Windows-1252 where no byte says otherwise. Raises UserError."""
    start = content[:2000]
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return content.decode("utf-32")
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16")
    for order, zeros in (("le", start[1::2].count(0)), ("be", start[::2].count(0))):
        if zeros > 0.4 * len(start):
            return content.decode(f"utf-16-{order}")
    marked = content.startswith(codecs.BOM_UTF8)
    content = content.removeprefix(codecs.BOM_UTF8)
    odd = content.find(b"\0")
    if odd < 0:
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            odd = error.start
        if not marked and not UTF8.search(content):
            with suppress(UnicodeDecodeError):
                text = content.decode("cp1252")
                example = re.search(r"[\w.]*[^\x00-\x7f][\w.]*", text)
                notes.append(f"text read as Windows-1252, as in {example[0] if example else ''!r}: else save as UTF-8")
                return text
    line = content.count(b"\n", 0, odd) + 1
    raise UserError(f"{name}: line {line}: byte {content[odd]:#04x} is not UTF-8 text; save as UTF-8")


def _check_size(rows: int, columns: int, most_rows: int = 0) -> None:
    if 0 < most_rows < rows or rows * columns > MOST_CELLS:
        raise ValueError(
            f"it is too large: {number_of(rows, 'row')} or more, {number_of(columns, 'column')}; at most "
            f"{most_rows or MOST_ROWS:,} rows and {MOST_CELLS:,} cells are allowed; keep the columns and rows that are "
            "needed"
        )


def _parquet(content: bytes) -> Cells:
    read: list[pa.RecordBatch] = []
    rows = size = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        path.write_bytes(content)
        with closing(parquet.batches(path)) as batches:
            for batch in batches:
                rows, size = rows + len(batch), size + batch.nbytes
                _check_size(rows, batch.num_columns, MOST_ROWS)
                if size > MOST_BYTES:
                    raise ValueError(f"it is too large: at most {MOST_BYTES:,} bytes are allowed")
                read.append(batch)
    table = pa.Table.from_batches(read).to_pandas(integer_object_nulls=True, use_threads=False)
    named = table.index.names != [None] or pd.api.types.is_string_dtype(table.index)
    if named and not isinstance(table.index, pd.RangeIndex):  # which only counts the rows, as numbers without a name do
        table = table.reset_index(allow_duplicates=True)
    header = [*map(str, table)]
    native = [i for i in range(len(header)) if _has_fractions(table.iloc[:, i])]
    cells = table.astype(object).where(table.notna(), "").astype(str).to_numpy(dtype=object)
    for column, texts in zip(header, cells.T, strict=True):
        if odd := next((i for i, text in enumerate(texts, 1) if "\0" in text), 0):
            raise ValueError(f"row {odd}, column {column!r}: expected text, found a NUL byte")
    return header, cells, range(1, len(cells) + 1), native


def _has_fractions(values: pd.Series) -> bool:
    kind = values.dtype.kind
    return kind == "f" or (kind == "O" and any(isinstance(value, Decimal) for value in values))


def _workbook(content: bytes, name: str, sheet: str, notes: list[str]) -> Cells:
    """Return a sheet of an Excel workbook: the one that is named, or the only one with more than a row."""
    import openpyxl

    try:
        if sum(part.file_size for part in zipfile.ZipFile(io.BytesIO(content)).infolist()) > MOST_BYTES:
            raise ValueError(f"it is too large: at most {MOST_BYTES:,} bytes are allowed")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of parts of a workbook that are no table
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            tables = {page.title: _filled(page) for page in book.worksheets if sheet in ("", page.title)}
            held = [title for title, (rows, _) in tables.items() if len(rows) > 1]
            unstored = _unstored(content, book[held[0]]) if len(held) == 1 else []
    except ValueError:
        raise
    except Exception as error:  # of zipfile, zlib, XML and openpyxl, for bytes that can be anything
        raise ValueError(
            f"it is a damaged Excel workbook, or another archive: {error}: save the table as .xlsx or CSV"
        ) from error
    if sheet and sheet not in tables:
        raise did_you_mean(f"sheet of {name}", sheet, book.sheetnames)
    if not held:
        raise ValueError("no sheet has a table")
    if len(held) > 1:
        raise UserError(f"{name}: several sheets hold tables, {', '.join(held)}: choose one with --sheet, or leave one")
    title, (rows, shown) = held[0], tables[held[0]]
    if unstored:
        cells = ", ".join(unstored[:5]) + (f" and {len(unstored) - 5} more" if len(unstored) > 5 else "")
        raise ValueError(
            f"sheet {title!r}: the results of its formulas are not stored in {cells}: open and save the file in Excel, "
            "or write numbers"
        )
    width = max(len(cells) for _, cells in rows)
    while len(rows) > 2 and sum(map(bool, rows[0][1])) == 1 < sum(map(bool, rows[1][1])):
        rows = rows[1:]  # a title above the table
    line, header = rows[0]
    if line > 1 or len(book.sheetnames) > 1:
        notes.append(f"sheet {title!r}, whose header is in row {line}")
    with book[title]._get_source() as source:
        xml = source.read().decode(errors="replace")
    if merged := [ref for ref, row in re.findall(r'<mergeCell ref="(\w+?(\d+):\w+)"', xml) if int(row) > line]:
        notes.append(f"of merged cells, only the first has a value: {', '.join(merged[:5])}{', …' * (len(merged) > 5)}")
    if hidden := len(re.findall(r'<row [^>]*\bhidden="(?:1|true)"', xml)):
        notes.append(f"read like the others: {number_of(hidden, 'hidden row')}")
    texts = np.array([cells + [""] * (width - len(cells)) for _, cells in rows[1:]], dtype=object)
    header += [""] * (width - len(header))
    kept = [bool(text) or bool((texts[:, i] != "").any()) for i, text in enumerate(header)]
    texts = texts[:, kept]
    native = []
    for i, column in enumerate(texts.T):
        fractions = np.array([isinstance(text, Fraction) for text in column])
        if not any("," in text for text in column[~fractions]):
            native += [i] * bool(fractions.any())
        else:  # beside texts with commas, whose points may stand between thousands: so may not that of 10.6290
            column[fractions] = [re.sub(r"(\.\d{3})$", r"\g<1>0", text) for text in column[fractions]]
    for (i, text), count in shown.items():
        how = "in percent" if text == "%" else f"with {text!r}"
        notes.append(
            f"{header[i]!r}: {number_of(count, 'number')} shown {how} by the format of the cell, and read without"
            + (", as 0.5 of 50%" if text == "%" else "")
        )
    header = [text for text, keep in zip(header, kept, strict=True) if keep]
    return header, texts, [line for line, _ in rows[1:]], native


def _filled(page: Any) -> tuple[list[tuple[int, list[str]]], Counter[tuple[int, str]]]:
    """Return the rows of a sheet that are not blank, with their numbers, and how many numbers Excel shows with another
    text, such as a unit, by column and text. A relation is read as if it were typed."""
    rows = []
    shown: Counter[tuple[int, str]] = Counter()
    page.reset_dimensions()  # which programs other than Excel often state wrongly
    for line, row in enumerate(page.iter_rows(), 1):
        cells = [_cell(cell.value) for cell in row]
        for i, cell in enumerate(row):
            if isinstance(cell.value, int | float) and not isinstance(cell.value, bool):
                before, text = _beside(cell.number_format)
                if before:
                    cells[i] = before + cells[i]
                elif text:
                    shown[i, text] += 1
        if any(cells):
            rows.append((line, cells))
            _check_size(len(rows) - 1, len(rows[0][1]))
    return rows, shown


@lru_cache(maxsize=256)  # a workbook has few formats
def _beside(kind: str) -> tuple[str, str]:
    """Return what the format of a cell shows beside its number: a relation before it, and any other text.

    >>> _beside('">"0.0'), _beside('0.0" nM"'), _beside("0%"), _beside('#,##0.00_);[Red](#,##0.00)')
    (('>', ''), ('', 'nM'), ('', '%'), ('', ''))
    """
    plain = re.sub(r"\[[^\]]*\]|_.|\*.", "", kind).partition(";")[0]
    before = re.sub(r'["\\ ]', "", re.split(r"[0#?]", plain, maxsplit=1)[0])
    if re.fullmatch("[<>\u2264\u2265]=?", before):
        return before, ""
    quoted = "".join("".join(pair) for pair in re.findall(r'"([^"]*)"|\\(.)|(%)', plain)).strip()
    return "", quoted if re.search("[^\\W\\d_]|[%<>\u00b0]", quoted) else ""


def _unstored(content: bytes, page: Any) -> list[str]:
    """Return the cells of a sheet with a formula that no program has computed, which would be read as empty."""
    import openpyxl

    archive = zipfile.ZipFile(io.BytesIO(content))
    parts = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
    if not any(re.search(rb"<(\w+:)?f[\s/>]", archive.read(part)) for part in parts):
        return []
    written = openpyxl.load_workbook(io.BytesIO(content), read_only=True)[page.title]
    written.reset_dimensions()
    return [
        formula.coordinate
        for row, formulas in zip(page.iter_rows(), written.iter_rows(), strict=True)
        for cell, formula in zip(row, formulas, strict=True)
        if formula.data_type == "f" and cell.value is None and cell.data_type != "str"  # a formula's empty text
    ]


def _cell(value: Any) -> str:
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    if isinstance(value, float):
        return Fraction(value)
    return "" if value is None else str(value).strip()


def _delimited(text: str) -> tuple[Cells, str]:
    named = SEPARATED.match(text)
    before = named[0] if named else "".join(re.findall(r"\A(?:#[^,;\t|\n]*\n)+", text))  # or comments
    text, line = text[len(before) :], 1 + before.count("\n")
    separator = named[1] if named else _separator(text)
    if (every := _unquoted(text, separator)) is not None:
        numbers = range(line + 1, line + len(every))
        return ([name.strip() for name in every[0]], every[1:], numbers, []), separator
    first = line
    rows: list[list[str]] = []
    lines: list[int] = []
    spanned: list[str] = []  # lines of the file that the current row spans
    reader = csv.reader(_noted(io.StringIO(text, newline=""), spanned), delimiter=separator)
    try:
        for fields in reader:
            if any(fields) or (len(fields) == 1 and spanned[-1].strip()):  # a quoted nothing
                rows.append(fields)
                lines.append(line)
                _check_size(len(rows) - 1, len(rows[0]))
            if len(spanned) > 1:
                _refuse_open_quote(spanned, separator, line)
            spanned.clear()
            line = reader.line_num + first
    except csv.Error as error:
        long = ": is a quote never closed? Leave out columns of long texts" if "limit" in str(error) else ""
        raise ValueError(f"line {line}: {error}{long}") from error
    if not rows:
        raise ValueError("it is empty")
    header, *rows = rows
    for line, fields in zip(lines[1:], rows, strict=True):
        if len(fields) > len(header):
            raise ValueError(
                f"line {line}: {len(fields)} fields, but the header on line {lines[0]} has {len(header)}: remove what "
                "stands above the names of the columns, and name each (R's write.table leaves out the first); a value "
                f"with {separator!r} (a decimal comma?) needs quotes; name another mark in a first line, as in sep=;"
            )
        fields += [""] * (len(header) - len(fields))
    cells = np.array(rows, dtype=object).reshape(len(rows), len(header))  # one block, however many columns
    return ([name.strip() for name in header], cells, lines[1:], []), separator


def _unquoted(text: str, separator: str) -> np.ndarray | None:
    """Return the fields (N + 1, D) of a text without quotes and blank lines, in which each line has as many.

    None of any other text. Python's reader takes several times as long, for the same fields.
    """
    if '"' in text or text.count("\r") != text.count("\r\n"):
        return None
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    marks = lines[0].count(separator)
    if separator * marks in lines or any(line.count(separator) != marks for line in lines):
        return None
    if max(map(len, lines)) > csv.field_size_limit():  # of which Python's reader says what is wrong
        return None
    _check_size(len(lines) - 1, marks + 1)
    return np.array(separator.join(lines).split(separator), dtype=object).reshape(len(lines), marks + 1)


def _separator(text: str) -> str:
    """Return the mark by which most rows have as many fields as the header, else the one that divides the header most.
    Raises ValueError if two do alike."""
    found = []
    for mark in "\t,;|":
        reader = csv.reader(io.StringIO(text[:PROBED], newline=""), delimiter=mark, strict=True)
        widths: list[int] = []
        with suppress(csv.Error):  # a mark inside quotes, or the end of what is probed
            widths.extend(map(len, islice(filter(any, reader), 101)))
        header, *rows = widths or [1]
        if header > 1:
            found.append((2 * rows.count(header) > len(rows), header, mark))
    best = max(found, key=lambda one: one[:2], default=(False, 1, ","))
    if others := [mark for *fits, mark in found if best[0] and tuple(fits) == best[:2] and mark != best[2] != "\t"]:
        raise ValueError(
            f"{best[2]!r} or {others[0]!r} may separate its fields: name the mark in a first line such as sep={best[2]}"
        )
    return best[2]


def _refuse_open_quote(spanned: Sequence[str], separator: str, line: int) -> None:
    """Raise ValueError if a row spans several lines because a quote is not closed, or is closed by the quote that opens
    another field: text follows it."""
    try:
        list(csv.reader(spanned, delimiter=separator, strict=True))
    except csv.Error as error:
        raise ValueError(
            f"line {line}: a quote is never closed, and takes in {number_of(len(spanned) - 1, 'line')} below: remove "
            "it, or write it twice in a text between quotes"
        ) from error


def _noted(lines: Iterable[str], seen: list[str]) -> Iterator[str]:
    for line in lines:
        seen.append(line)
        yield line


def _names(header: Iterable[str]) -> list[str]:
    """Make the names of columns distinct from each other and from ours: a second ``a`` becomes ``a.1``."""
    ours = [LINE, REPEATED]
    return distinct([*ours, *header], ".", 1)[len(ours) :]


def refuse_repeated(table: pd.DataFrame, names: Iterable[str], file: str) -> None:
    """Raise UserError if several columns of a table, or several fields of a record, have one of these names."""
    if twice := [name for name in names if name in table.attrs.get("repeated", ())]:
        raise UserError(
            f"{file}: several columns are called {twice[0]!r}: rename those that are not meant; in an SDF, they are "
            "fields of one record"
        )


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


def _is_sdf(text: str) -> bool:
    """Tell whether text is an SDF, and not a delimited table, which may hold structures in quotes."""
    end = re.search(r"(?m)^M  END[ \t\r]*$", text)
    if end is None:
        return False
    counts = re.match(r"(?:.*\n){3}.*V[23]000\s*$", text, re.MULTILINE)  # a title may have a quote, as in 2"-O-methyl
    return bool(counts) or text.count('"', 0, end.start()) % 2 == 0


def _sdf(text: str) -> tuple[Cells, set[str]]:
    """Return the records of an SDF, and the names of fields that a record has twice, of which RDKit keeps the last."""
    from rdkit import Chem, rdBase  # a table of predictions is read without

    records: list[dict[str, str]] = []
    names = {"SMILES": None}
    text = text.replace("\r\n", "\n").rstrip() + "\n"
    with rdBase.BlockLogs():
        for molecule in Chem.ForwardSDMolSupplier(io.BytesIO(text.encode())):
            fields = {} if molecule is None else molecule.GetPropsAsDict(autoConvertStrings=False)
            records.append(fields | {"SMILES": Chem.MolToSmiles(molecule) if molecule else UNREADABLE})
            names |= dict.fromkeys(records[-1])
            _check_size(len(records), len(names))
    blocks = re.split(r"(?m)^\$\$\$\$.*\n", text)[: len(records)]
    fields_of = (Counter(re.findall(r"(?m)^>.*?<(.*)>", block)) for block in blocks)
    twice = {name for fields in fields_of for name, count in fields.items() if count > 1 and name != "SMILES"}
    titles = [block.partition("\n")[0].strip() for block in blocks]
    if any(titles) and len(titles) == len(records):
        column = "Title" if "Name" in names else "Name"
        records = [{column: title} | record for title, record in zip(titles, records, strict=True)]
        names = {column: None} | names
    cells = [[record.get(name, "") for name in names] for record in records]
    return ([*names], np.array(cells, dtype=object).reshape(-1, len(names)), range(1, len(cells) + 1), []), twice


def clean(table: pd.DataFrame, spec: DatasetSpec) -> pd.DataFrame:
    """Process a table as the published loader of its source does, except that repeated rows are marked, not dropped."""
    scheme = spec.source.partition(":")[0]
    repeated = table.drop(columns=LINE).duplicated() if scheme == "tdc" else pd.Series(False, index=table.index)
    if scheme == "tadf":
        table = _tadf(table, spec)
    return table.assign(**{REPEATED: repeated})


def _tadf(table: pd.DataFrame, spec: DatasetSpec) -> pd.DataFrame:
    """Select the emission wavelengths (nm) from the table of Huang and Cole, doi:10.1038/s41597-023-02897-3."""
    if "model_name" not in table:
        raise UserError(f"{spec.name}: the table has no column 'model_name': expected subsidary.csv of figshare")
    table = table[table["model_name"] == "EmissionWavelength"].reset_index(drop=True)
    first = table[spec.target].str.extract(r"(-?\d+(?:\.\d+)?)", expand=False).fillna("")
    return table.assign(**{spec.target: first})
