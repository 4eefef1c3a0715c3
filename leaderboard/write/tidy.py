"""Predictions as tidy tables, one row per method, retraining and example, and everything in one archive.

``tidy/SAMPLING/DATASET-SPLIT.csv.gz`` has the columns ``method, train_seed, test, example, y, p``; ``p`` is the
probability of class 1, or the prediction of a regression. Of more than two classes, each has a row, with its number in
``class``. Numbers are rounded to six decimals; the Parquet files have all digits.
"""

import gzip
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from benchmark.files import named, program
from benchmark.store.cell import Cell
from leaderboard.read.jobs import Job, digest, made
from leaderboard.read.results import Dataset, Results

ARCHIVE = "results.zip"
README = """Results of the prediction-churn benchmark.

tidy/SAMPLING/DATASET-SPLIT.csv.gz  method, train_seed, test, example, y, p (probability of class 1, or the prediction)
tables/SAMPLING/                    the tables of the pages, as CSV with all digits
citation.bib                        what to cite

In Python: pandas.read_csv("tidy/paper/bace-99.csv.gz"); in R: read.csv("tidy/paper/bace-99.csv.gz").
"""


def path_of(dataset: Dataset, split: int) -> str:
    """Return the path of the tidy table of a dataset's split below the site's folder."""
    return f"tidy/{dataset.sampling}/{dataset.name}-{split}.csv.gz"


def files(results: Results) -> Iterator[tuple[str, bytes]]:
    """Yield the tidy tables of all samplings with their paths, from the cache or made by other processes."""
    of_files: dict[str, list[tuple[str, Cell]]] = {}
    for dataset in (dataset for part in results.by_sampling for dataset in part.datasets):
        for entry in dataset.entries:
            for split, cell in entry.cells.items():
                of_files.setdefault(path_of(dataset, split), []).append((entry.title, replace(cell, reports={})))
    contents = made(Job(_name(cells), _table, (cells,)) for cells in of_files.values())
    yield from zip(of_files, contents, strict=True)


def archive(contents: Mapping[str, bytes]) -> bytes:
    """Return a zip of files by path; the same files give the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zipped:
        for path, content in {"README.txt": README.encode(), **contents}.items():
            kind = zipfile.ZIP_STORED if path.endswith(".gz") else zipfile.ZIP_DEFLATED
            zipped.writestr(zipfile.ZipInfo(path), content, kind)
    return out.getvalue()


def _name(cells: Sequence[tuple[str, Cell]]) -> str:
    made_of = [version("pyarrow"), program("leaderboard.write"), [[title, digest(cell)] for title, cell in cells]]
    return named("tidy", made_of, ".csv.gz")


def _table(cells: Sequence[tuple[str, Cell]]) -> bytes:
    parts = []
    for title, cell in cells:
        for test, p in cell.predictions.items():
            runs, examples, outputs = p.values.shape
            shown = [1] if outputs == 2 else list(range(outputs))
            n = runs * examples * len(shown)
            columns: dict[str, pa.Array] = {
                "method": _constant(title, n),
                "train_seed": pa.array(np.repeat(p.seeds, examples * len(shown))),
                "test": _constant(test, n),
                "example": pa.array(np.tile(np.repeat(p.ids.astype(object), len(shown)), runs)),
                "y": pa.array(np.tile(np.repeat(p.y, len(shown)), runs)),
            }
            if len(shown) > 1:
                columns["class"] = pa.array(np.tile(shown, runs * examples))
            columns["p"] = pa.array(np.round(p.values[..., shown].astype(np.float64), 6).ravel())
            parts.append(pa.table(columns))
    text = io.BytesIO()
    pc.write_csv(pa.concat_tables(parts), text, pc.WriteOptions(quoting_style="needed"))
    return gzip.compress(text.getvalue(), 6, mtime=0)


def _constant(text: str, n: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(n, dtype=np.int32), [text]).cast(pa.string())
