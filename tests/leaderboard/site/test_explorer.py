"""The flip explorer's data: strips and rates of the predictions, and what the search knows."""

import base64
import gzip
import json
from itertools import combinations

import numpy as np
import pytest

from benchmark.store.cell import Cell
from leaderboard.read.results import collect
from leaderboard.site import explorer


def packed(*cells: Cell) -> dict:
    script = dict(explorer.files(collect(cells).datasets[0], {}, {}))["99-id.js"]
    return json.loads(gzip.decompress(base64.b64decode(script.split('"')[-2])))


def test_of_two_classes_five_retrainings_are_a_digit(make_cell) -> None:
    erm, calm = make_cell("d", "erm", 0.3), make_cell("d", "calm", 0.1, seeds=(1, 2, 3, 4, 5, 6, 7))
    data = packed(erm, calm)
    assert [m["title"] for m in data["methods"]] == ["ERM", "CALM"]
    for i, text in enumerate(data["strips"]):
        bits = [format(int(digit, 32), "05b") for digit in text]
        of_erm, of_calm = (cell.predictions["id"].values[:, i].argmax(-1).tolist() for cell in (erm, calm))
        assert bits[0] == "".join(map(str, of_erm))
        assert bits[1] + bits[2] == "".join(map(str, of_calm)) + "000"


def test_strips_and_rates_of_three_classes_are_those_of_the_predictions(make_cell) -> None:
    values = np.random.default_rng(0).dirichlet([1, 1, 1], size=(5, 20))
    data = packed(make_cell("d", "erm", values=values, y=np.zeros(20, dtype=np.int64)))
    assert data["strips"][0] == ["".join(map(str, of)) for of in values.argmax(-1).T]
    flips = [a != b for a, b in combinations(values.argmax(-1), 2)]
    assert data["rates"][0] == pytest.approx(100 * np.mean(flips, axis=0), abs=0.01)


def test_a_regression_shows_its_values(make_cell) -> None:
    values = np.random.default_rng(0).normal(size=(5, 20, 1))
    values[0, 7] = 1e6  # an extrapolation, which leaves the others as they are
    data = packed(make_cell("r", "erm", values=values, y=np.zeros(20, dtype=np.float32)))
    for i, (low, step, strip) in enumerate(zip(data["low"], data["steps"], data["strips"], strict=True)):
        assert [low + (ord(c) - ord("(")) * step for c in strip] == pytest.approx(values[:, i, 0], abs=0.51 * step)
    ranges = np.ptp(values[..., 0], axis=0)
    assert data["steps"] == pytest.approx(np.maximum(ranges, np.median(ranges)) / 80)
    differences = [abs(a - b) for a, b in combinations(values[..., 0], 2)]
    assert data["rates"][0] == pytest.approx(np.mean(differences, axis=0), rel=1e-2)


def test_the_search_knows_each_test_example_of_the_first_split_once(make_cell) -> None:
    results = collect([make_cell("d", m, split=split, n=4) for m in ("erm", "calm") for split in (99, 7)])
    about = explorer.index(results, {"d": {"m0": "CCO"}})
    assert about == {"datasets": [["d", "D"]], "rows": [[0, "m0", "CCO"], *([0, f"m{i}", None] for i in (1, 2, 3))]}
