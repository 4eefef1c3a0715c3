"""A context whose cells say what they are told to: accuracy and churn of each are known by construction."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmark.data.spec import load_spec
from benchmark.registry import make_method, title
from benchmark.store.cell import Cell, CellKey, Facts
from benchmark.types import PAPER, Predictions, Sampling, Task

EXAMPLES = 100


def retrained(
    values: np.ndarray, text: str = "erm", dataset: str = "bace", split: int = 99, sampling: Sampling = PAPER
) -> Cell:
    """The cell of a method from its predicted values (R, T, C) on examples of class 0, or of the value 0."""
    task: Task = "classification" if values.shape[2] > 1 else "regression"
    method = make_method(text, task)
    seeds, n = tuple(range(1, len(values) + 1)), values.shape[1]
    y = np.zeros(n, dtype=int if task == "classification" else float)
    p = Predictions(seeds, np.array([f"m{i}" for i in range(n)]), y, values, task, sampling=sampling)
    key = CellKey(dataset, method.name, method.head.params, split, seeds, "p", "c", sampling=sampling)
    return Cell(key, title(method, task), {"id": p, "ood": p}, 1.0, Facts(command="", class_rows=(90, 10)))


def cell(text: str, dataset: str, split: int, wrong: int, moved: int) -> Cell:
    """Two retrainings on 100 examples of class 0, or of the value 0, each wrong by one on ``wrong`` of them, of which
    the second has ``moved`` elsewhere: the accuracy is 100 − wrong %, the MAE wrong %, the churn 2 · moved %.
    """
    said = np.zeros((2, EXAMPLES, 1))
    said[0, :wrong] = said[1, moved : moved + wrong] = 1
    regression = load_spec(dataset).task == "regression"
    return retrained(said if regression else np.dstack([1 - said, said]), text, dataset, split)


class Told:
    """``said`` gives, by dataset and method, how many are wrong and how many of these moved, or a cell itself; the
    methods of the cells that were asked for are ``asked``."""

    def __init__(self, said: Callable[[str, str], Any], records: Mapping[str, Mapping[str, object]] = {}):
        self.said, self.records = said, records
        self.asked: list[str] = []

    def cells(self, methods: Sequence[str], datasets: Sequence[str], splits: Sequence[int], *_: object):
        self.asked += methods
        said = {(d, m): self.said(d, m) for d in datasets for m in methods}
        return {
            (d, m): [one if isinstance(one, Cell) else cell(m, d, split, *one) for split in splits]
            for (d, m), one in said.items()
        }

    def record(self, key: str, dataset: str, canonical_seed: int, make: object, *given) -> Mapping[str, object]:
        return self.records[key]


@pytest.fixture
def told() -> type[Told]:
    return Told


@pytest.fixture
def here() -> SimpleNamespace:
    """A trainer in this process."""
    return SimpleNamespace(code="0123", map=lambda function, items: [function(*item) for item in items])
