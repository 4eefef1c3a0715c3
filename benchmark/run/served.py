"""A deployed model: what MLflow loads as a ``pyfunc`` model and serves.

Loading it needs the files of its folder, its pip requirements and MLflow, and neither a dataset nor a store.
"""

import pickle
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmark.data.inputs import Featuriser
from benchmark.measure.basics import predicted_class
from benchmark.types import Inputs, Model, Task

OUTPUTS: dict[Task, dict[str, str]] = {
    "classification": {"prediction": "long", "probability": "double", "stability": "double"},
    "regression": {"prediction": "double", "spread": "double"},
}
"""Columns of the answer and their types in MLflow, before the column ``REASON``."""
REASON = "reason"


@dataclass(frozen=True)
class Served:
    """The retrainings of a cell behind the featuriser of its dataset. The first retraining answers."""

    task: Task
    featuriser: Featuriser
    retrainings: Sequence[Model]

    def predict(self, model_input: pd.DataFrame, params: Any = None) -> pd.DataFrame:
        """Return one row for each row of ``model_input``, which has ``smiles``, the columns of numbers, or both.

        ``prediction`` is the number of the class, or the target of a regression (its decimal logarithm if the dataset
        has ``log10``), of the first retraining; ``probability`` is that of class 1, or of the predicted class if there
        are more than two. The other retrainings are not averaged in. They tell how far the answer depends on the
        training sample: ``stability`` is the share of them that return the same class, ``spread`` the standard
        deviation (n − 1) of the targets of all retrainings, in the unit of the target. Both are missing with a single
        retraining.

        A row that cannot be read has missing values and a ``reason``, and does not affect the others. Raises UserError
        for a missing column.
        """
        inputs, reasons = self.featuriser(model_input)
        good = reasons == ""
        answers = self._answers(inputs)
        if good.all():
            columns = answers
        else:  # objects, as JSON has null but no NaN
            columns = {name: np.full(len(good), None, dtype=object) for name in OUTPUTS[self.task]}
            for name, values in answers.items():
                columns[name][good] = values.tolist()
        answer = pd.DataFrame(columns, index=model_input.index)
        answer[REASON] = pd.Series([text or None for text in reasons], index=answer.index, dtype=object)
        return answer

    def _answers(self, inputs: Inputs) -> dict[str, np.ndarray]:
        if len(inputs) == 0:
            return {name: np.array([], dtype=float) for name in OUTPUTS[self.task]}
        retrained = [model.predict(inputs.copy()) for model in self.retrainings]
        values = np.stack(retrained).astype(np.float32)  # as recorded
        alone = np.full(len(inputs), None, dtype=object) if len(values) == 1 else None
        if self.task == "regression":
            targets = values[:, :, 0].astype(np.float64)
            return {"prediction": targets[0], "spread": targets.std(axis=0, ddof=1) if alone is None else alone}
        classes = predicted_class(values)
        stability = (classes[1:] == classes[0]).mean(axis=0) if alone is None else alone
        return {"prediction": classes[0], "probability": probability(values[0]), "stability": stability}


def probability(values: np.ndarray) -> np.ndarray:
    """Return the probability (T,) of class 1, or of more than two classes that of the predicted one."""
    return np.asarray(values[:, 1] if values.shape[1] == 2 else values.max(axis=1), dtype=np.float64)


def write(path: Path, task: Task, featuriser: Featuriser, retrainings: Iterable[bytes]) -> None:
    """Write a model to the file ``path``; ``retrainings`` are pickled predictors, the one that answers first."""
    packed = [zlib.compress(content, level=1) for content in retrainings]  # a fifth of a random forest
    path.write_bytes(pickle.dumps((task, featuriser, packed)))


def _load_pyfunc(path: str) -> Served:
    """Return the model in the file ``path``: MLflow calls this function. Unpickling runs code: trust the file."""
    task, featuriser, packed = pickle.loads(Path(path).read_bytes())
    return Served(task, featuriser, [pickle.loads(zlib.decompress(content)) for content in packed])
