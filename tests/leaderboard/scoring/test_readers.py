"""Tables of predictions: every layout gives the same runs, and every error names its row."""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.errors import UserError
from leaderboard.scoring.readers import read
from leaderboard.scoring.score import score

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


@pytest.mark.parametrize("mark", [";", "\t"])
def test_semicolons_and_tabs_separate_as_commas_do(mark, tmp_path):
    with_commas = PROBABILITIES["p1"].assign(note="calm, quiet")
    with_commas.to_csv(tmp_path / "predictions.csv", index=False, sep=mark)
    np.testing.assert_allclose(read(tmp_path / "predictions.csv").values[:, :, 1], P1, atol=1e-6)


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
    runs = read(save(long(y_pred=3 * P1.ravel()), path))
    assert runs.kind == "values"
    np.testing.assert_allclose(runs.values, 3 * P1, rtol=1e-6)


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
        (changed("p1", 9, "high"), r"row 10, column 'p1': expected a number, found 'high'"),
        (changed("p1", 9, "nan"), r"row 10, column 'p1': expected a finite number"),
        (changed("p1", 9, 7), r"row 10, columns p0, p1: expected probabilities that sum to 1, found .*7"),
        (changed("example_id", 9, "m0"), r"row 10: example 'm0' of run '8' appears twice"),
        (changed("example_id", 9, ""), r"row 10: the column 'example_id' is empty"),
        (changed("y_true", 9, 0), r"row 10, column 'y_true': example 'm2' is '0', but '1' in an earlier row"),
        (changed("y_true", 2, "x"), r"row 3, column 'y_true': example 'm2' is 'x', but '1' in an earlier row"),
        (long(p0=0.5, p1=0.5).iloc[:-1], r"run '15' has 6 of 7 examples: 'm6' is missing"),
        (long(p0=0.5, p1=0.5).drop(columns="train_seed"), r"row 8: example 'm0' appears twice; several runs need"),
        (long(p0=0.5, p2=0.5), r"probability columns p0, p2: expected p0, p1"),
        (long(score=0.5), r"it has no predictions"),
        (long(p1=0.5).drop(columns="example_id"), r"no column of example ids"),
        (long(p1=0.5).assign(y_true=2), r"true class of example 'm0' is '2'"),
        (long(p1=0.5, evalset=["id"] * 20 + ["ood"]), r"'evalset' has 'id' and 'ood'"),
        (long(p1=0.5).iloc[:0], r"no rows"),
        (pd.DataFrame({"id": IDS}), r"no predictions"),
    ],
)
def test_a_mistake_is_named_with_its_column_and_row(table, message, tmp_path):
    with pytest.raises(UserError, match=message):
        read(save(table, tmp_path / "p.csv"))


def constant(value, rows):
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value]))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        pytest.param(
            lambda n: {"run": constant(1, n), "id": constant("a", n)}, "row 2: example 'a' .* twice", id="rows"
        ),
        pytest.param(
            lambda n: {"run": np.arange(n // 100), "id": constant("x" * 2_000_000, n // 100)}, "256 MiB", id="texts"
        ),
        pytest.param(
            lambda n: {"run": np.arange(n // 100), "id": np.arange(n // 100)},
            r"200,000 rows, but 200,000 runs .* and 200,000 examples: expected a row for each",
            id="runs",
        ),
    ],
)
def test_a_small_file_of_gigabytes_is_refused_in_little_memory(columns, message, tmp_path):
    table = columns(20_000_000)
    table["p1"] = constant(0.5, len(table["run"]))
    pq.write_table(pa.table(table), tmp_path / "p.parquet", compression="zstd")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match=rf"p\.parquet.* {message}"):
        read(tmp_path / "p.parquet")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 2**20


@pytest.mark.parametrize("content", [b"", b"PAR1 nothing", b"a,b\n1,2,3\n", b"\xff\xfe\x00"])
def test_what_is_no_table_is_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"predictions\."):
        read(path)


FRACTIONS = pd.DataFrame({f"r{r}": P1[r] for r in range(3)})
WHOLE = (FRACTIONS > 0.5).astype(int)
SMILES = ["C" * (t + 1) for t in range(7)]


@pytest.mark.parametrize("predicted", [{"p1": P1.ravel()}, {"p0": 1 - P1.ravel(), "p1": P1.ravel()}, {"score": 0.5}])
@pytest.mark.parametrize("name", ["label", "class", "Label"])
def test_a_column_that_may_be_the_predicted_or_the_true_class_is_not_guessed(predicted, name, path):
    table = long(**predicted, **{name: np.tile(Y, 3)}).drop(columns="y_true")
    with pytest.raises(
        UserError,
        match=rf"with .*'{list(predicted)[-1]}' in the table, the column '{name}' could be .*y_pred or y_true",
    ):
        read(save(table, path))


def test_a_column_label_alone_is_the_predicted_class(path):
    table = long(label=(P1.ravel() > 0.5).astype(int)).drop(columns="y_true")
    np.testing.assert_array_equal(read(save(table, path)).values, P1 > 0.5)


def test_probabilities_come_before_classes_unless_said_otherwise_and_what_is_not_read_is_told(path, tmp_path):
    save(long(p1=P1.ravel(), y_pred=1, label=0), path)
    runs = read(path)
    np.testing.assert_allclose(runs.values[..., 1], P1, atol=1e-6)
    assert runs.columns == "Columns: run train_seed; predictions p1; truth y_true; not read: y_pred, label."
    assert "predictions y_pred;" in read(path, "labels").columns
    truth = save(pd.DataFrame({"id": IDS, "y_true": 1 - Y}), tmp_path / "truth.csv")
    assert read(path, truth=truth).columns.endswith(f"truth from {truth}; not read: y_pred, label, y_true.")
    with pytest.raises(UserError, match="--kind labels needs a column y_pred"):
        read(save(long(p0=1 - P1.ravel(), p1=P1.ravel()), path), "labels")


@pytest.mark.parametrize("of_runs", [FRACTIONS, WHOLE, WHOLE.replace({0: "no", 1: "yes"}), 3 * FRACTIONS])
@pytest.mark.parametrize(
    ("name", "column"),
    [("smiles", SMILES), ("SMILES", SMILES), ("scaffold", SMILES), ("fold", range(7)), ("", range(7)), ("target", Y)],
)
def test_a_column_about_the_examples_is_no_run_and_is_told(of_runs, name, column, path):
    table = pd.DataFrame({"example_id": IDS, "y_true": Y}).assign(**{name: column}).join(of_runs)
    runs = read(save(table, path))
    assert runs.names == ("r0", "r1", "r2")
    assert runs.columns == f"Columns: runs r0, r1, r2; truth y_true; not read: {name or repr('')}."


@pytest.mark.parametrize(
    ("table", "message", "kind"),
    [
        (FRACTIONS.assign(cv=range(7)), "'cv' hold whole numbers, but 'r0', 'r1', 'r2' do not", None),
        (3 * FRACTIONS.assign(charge=[0, 1, -1, 0, 0, 0, 2]), "'charge' hold whole numbers", None),
        (FRACTIONS.assign(logp=5 * P1[0]), "'logp' are not between 0 and 1, unlike the others", "values"),
        (WHOLE.assign(cv=range(7)), "'cv' has mostly classes that no other column has", "labels"),
        (WHOLE.replace({0: "no", 1: "yes"}).assign(logp=P1[0]), "'r0', 'logp' have no class in common", None),
        (pd.DataFrame({"a": ["yes"] * 7, "b": ["no"] * 7}), "'a', 'b' have no class in common", None),
    ],
)
def test_columns_that_do_not_look_like_runs_of_one_model_are_refused(table, message, kind, path):
    save(table.assign(example_id=IDS), path)
    with pytest.raises(UserError, match=message):
        read(path)
    if kind is not None:  # the remedy of the message
        assert read(path, kind).names == tuple(table.columns)


def test_a_text_among_numbers_is_named_with_its_row(path):
    for table in (FRACTIONS, 3 * FRACTIONS):
        save(table.astype(str).assign(example_id=IDS, r1=[*table["r1"].astype(str)[:6], "n/a"]), path)
        with pytest.raises(UserError, match="row 7, column 'r1': expected a number, found 'n/a'"):
            read(path)


def test_values_keep_their_late_digits(path):
    table = pd.DataFrame({"id": IDS}).assign(**{str(r): 1e8 + P1[r] for r in range(3)})
    expected = np.mean([np.abs(P1[i] - P1[j]).mean() for i, j in ((0, 1), (0, 2), (1, 2))])
    assert score(read(save(table, path))).churn.value == pytest.approx(expected, rel=1e-6)


def test_numbers_that_are_no_64_bit_integers_are_classes_and_names_of_runs(path):
    whole = np.where(P1.ravel() > 0.5, 1e19, 0)
    runs = read(save(long(y_pred=whole, train_seed=np.repeat([1, np.inf, 1e30], 7)).drop(columns="y_true"), path))
    assert (len(runs.names), len(runs.classes)) == (3, 2)
    np.testing.assert_array_equal(runs.values, P1 > 0.5)
    with pytest.raises(UserError, match="row 1, column 'y_pred': expected a finite number"):
        read(save(long(y_pred=np.inf), path))


@pytest.mark.parametrize("column", ["example_id", "train_seed", "y_pred", "y_true"])
def test_a_column_of_lists_is_refused(column, tmp_path):
    table = long(y_pred=1).astype({column: object})
    table[column] = [[1, 2]] * len(table)
    with pytest.raises(UserError, match=rf"the column '{column}' holds list<.*expected text or one number per row"):
        read(save(table, tmp_path / "p.parquet"))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"p\.parquet: expected columns of text and numbers"):
        read(save(long(y_pred=b"\xff"), tmp_path / "p.parquet"))


def test_values_whose_squares_are_no_floats_are_refused(path):
    table = pd.DataFrame({"id": IDS, "a": 1.0, "b": [1.0] * 6 + [-1e300]})
    with pytest.raises(UserError, match="example 'm6' has a value of -1e\\+300: expected values from -1e\\+100"):
        read(save(table, path), "values")


MEMORY = """
import resource, sys
from pathlib import Path
from leaderboard.scoring.readers import read
from leaderboard.scoring.score import score
score(read(Path(sys.argv[1])))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.slow
@pytest.mark.long
def test_memory_grows_by_little_more_than_the_array_of_predictions(tmp_path):
    def peak(r: int) -> int:
        p = np.random.default_rng(0).random(r * 10_000, dtype=np.float32)
        columns = {"run": np.repeat(np.arange(r), 10_000), "id": np.tile(np.arange(10_000), r), "p0": 1 - p, "p1": p}
        pd.DataFrame(columns).to_parquet(tmp_path / "p.parquet", index=False)
        command = [sys.executable, "-c", MEMORY, str(tmp_path / "p.parquet")]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    array = (40 - 10) * 10_000 * 2 * 4
    assert peak(40) - peak(10) < 3 * array + 60e6  # blocks of 8 MB in float64, with temporaries
