"""Readers of raw files: bytes → a table of text with the rows of the file and their lines (or records)."""

import csv
import io
import sys
import tempfile
import warnings
from contextlib import redirect_stderr
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from rdkit import Chem, rdBase

from benchmark.data.spec import DatasetSpec
from benchmark.errors import UserError

LINE = "(line)"
"""Column with a row's line in a text file, or record in another, counted from 1."""
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
            table = pd.read_parquet(io.BytesIO(content))
            return _text(table).assign(**{LINE: np.arange(1, len(table) + 1)})
        content = content.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
        text = content.decode("utf-8")
        return _sdf(content) if "M  END" in text else _delimited(text)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{name}: line {line}: byte {content[error.start]:#04x} is not UTF-8; save as UTF-8") from error
    except (ValueError, OSError, csv.Error) as error:
        raise UserError(f"{name}: cannot be read as a table: {str(error).strip()}") from error


def _text(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype(object).where(table.notna(), "").astype(str).rename(columns=str)


def _delimited(text: str) -> pd.DataFrame:
    separator = max(",\t;", key=text.lstrip().partition("\n")[0].count)
    rows: list[list[str]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    line = 1
    try:
        for fields in reader:
            if any(fields):
                rows.append(fields)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"line {line}: {error}") from error
    if not rows:
        raise ValueError("it is empty")
    last = text.splitlines()[lines[-1] - 1 :]
    if len(last) > 1 and "".join(last).count('"') % 2:
        raise ValueError(f"line {lines[-1]}: a quote is never closed")
    header, *rows = rows
    for line, fields in zip(lines[1:], rows, strict=True):
        if len(fields) > len(header):
            raise ValueError(
                f"line {line}: {len(fields)} fields, but the header has {len(header)}; a value that contains "
                f"{separator!r} (a decimal comma?) needs quotes"
            )
        fields += [""] * (len(header) - len(fields))
    return pd.DataFrame(rows, columns=_distinct(header), dtype=str).assign(**{LINE: np.array(lines[1:], dtype=int)})


def _distinct(header: list[str]) -> list[str]:
    """Strip the names of columns and make them unique: a second ``a`` becomes ``a.1``."""
    names = pd.Series([name.strip() for name in header], dtype=object)
    return [f"{name}.{n}" if n else name for name, n in zip(names, names.groupby(names).cumcount(), strict=True)]


def _sdf(content: bytes) -> pd.DataFrame:
    with rdBase.BlockLogs():
        molecules = list(Chem.ForwardSDMolSupplier(io.BytesIO(content.rstrip() + b"\n")))
    records = [
        {} if mol is None else {**mol.GetPropsAsDict(autoConvertStrings=False), "SMILES": Chem.MolToSmiles(mol)}
        for mol in molecules
    ]
    table = _text(pd.DataFrame(records, index=range(len(records))))
    table.loc[[mol is None for mol in molecules], "SMILES"] = "(a structure that RDKit cannot read)"
    return table.assign(**{LINE: np.arange(1, len(table) + 1)})


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


REPEATED = "(repeated)"


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
