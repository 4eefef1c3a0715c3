"""Tables of predictions: every layout gives the same runs, every mistake is named with its row."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from benchmark.errors import UserError
from leaderboard.own.readers import read

IDS = [f"m{t}" for t in range(7)]
P1 = np.random.default_rng(0).random((3, 7)).round(4)
Y = np.array([0, 1, 1, 0, 1, 0, 1])


def long(**columns) -> pd.DataFrame:
    table = pd.DataFrame({"train_seed": np.repeat([4, 8, 15], 7), "example_id": IDS * 3, "y_true": np.tile(Y, 3)})
    return table.assign(**columns)


def save(table: pd.DataFrame, path):
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False)
    return path


@pytest.fixture(params=["csv", "parquet"])
def path(request, tmp_path):
    return tmp_path / f"predictions.{request.param}"


PROBABILITIES = {
    "p0 and p1": long(p0=1 - P1.ravel(), p1=P1.ravel()),
    "p1": long(p1=P1.ravel()),
    "shuffled": long(p1=P1.ravel()).sample(frac=1, random_state=1).sort_values("train_seed", kind="stable"),
    "wide": pd.DataFrame({"id": IDS, "y_true": Y, "4": P1[0], "8": P1[1], "15": P1[2]}),
}


@pytest.mark.parametrize("name", PROBABILITIES)
def test_probabilities_are_read_in_every_layout(name, path):
    runs = read(save(PROBABILITIES[name], path))
    order = [runs.ids.tolist().index(name) for name in IDS]
    assert runs.kind == "probabilities"
    assert runs.names == ("4", "8", "15")
    np.testing.assert_allclose(runs.values[:, order, 1], P1, atol=1e-6)
    np.testing.assert_array_equal(runs.y[order], Y)


LABELS = np.array(["no", "yes"], object)[(P1 > 0.5).astype(int)]
TRUE = np.array(["no", "yes"], object)[Y]


@pytest.mark.parametrize(
    "table",
    [
        long(y_pred=LABELS.ravel(), y_true=np.tile(TRUE, 3)),
        pd.DataFrame({"id": IDS, "y_true": TRUE, "a": LABELS[0], "b": LABELS[1], "c": LABELS[2]}),
    ],
)
def test_class_labels_are_read_in_every_layout(table, path):
    runs = read(save(table, path))
    assert (runs.kind, runs.classes) == ("labels", ("no", "yes"))
    np.testing.assert_array_equal(runs.values, P1 > 0.5)
    np.testing.assert_array_equal(runs.y, Y)


def test_integers_are_classes_and_other_numbers_values_unless_said_otherwise(path):
    whole = long(y_pred=(3 * P1.ravel()).round())
    assert read(save(whole, path)).kind == "labels"
    assert read(path, "values").kind == "values"
    found = read(save(long(y_pred=3 * P1.ravel()), path))
    assert found.kind == "values"
    np.testing.assert_allclose(found.values, 3 * P1, rtol=1e-6)


def test_truth_may_be_a_file_of_its_own(path, tmp_path):
    truth = save(pd.DataFrame({"example_id": IDS[::-1], "y_true": Y[::-1]}), tmp_path / "truth.csv")
    runs = read(save(long(p1=P1.ravel()).drop(columns="y_true"), path), truth=truth)
    np.testing.assert_array_equal(runs.y, Y)
    save(pd.DataFrame({"example_id": IDS[1:], "y_true": Y[1:]}), truth)
    with pytest.raises(UserError, match="'m0' has no true value"):
        read(path, truth=truth)


def changed(column: str, row: int, value: object) -> pd.DataFrame:
    table = long(p0=1 - P1.ravel(), p1=P1.ravel()).astype({column: object})
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (changed("p1", 9, "high"), r"row 10, column 'p1': a number expected, found 'high'"),
        (changed("p1", 9, "nan"), r"row 10, column 'p1': a finite number expected"),
        (changed("p1", 9, 7), r"row 10, columns p0, p1: probabilities that sum to 1 expected, found .*7"),
        (changed("example_id", 9, "m0"), r"row 10: example 'm0' of run '8' is there twice"),
        (changed("example_id", 9, ""), r"row 10: the column 'example_id' is empty"),
        (changed("y_true", 9, 0), r"row 10, column 'y_true': example 'm2' is '0', but '1' in an earlier row"),
        (changed("y_true", 2, "x"), r"row 3, column 'y_true': example 'm2' is 'x', but '1' in an earlier row"),
        (long(p0=0.5, p1=0.5).iloc[:-1], r"run '15' has 6 of 7 examples: 'm6' is missing"),
        (long(p0=0.5, p1=0.5).drop(columns="train_seed"), r"row 8: example 'm0' is there twice; several runs need"),
        (long(p0=0.5, p2=0.5), r"probability columns p0, p2: expected p0, p1"),
        (long(score=0.5), r"it has no predictions"),
        (long(p1=0.5).drop(columns="example_id"), r"no column with the examples' ids"),
        (long(p1=0.5).assign(y_true=2), r"true class of example 'm0' is '2'"),
        (long(p1=0.5, evalset=["id"] * 20 + ["ood"]), r"'evalset' has 'id' and 'ood'"),
        (long(p1=0.5).iloc[:0], r"no rows"),
        (pd.DataFrame({"id": IDS}), r"no predictions"),
    ],
)
def test_a_mistake_is_named_with_its_column_and_row(table, message, tmp_path):
    with pytest.raises(UserError, match=message):
        read(save(table, tmp_path / "p.csv"))


@pytest.mark.parametrize("content", [b"", b"PAR1 nothing", b"a,b\n1,2,3\n", b"\xff\xfe\x00"])
def test_what_is_no_table_is_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"predictions\."):
        read(path)


MEMORY = """
import resource, sys
from pathlib import Path
from leaderboard.own.readers import read
from leaderboard.own.score import score
score(read(Path(sys.argv[1])))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.slow
def test_memory_grows_by_little_more_than_the_array_of_predictions(tmp_path):
    def peak(r: int) -> int:
        p = np.random.default_rng(0).random(r * 10_000, dtype=np.float32)
        columns = {"run": np.repeat(np.arange(r), 10_000), "id": np.tile(np.arange(10_000), r), "p0": 1 - p, "p1": p}
        pd.DataFrame(columns).to_parquet(tmp_path / "p.parquet", index=False)
        command = [sys.executable, "-c", MEMORY, str(tmp_path / "p.parquet")]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    array = (40 - 10) * 10_000 * 2 * 4
    assert peak(40) - peak(10) < 3 * array + 60e6  # blocks of 8 MB in float64, with temporaries
