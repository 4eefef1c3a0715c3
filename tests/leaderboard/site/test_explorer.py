"""The flip explorer's data: strips and rates against plain loops, and what the search knows."""

import base64
import gzip
import json

import numpy as np
import pytest

from leaderboard.read.results import collect
from leaderboard.site import explorer


def content(script: str) -> dict:
    return json.loads(gzip.decompress(base64.b64decode(script.split('"')[-2])))


def test_strips_and_rates_are_those_of_the_predictions(make_cell) -> None:
    erm, calm = make_cell("d", "erm", 0.3), make_cell("d", "calm", 0.1)
    dataset = collect([erm, calm]).datasets[0]
    data = content(dict(explorer.files(dataset, {}))["99-id.js"])
    assert [m["title"] for m in data["methods"]] == ["ERM", "CALM"]
    for k, cell in enumerate((erm, calm)):
        labels = cell.predictions["id"].values.argmax(-1)
        for i in range(labels.shape[1]):
            assert data["strips"][k][i] == "".join(str(c) for c in labels[:, i])
            rate = np.mean([labels[a, i] != labels[b, i] for a in range(5) for b in range(a)])
            assert data["rates"][k][i] == pytest.approx(100 * rate, abs=0.01)
    assert set(data["smiles"]) == {None}


def test_a_regression_shows_its_values(make_cell) -> None:
    values = np.random.default_rng(0).normal(size=(5, 20, 1))
    dataset = collect([make_cell("r", "erm", values=values, y=np.zeros(20, dtype=np.float32))]).datasets[0]
    data = content(dict(explorer.files(dataset, {}))["99-id.js"])
    scale, low = data["scale"]
    shown = [(ord(c) - ord("(") + low) / scale for c in data["strips"][0][3]]
    widest = np.ptp(values[..., 0], axis=0).max()
    assert shown == pytest.approx(values[:, 3, 0], abs=widest / 200)
    pairs = [abs(values[a, 3, 0] - values[b, 3, 0]) for a in range(5) for b in range(a)]
    assert data["rates"][0][3] == pytest.approx(np.mean(pairs), rel=1e-3)


def test_the_search_knows_each_test_example_of_the_first_split_once(make_cell) -> None:
    results = collect([make_cell("d", m, split=split, n=4) for m in ("erm", "calm") for split in (99, 7)])
    about = explorer.index(results, {"d": {"m0": "CCO"}})
    assert about == {"datasets": [["d", "D"]], "rows": [[0, "m0", "CCO"], *([0, f"m{i}", None] for i in (1, 2, 3))]}
