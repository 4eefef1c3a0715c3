"""Predictions as tables: one row per retraining and example, one column per output."""

import numpy as np
import pandas as pd

from benchmark.types import Predictions, Task


def to_table(predictions: Predictions) -> pd.DataFrame:
    """Return columns ``train_seed, example_id, y_true`` and probabilities ``p0, p1, …`` or values ``y_pred``."""
    n_seeds, n_examples, n_outputs = predictions.values.shape
    names = ["y_pred"] if predictions.task == "regression" else [f"p{c}" for c in range(n_outputs)]
    table = pd.DataFrame(predictions.values.reshape(-1, n_outputs).astype(np.float32), columns=names)
    table.insert(0, "train_seed", np.repeat(np.array(predictions.seeds, dtype=np.int64), n_examples))
    table.insert(1, "example_id", np.tile(predictions.ids.astype(object), n_seeds))
    table.insert(2, "y_true", np.tile(predictions.y, n_seeds))
    return table


def from_table(table: pd.DataFrame) -> Predictions:
    """Return the predictions of a table written by ``to_table``, in its order of seeds and examples.

    Raises ValueError if a retraining lacks examples, has them in another order, or has other labels.
    """
    task: Task = "regression" if "y_pred" in table.columns else "classification"
    names = [name for name in table.columns if name not in ("train_seed", "example_id", "y_true")]
    seeds = tuple(int(seed) for seed in table["train_seed"].unique())
    shape = (len(seeds), len(table) // len(seeds))
    if shape[0] * shape[1] != len(table):
        raise ValueError(f"{len(table)} rows are not the same number of examples for each of {len(seeds)} seeds")
    ids = table["example_id"].to_numpy(dtype=str).reshape(shape)
    y = table["y_true"].to_numpy().reshape(shape)
    if not ((ids == ids[0]).all() and (y == y[0]).all()):
        raise ValueError("the examples or labels differ between the retrainings")
    values = table[names].to_numpy(dtype=np.float32).reshape(*shape, len(names))
    return Predictions(seeds, ids[0], y[0], values, task)
