"""The flip explorer's data: strips and rates against plain loops, and drawings in few files per page."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from leaderboard.figures import molecules
from leaderboard.read.results import collect
from leaderboard.site import explorer, pages


def content(script: str) -> dict:
    return json.loads(gzip.decompress(base64.b64decode(script.split('"')[-2])))


def test_strips_and_rates_are_those_of_the_predictions(make_cell) -> None:
    erm, calm = make_cell("d", "erm", 0.3), make_cell("d", "calm", 0.1)
    dataset = collect([erm, calm]).datasets[0]
    data = content(dict(explorer.files(dataset, {}, {}))["99-id.js"])
    assert [m["title"] for m in data["methods"]] == ["ERM", "CALM"]
    for k, cell in enumerate((erm, calm)):
        labels = cell.predictions["id"].values.argmax(-1)
        for i in range(labels.shape[1]):
            assert data["strips"][k][i] == "".join(str(c) for c in labels[:, i])
            rate = np.mean([labels[a, i] != labels[b, i] for a in range(5) for b in range(a)])
            assert data["rates"][k][i] == pytest.approx(100 * rate, abs=0.01)
    assert set(data["smiles"]) == set(data["drawings"]) == {None}


def test_a_regression_shows_its_values(make_cell) -> None:
    values = np.random.default_rng(0).normal(size=(5, 20, 1))
    dataset = collect([make_cell("r", "erm", values=values, y=np.zeros(20, dtype=np.float32))]).datasets[0]
    data = content(dict(explorer.files(dataset, {}, {}))["99-id.js"])
    assert data["strips"][0][3] == pytest.approx(values[:, 3, 0], rel=1e-3)
    pairs = [abs(values[a, 3, 0] - values[b, 3, 0]) for a in range(5) for b in range(a)]
    assert data["rates"][0][3] == pytest.approx(np.mean(pairs), rel=1e-3)


def test_the_first_page_needs_one_file_of_drawings_which_all_samplings_share(make_cell, monkeypatch) -> None:
    n = 3 * explorer.SHARD
    erm = make_cell("d", "erm", 0.3, n=n)
    halves = replace(make_cell("d", "erm", 0.1, n=n), key=replace(erm.key, sampling="halves"))
    whole = collect([erm, halves])
    smiles = {f"m{i}": "C" * (1 + i % 5) for i in range(n - 1)} | {f"m{n - 1}": "no molecule"}
    monkeypatch.setattr(molecules, "structures", lambda results: {"d": smiles})
    drawn = {path: content(script) for path, script in pages.structures(whole)}
    assert list(drawn) == [f"structures/d-{k}.js" for k in range(3)]
    assert sum(map(len, drawn.values())) == n - 1
    assert all(svg.startswith("<svg") for shard in drawn.values() for svg in shard.values())
    files = dict(pages.Site(whole.front, whole, "runs", {}).explorer(whole.front.datasets[0], smiles))
    data = content(str(files["flips/d/99-id.js"]))
    order = np.argsort(-np.array(data["rates"][0]), kind="stable")
    assert {data["drawings"][i] for i in order[:25]} == {0}
