"""The exported protocol holds the harness's bootstraps and no test labels."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.run.protocol import export
from benchmark.train import bootstrap, draw
from benchmark.types import PAPER


def test_the_files_hold_the_bootstraps_of_the_harness_and_no_test_labels(tmp_path):
    about = json.loads(export("b3db_measured", tmp_path, seeds=(2, 1), members=2).read_text())
    problem = load_problem("b3db_measured")
    names = ("train", "test", "bootstraps", "features")
    train, test, boots, features = (pd.read_parquet(tmp_path / "split-99" / f"{name}.parquet") for name in names)
    rows = np.stack([bootstrap(draw(problem, PAPER, seed)[0], members=2) for seed in (1, 2)])
    for s, k in np.ndindex(2, 2):
        bootstrapped = boots[(boots["train_seed"] == s + 1) & (boots["member"] == k)]
        assert bootstrapped["example_id"].tolist() == problem.train.ids[rows[s, k]].tolist()
    assert train["y"].tolist() == problem.train.y.tolist()
    assert list(test.columns) == ["evalset", "example_id", "smiles"]
    assert not set(test["example_id"]) & set(train["example_id"])
    x = np.stack(features.set_index("example_id")["x"][problem.evals["ood"].ids])
    np.testing.assert_array_equal(x, problem.evals["ood"].x)
    assert about["splits"]["99"]["problem"] == problem.fingerprint
    assert about["train_seeds"] == [1, 2]


def test_a_folder_with_other_contents_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(UserError, match="does not contain a protocol"):
        export("b3db_measured", tmp_path)
