"""Tables and datasets of one's own, for any test of data."""

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import openpyxl
import pandas as pd
import tomli_w
from rdkit.Chem import MolFromSmiles, MolToSmiles

if TYPE_CHECKING:
    from benchmark.data.spec import DatasetSpec

RINGS = ("c1ccccc1", "c1ccncc1", "C1CCCCC1", "c1ccsc1", "c1ccoc1", "C1CCCC1", "c1ccc2ccccc2c1", "C1CCNCC1", "C1CC1")
SMILES = [MolToSmiles(MolFromSmiles(tail + ring)) for ring in RINGS for tail in ("C", "CC", "O", "N")]


def table(texts: Sequence[Any], **columns: Sequence[Any]) -> pd.DataFrame:
    """Return 36 molecules with these texts in turn as targets, and more columns."""
    turns = {name: [of[i % len(of)] for i in range(36)] for name, of in {"y": texts, **columns}.items()}
    return pd.DataFrame({"SMILES": SMILES, **turns})


def csv(folder: Path, texts: Sequence[Any], separator: str = ",", **columns: Sequence[Any]) -> Path:
    """Write ``table`` to a file in ``folder``, and return its path."""
    folder.mkdir(exist_ok=True)
    table(texts, **columns).to_csv(folder / "assay.csv", index=False, sep=separator)
    return folder / "assay.csv"


def workbook(**sheets: Sequence[Sequence[Any]]) -> bytes:
    """Return an Excel workbook with these sheets, a list of rows each."""
    book, packed = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for title, rows in sheets.items():
        page = book.create_sheet(title)
        for row in rows:
            page.append(row)
    book.save(packed)
    return packed.getvalue()


def saved(rows: pd.DataFrame, path: Path) -> Path:
    """Write a table as Excel workbook, Parquet or CSV, by the end of the file's name."""
    if path.suffix == ".xlsx":
        path.write_bytes(workbook(t=[[*rows], *rows.astype(object).to_numpy().tolist()]))
    elif path.suffix == ".parquet":
        rows.to_parquet(path)
    else:
        rows.to_csv(path, index=False)
    return path


def materials(**columns: Sequence[Any]) -> pd.DataFrame:
    """Return a table without molecules: a name, two numbers (one missing), a text and a target."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"material": [f"MOF-{i}" for i in range(30)], "pore": rng.normal(size=30).round(3)})
    rows = rows.assign(density=rng.normal(size=30).round(3), metal=["Zn", "Cu"] * 15, stable=["yes", "no", "no"] * 10)
    rows.loc[3, "pore"] = np.nan
    return rows.assign(**columns)


def dataset(
    file: Path, target: str = "y", name: str = "mine", folder: Path | None = None, **given: Any
) -> "DatasetSpec":
    """Return the spec of a dataset that ``new-dataset`` makes of a table, by default in the same folder."""
    from benchmark.data.author import write_dataset
    from benchmark.data.describe.fields import describe_file
    from benchmark.data.spec import load_spec

    fields = describe_file(file, target=target, **given)
    return load_spec(str(write_dataset(file, name, folder or file.parent, fields)))


def fields_of(folder: Path, rows: pd.DataFrame | list[str], target: str = "y", **given: Any) -> dict[str, Any]:
    """Return the fields of the TOML for a table, or for ``table`` of texts; ``notes`` may be empty."""
    from benchmark.data.describe.fields import describe_file

    written = saved(rows if isinstance(rows, pd.DataFrame) else table(rows), folder / "assay.csv")
    return {"notes": ""} | describe_file(written, target=target, **given)


def labelled(spec: "DatasetSpec") -> dict[str, float]:
    """Return the label of each SMILES that is used."""
    from benchmark.data.problem import load_problem

    problem = load_problem(str(spec.path))
    parts = [problem.train, *problem.evals.values()]
    return {s: y for part in parts for s, y in zip(part.smiles.tolist(), part.y.tolist(), strict=True)}


def described(folder: Path, table: str | pd.DataFrame, name: str = "mine", **fields: Any) -> str:
    """Write a table and its TOML with these fields, and return the path of the latter.

    Unless the fields say otherwise, the table has the columns ``smiles`` and ``y``, which is 0 or 1.
    """
    from benchmark.data.downloads import verified
    from benchmark.data.rows import load_rows

    content = (table if isinstance(table, str) else table.to_csv(index=False)).encode()
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.csv").write_bytes(content)
    about = {"title": "Mine", "task": "classification", "group": "extra", "source": f"file:{name}.csv"}
    about |= {"sha256": hashlib.sha256(content).hexdigest(), "target": "y", "split": "random:0.8"}
    toml = about | {"smiles": "smiles", "features": ["morgan:64:2"]} | fields
    (folder / f"{name}.toml").write_text(tomli_w.dumps(toml), encoding="utf-8")
    load_rows.cache_clear()
    verified.cache_clear()
    return str(folder / f"{name}.toml")
