"""Where churn comes from: what is trained, and which cells end in which row."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.measure.catalogue import CHURN
from benchmark.registry import make_method
from benchmark.store.cell import Cell, CellKey, Grid
from benchmark.studies.decomposition import Decomposition, fixed
from benchmark.study.context import arrange
from benchmark.study.report import Sampled
from benchmark.types import Predictions

FLIPS = {
    ("initialisation", "batches"): 8,
    ("data", "batches"): 4,
    ("data", "initialisation"): 2,
    ("data",): 5,
    ("initialisation",): 9,
    ("batches",): 9,
}
"""Of 100 examples, those that two retrainings differ on, by what is held fixed."""


def cell(text: str, flips: int) -> Cell:
    method = make_method(text, "classification")
    one = np.zeros((2, 100))
    one[1, :flips] = 1
    p = Predictions((1, 2), np.arange(100).astype(str), np.zeros(100), np.stack([1 - one, one], -1), "classification")
    params = (
        {} if text == "erm" else {name: getattr(method.remedy, name) for name in ("data", "initialisation", "batches")}
    )
    return Cell(CellKey("bace", method.name, params, 99, (1, 2), "p", "c"), text, {"id": p}, 1.0, {})


class Made:
    """A context of cells with known churn; at level 1002 there is one flip more than at 1001."""

    def __init__(self, erm: int, flips: dict[tuple[str, ...], int]):
        self.known = [cell("erm", erm)]
        self.known += [cell(fixed(kind, 1001 + i), n + i) for kind, n in flips.items() for i in (0, 1)]

    def cells(self, *grid):
        return arrange(self.known, Grid(*grid))

    def record(self, key, dataset, canonical_seed, make):
        raise AssertionError("nothing but cells is kept")


def test_each_source_is_shown_alone_and_left_out_as_shares_of_all_three() -> None:
    report = Decomposition(seeds="2", levels=2).report(Made(10, FLIPS))
    rows = [[x.values.tolist() if isinstance(x, Sampled) else x for x in row] for row in report.sheets[0].rows]
    assert [row[1] for row in rows] == ["data", "initialisation", "batch order", "all three"]
    assert rows[0][2:] == [[0.08, 0.09], pytest.approx([0.8, 0.9]), [0.05, 0.06], pytest.approx([0.5, 0.6])]
    assert rows[1][2:] == [[0.04, 0.05], pytest.approx([0.4, 0.5]), [0.09, 0.10], pytest.approx([0.9, 1.0])]
    assert rows[2][2:] == [[0.02, 0.03], pytest.approx([0.2, 0.3]), [0.09, 0.10], pytest.approx([0.9, 1.0])]
    assert rows[3][2:] == [[0.1], "–", "–", "–"]
    assert report.answer == [
        "BACE: retrainings that differ in data alone flip 8.5 % of the predictions; retrainings on the same data, "
        "which differ in initialisation and batch order, flip 5.5 %; retrainings that differ in all three flip 10.0 %."
    ]


def test_no_flips_at_all_have_no_shares() -> None:
    report = Decomposition(seeds="2", levels=2).report(Made(0, dict.fromkeys(FLIPS, 0)))
    shares = report.sheets[0].rows[0][3]
    assert isinstance(shares, Sampled)
    assert np.isnan(shares.values).all()


def test_what_is_held_fixed_is_drawn_by_no_train_seed() -> None:
    asked = []

    class Asked(Made):
        def cells(self, methods, *rest):
            asked.extend(methods)
            return super().cells(methods, *rest)

    Decomposition(seeds="2", levels=2).report(Asked(10, FLIPS))
    assert len(asked) == len(set(asked)) == 1 + 6 * 2
    assert {word.partition("=")[2] for text in asked for word in text.split(":")[1:]} == {"1001", "1002"}
    assert CHURN.mean(cell("erm", 7).predictions["id"]) == pytest.approx(0.07)
