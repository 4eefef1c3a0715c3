"""Predictions as tidy tables, ``SAMPLING/DATASET-SPLIT.csv.gz``: one row per method, retraining and example.

The columns are ``method, train_seed, test, example, y, p``; ``p`` is the probability of class 1, or the prediction of a
regression. Of more than two classes, each has a row, with its number in ``class``. Numbers are rounded to six decimals.
"""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd

from benchmark.files import inside, save
from benchmark.types import Predictions
from leaderboard.read.results import Results


def write(results: Results, folder: Path) -> None:
    """Write the predictions on each split of each dataset, under all samplings, to a file below ``folder``."""
    for dataset in (dataset for part in results.by_sampling for dataset in part.datasets):
        for split in dataset.splits:
            path = inside(folder, f"{dataset.sampling}/{dataset.name}-{split}.csv.gz")
            path.parent.mkdir(parents=True, exist_ok=True)
            cells = [(entry.title, entry.cells[split]) for entry in dataset.entries if split in entry.cells]
            rows = [_rows(title, test, p) for title, cell in cells for test, p in cell.predictions.items()]
            save(path, gzip.compress(pd.concat(rows).to_csv(index=False).encode(), mtime=0))


def _rows(title: str, test: str, p: Predictions) -> pd.DataFrame:
    shown = np.arange(p.values.shape[2]) if p.values.shape[2] != 2 else np.array([1])
    seed, example, output = (at.ravel() for at in np.indices((len(p.seeds), len(p.ids), len(shown))))
    about = {"method": title, "train_seed": np.array(p.seeds)[seed], "test": test, "example": p.ids[example]}
    classes = {"class": shown[output]} if len(shown) > 1 else {}
    y, values = p.y[example].astype(float).round(6), p.values[..., shown].astype(float).round(6).ravel()
    return pd.DataFrame({**about, "y": p.y[example] if p.task == "classification" else y, **classes, "p": values})
