"""Runs that version 0.1.0 recorded: fields in tags, reports on the data as files, and predictions in nested runs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from mlflow.entities import Run
from pydantic_core import from_json

from benchmark.store.artifacts import local_folder, verify
from benchmark.store.cell import Cell, decode, decode_key
from benchmark.store.tables import from_table, read_table

KEY = "churn.key"
"""Tag with the key of a cell, which newer runs lack."""
REPORTS = ("health.json", "health.txt", "groups.csv")


def read(run: Run, nested: Sequence[Run]) -> Cell:
    """Return the cell of a run of version 0.1.0 and its nested ones.

    Raises KeyError for a missing tag or nested run, OSError or MlflowException for missing files, and ValueError.
    """
    tags = run.data.tags
    head = {"title": tags["churn.title"], "fit_seconds": run.data.metrics["fit_seconds"]}
    head |= {name: from_json(tags[f"churn.{name}"]) for name in ("key", "facts")}
    of_seeds = {child.data.tags.get("churn.train_seed"): child for child in nested}
    tables: dict[str, list[pa.Table]] = {}
    for seed in decode_key(head["key"], tags["churn.cell"]).seeds:
        child = of_seeds[str(seed)]
        with local_folder(f"{child.info.artifact_uri}/predictions") as folder:
            files = {f"predictions/{file.name}": file.read_bytes() for file in sorted(folder.glob("*.parquet"))}
        verify(child, files)
        for name, content in files.items():
            table = read_table(content)
            seeds = [np.full(len(table), seed)]
            tables.setdefault(Path(name).stem, []).append(table.add_column(0, "train_seed", seeds))
    predictions = {name: from_table(pa.concat_tables(parts)) for name, parts in tables.items()}
    with local_folder(run.info.artifact_uri) as folder:
        reports = {name: (folder / name).read_bytes() for name in REPORTS if (folder / name).is_file()}
    verify(run, reports)
    return decode(head, predictions, run.info.run_id, {name: text.decode() for name, text in reports.items()})
