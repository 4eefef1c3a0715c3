"""A context whose cells say what they are told to: accuracy and churn of each are known by construction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from benchmark.data.spec import load_spec
from benchmark.registry import make_method, title
from benchmark.store.cell import Cell, CellKey, Facts
from benchmark.types import Predictions

EXAMPLES = 100


def cell(text: str, dataset: str, split: int, wrong: int, moved: int) -> Cell:
    """Two retrainings on 100 examples of class 0, each wrong on ``wrong`` of them, of which the second has ``moved``
    elsewhere: the accuracy is 100 − wrong %, the churn 2 · moved %.
    """
    method = make_method(text, load_spec(dataset).task)
    said = np.zeros((2, EXAMPLES))
    said[0, :wrong] = said[1, moved : moved + wrong] = 1
    ids = np.array([f"m{i:02d}" for i in range(EXAMPLES)])
    values = np.stack([1 - said, said], axis=-1)
    p = Predictions((1, 2), ids, np.zeros(EXAMPLES, dtype=int), values, "classification")
    key = CellKey(dataset, method.name, method.head.params, split, (1, 2), "p", "c")
    return Cell(key, title(method, "classification"), {"id": p, "ood": p}, 1.0, Facts(command="", class_rows=(90, 10)))


class Told:
    """``said`` gives, by dataset and method, how many are wrong and how many of these moved."""

    def __init__(self, said: Callable[[str, str], tuple[int, int]], records: Mapping[str, Mapping[str, object]] = {}):
        self.said, self.records = said, records

    def cells(self, methods: Sequence[str], datasets: Sequence[str], splits: Sequence[int], *_: object):
        return {(d, m): [cell(m, d, split, *self.said(d, m)) for split in splits] for d in datasets for m in methods}

    def record(self, key: str, dataset: str, canonical_seed: int, make: object, *given) -> Mapping[str, object]:
        return self.records[key]


@pytest.fixture
def told() -> type[Told]:
    return Told
