"""The end of an update: the molecules whose prediction it changed, as files, and a summary for a pull request."""

import numpy as np
import pandas as pd
import pytest

from benchmark.data.spec import load_spec
from leaderboard import updated
from leaderboard.read.stored import read
from leaderboard.tables.studies import reader
from tests.conftest import call


@pytest.mark.slow
def test_three_seeds_say_which_molecules_the_last_update_changed(small_table, own_store, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CHURN_HOME", str(tmp_path))
    words = ("--method", "random_forest:trees=3", "--cuts", "2", "--seeds", "3", "--jobs", "1")
    assert call("update", "--dataset", f"{small_table}@epochs=1", *words) == 0
    printed = capsys.readouterr().out
    summary = tmp_path / "reports" / "small-epochs-1-update.md"
    assert f"This summary: {summary}" in printed
    text = summary.read_text()
    assert "| Method" in text
    forest = "Random forest, trees=3"
    cells = {c.key.dataset: c.predictions["id"] for c in reader(read()[0]).known if c.title == forest}
    old, new = (cells[f"small@epochs=1@train={n}"] for n in (34, 45))
    flips = old.values.argmax(-1)[[1, 2, 0]] != new.values.argmax(-1)
    listed = pd.read_csv(tmp_path / "reports" / "small-epochs-1-random-forest-trees-3-update-changed.csv")
    assert {"smiles", "old", "new", "y_true", "by_chance", "bad"} <= set(listed.columns)
    assert set(listed["example_id"]) == set(new.ids[flips.any(axis=0)])
    by_id = dict(zip(new.ids.tolist(), flips.mean(axis=0), strict=True))
    np.testing.assert_allclose(listed["flips"], [by_id[i] for i in listed["example_id"]], atol=1e-3)
    assert f"{forest}: {len(listed)} of 45 molecules change" in text


def test_a_name_that_a_spreadsheet_would_read_as_a_formula_is_quoted_in_the_list(make_cell, tmp_path, monkeypatch):
    monkeypatch.setenv("CHURN_HOME", str(tmp_path))
    old, new = (make_cell("erm", np.tile(row, (3, 8, 1)), ids="=1+{}") for row in ([0.9, 0.1], [0.1, 0.9]))
    updated._changed(load_spec("bace"), "ERM", old, new, {}, 0.0)
    listed = pd.read_csv(tmp_path / "reports" / "bace-erm-update-changed.csv")
    assert set(listed["example_id"]) == {f"'=1+{i}" for i in range(8)}
