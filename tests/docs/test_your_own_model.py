"""The guide to one's own model runs as it stands, on a user's table."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.data.problem import load_problem
from benchmark.files import CHECKOUT

GUIDE = CHECKOUT / "docs" / "your_own_model.py"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(CHECKOUT)}


def guide(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    words = (sys.executable, "-W", "error", str(GUIDE), *words)
    return subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False, env=ENVIRONMENT)


@pytest.mark.slow
def test_a_table_gives_churn_a_flip_list_and_a_decision(tmp_path):
    train = load_problem("b3db_measured").train
    words = np.where(train.y == 1, "enters", "stays out")
    table = pd.DataFrame({"name": train.ids, "structure": train.smiles, "class": words}).head(120)
    table.loc[120] = ["broken", "C1CC", "enters"]
    table.to_csv(tmp_path / "assay.csv", index=False)
    done = guide(tmp_path, "assay.csv", "structure", "class", "3")
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("assay.csv structure", "error: expected TABLE.csv SMILES_COLUMN TARGET_COLUMN [RETRAININGS], found 2 words"),
        ("nowhere.csv structure class", "error: [Errno 2] No such file or directory: 'nowhere.csv'"),
        ("assay.csv structure clas", "unknown column of assay.csv 'clas': did you mean 'class'?"),
        ("assay.csv structure class ten", "error: retrainings 'ten': expected a number of at least 2"),
        ("assay.csv structure word", "classes of at least 10 rows each, found 20 different values, of which "),
        ("assay.csv number class", "error: assay.csv: no row has both a SMILES that RDKit can parse in 'number' and"),
    ],
)
def test_bad_input_gets_one_message_and_no_demonstration(tmp_path, monkeypatch, capsys, words, said):
    rows = [f"{'C' * (i + 1)},{'ab'[i % 2]},{i / 7},text {i}" for i in range(20)]
    (tmp_path / "assay.csv").write_text("\n".join(["structure,class,number,word", *rows]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(GUIDE), *words.split()])
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(GUIDE))
    printed = capsys.readouterr()
    assert stop.value.code == 2
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert said in printed.err
    assert [file.name for file in tmp_path.iterdir()] == ["assay.csv"]
