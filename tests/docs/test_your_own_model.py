"""The guide to one's own model runs as it stands, on a user's table."""

import runpy
import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from benchmark.data.problem import load_problem
from benchmark.files import CHECKOUT

GUIDE = CHECKOUT / "docs" / "your_own_model.py"


@pytest.fixture
def guide(tmp_path, monkeypatch) -> Callable[[str], object]:
    """A function that runs the guide with the given words in the temporary folder."""
    monkeypatch.chdir(tmp_path)

    def run(words: str) -> object:
        monkeypatch.setattr(sys, "argv", [str(GUIDE), *words.split()])
        return runpy.run_path(str(GUIDE))

    return run


@pytest.mark.slow
def test_a_table_gives_churn_a_flip_list_and_a_decision(tmp_path, guide, capsys):
    train = load_problem("b3db_measured").train
    words = np.where(train.y == 1, "enters", "stays out")
    table = pd.DataFrame({"name": train.ids, "structure": train.smiles, "class": words}).head(120)
    table.loc[120] = ["broken", "C1CC", "enters"]
    table.to_csv(tmp_path / "assay.csv", index=False)
    guide("assay.csv structure class 3")
    printed = capsys.readouterr().out
    assert "120 molecules of 121" in printed
    assert "classes: enters, stays out" in printed
    assert "Decision: " in printed

    flips = pd.read_csv(tmp_path / "assay-flips.csv")
    assert set(flips["structure"]) < set(table["structure"])
    assert set(flips["predicted"]) <= {"enters", "stays out"}
    assert len(flips) == 24
    assert flips["flips"].is_monotonic_decreasing
    assert set(flips["flips"]) <= {0.0, 0.667}  # of three retrainings two pairs differ, or none
    (churn,) = [line for line in printed.splitlines() if "random forest: accuracy" in line]
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
def test_bad_input_gets_one_message_and_no_demonstration(tmp_path, guide, capsys, words, said):
    rows = [f"{'C' * (i + 1)},{'ab'[i % 2]},{i / 7},text {i}" for i in range(20)]
    (tmp_path / "assay.csv").write_text("\n".join(["structure,class,number,word", *rows]))
    with pytest.raises(SystemExit) as stop:
        guide(words)
    printed = capsys.readouterr()
    assert stop.value.code == 2
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert said in printed.err
    assert [file.name for file in tmp_path.iterdir()] == ["assay.csv"]
