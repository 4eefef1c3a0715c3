"""The guide to one's own model runs as it stands, on a user's table."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from benchmark.data.problem import load_problem
from benchmark.data.spec import ROOT


@pytest.mark.slow
def test_a_table_gives_churn_a_flip_list_and_a_decision(tmp_path):
    train = load_problem("b3db_measured").train
    words = np.where(train.y == 1, "enters", "stays out")
    table = pd.DataFrame({"name": train.ids, "structure": train.smiles, "class": words}).head(120)
    table.loc[120] = ["broken", "C1CC", "enters"]
    table.to_csv(tmp_path / "assay.csv", index=False)
    words = [sys.executable, "-W", "error", ROOT / "docs" / "your_own_model.py", tmp_path / "assay.csv"]
    done = subprocess.run([*words, "structure", "class", "3"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert "120 molecules of 121" in done.stdout
    assert "classes: enters, stays out" in done.stdout
    assert "Decision: " in done.stdout

    flips = pd.read_csv(tmp_path / "assay-flips.csv")
    assert set(flips["structure"]) < set(table["structure"])
    assert set(flips["predicted"]) <= {"enters", "stays out"}
    assert len(flips) == 24
    assert flips["flips"].is_monotonic_decreasing
    assert set(flips["flips"]) <= {0.0, 0.667}  # of three retrainings two pairs differ, or none
    (churn,) = [line for line in done.stdout.splitlines() if "random forest: accuracy" in line]
    assert float(churn.split("churn")[1].split("%")[0]) == pytest.approx(100 * flips["flips"].mean(), abs=0.06)
