"""Features of the tables that a deployed model is given."""

import pickle

import numpy as np
import pandas as pd
import pytest

from benchmark.data import readers
from benchmark.data.inputs import Featuriser, inputs_of
from benchmark.data.problem import given, load_problem, split_rows
from benchmark.data.rows import load_rows
from benchmark.data.spec import load_spec
from benchmark.errors import UserError

from .conftest import SMILES, dataset, materials, saved

MEASURED = load_spec("b3db_measured")


def made(spec):
    rows = load_rows(spec)
    split = split_rows(spec, rows, 99)
    return Featuriser.of(spec, rows, split.train), rows, split


@pytest.mark.parametrize(
    "kinds",
    [
        ("morgan:2048:2",),
        pytest.param(("rdkit_descriptors",), marks=pytest.mark.long),
        pytest.param(("morgan:64:1", "rdkit_descriptors"), marks=pytest.mark.long),
    ],
)
def test_features_of_molecules_are_those_of_the_dataset_to_the_bit(kinds):
    spec = MEASURED.model_copy(update={"features": kinds})
    featuriser, rows, split = made(spec)
    read, reasons = pickle.loads(pickle.dumps(featuriser))(inputs_of(spec, rows))
    expected = given(spec.name, spec.backbone, rows.x, rows.scaled, split.train)
    assert read.x.dtype == np.float32
    np.testing.assert_array_equal(read.x, expected)
    np.testing.assert_array_equal(read.smiles, rows.used["smiles"])
    assert (reasons == "").all()


@pytest.mark.usefixtures("staged_data")
@pytest.mark.parametrize("name", ["mof_thermal", "mof_thermal@backbone=tabm"])
def test_features_of_a_table_of_numbers_are_those_of_the_dataset_to_the_bit(name):
    spec = load_spec(name)
    featuriser, rows, _ = made(spec)
    problem = load_problem(name)
    table = inputs_of(spec, rows)
    assert tuple(table.columns) == featuriser.numbers
    read, _ = featuriser(table)
    ids = rows.used["id"].tolist()
    places = [ids.index(name) for name in problem.evals["id"].ids]
    np.testing.assert_array_equal(read.x[places], problem.evals["id"].x)
    assert read.smiles.tolist() == [""] * len(rows.used)


def test_salts_are_reduced_to_parents_as_in_the_dataset(tmp_path):
    salts = pd.DataFrame({"smiles": [f"{s}.Cl" for s in SMILES[:9]] + SMILES[9:], "y": [0, 1] * 18})
    salts.to_csv(tmp_path / "salts.csv", index=False)
    featuriser, rows, _ = made(dataset(tmp_path / "salts.csv", desalt=True))
    read, _ = featuriser(salts)
    assert read.smiles.tolist() == SMILES
    np.testing.assert_array_equal(read.x, rows.x)


def test_categories_are_read_from_their_column_and_an_unknown_one_has_no_feature():
    group = ("group", "A", "B", "C")
    spec = MEASURED.model_copy(update={"features": ("morgan:64:1",), "one_hot": (group,)})
    featuriser, rows, split = made(spec)
    table = inputs_of(spec, rows)
    assert list(table.columns) == ["smiles", "group"]
    read, _ = featuriser(table)
    np.testing.assert_array_equal(read.x, given(spec.name, spec.backbone, rows.x, rows.scaled, split.train))
    assert set(read.x[:, 64:].sum(axis=0)) - {0}
    read, reasons = featuriser(pd.DataFrame({"smiles": ["CCO", "CCO"], "group": ["Z", None]}))
    assert not read.x[:, 64:].any()
    assert (reasons == "").all()
    for there, lacking in (("smiles", "group"), ("group", "smiles")):
        with pytest.raises(UserError, match=f"the table has no column '{lacking}': expected smiles, group"):
            featuriser(pd.DataFrame({there: ["CCO"]}))


@pytest.mark.parametrize("features", [("composition",), ("composition", "columns")])
def test_formulas_are_read_from_the_column_of_names_and_another_text_has_a_reason(tmp_path, features):
    pytest.importorskip("pymatgen.core")
    formulas = [f"Fe{i}O{j}" for i in range(1, 7) for j in range(1, 6)]
    pd.DataFrame({"formula": formulas, "t": [2, 1] * 15, "y": [0, 1] * 15}).to_csv(tmp_path / "t.csv", index=False)
    spec = dataset(tmp_path / "t.csv", id_column="formula").model_copy(update={"features": features})
    featuriser, rows, _ = made(spec)
    assert [*inputs_of(spec, rows)] == [*featuriser.numbers, "formula"]
    np.testing.assert_array_equal(featuriser.read(inputs_of(spec, rows))[0], rows.x)
    read, reasons = featuriser(pd.DataFrame({"formula": [" Fe2O3", "water", None], "t": 1}))
    assert len(read) == 1
    assert reasons[1:].tolist() == [
        f"column 'formula': expected a formula such as Fe2O3, found {x!r}" for x in ("water", "")
    ]


def test_a_learner_that_reads_smiles_gets_those_of_the_rows_that_can_be_read():
    spec = load_spec("b3db_measured@backbone=gin")
    featuriser, rows, _ = made(spec)
    table = inputs_of(spec, rows).iloc[:5]
    read, _ = featuriser(table)
    assert read.smiles.tolist() == table["smiles"].tolist()
    read, _ = featuriser(pd.DataFrame({"smiles": ["CCO", "no molecule", " C "]}))
    assert read.smiles.tolist() == ["CCO", "C"]
    beside_numbers = Featuriser.of(
        MEASURED.model_copy(update={"features": ("morgan:64:1",)}), rows, np.arange(9), "smiles"
    )
    read, _ = beside_numbers(table)
    assert (read.x.shape, read.smiles.tolist()) == ((5, 64), table["smiles"].tolist())


def test_a_row_that_cannot_be_read_says_why_and_leaves_the_others_as_they_are():
    featuriser, _, _ = made(MEASURED)
    given = ["CCO", "no molecule", " c1ccccc1 ", "", None, float("nan"), ["CCO"], "C" * 501, "C" * 6000]
    read, reasons = featuriser(pd.DataFrame({"smiles": pd.Series(given, dtype=object)}))
    np.testing.assert_array_equal(read.x, featuriser(pd.DataFrame({"smiles": ["CCO", "c1ccccc1"]}))[0].x)
    assert read.smiles.tolist() == ["CCO", "c1ccccc1"]
    assert reasons[0] == reasons[2] == ""
    assert reasons[1] == "column 'smiles': RDKit cannot parse 'no molecule'"
    assert set(reasons[3:6]) == {"column 'smiles': expected a SMILES, found nothing"}
    assert reasons[6] == "column 'smiles': expected a SMILES, found ['CCO']"
    for reason in reasons[7:]:
        assert reason.startswith(
            "column 'smiles': expected a molecule of at most 500 atoms and 5,000 characters, found"
        )
        assert len(reason) < 200
    read, reasons = featuriser(pd.DataFrame({"smiles": ["CCO>>CC=O", "N->[Cu]"]}))
    assert reasons.tolist() == ["column 'smiles': expected a molecule, found a reaction, 'CCO>>CC=O'", ""]
    read, reasons = featuriser(pd.DataFrame({"smiles": ["?"]}))
    assert (len(read), len(read.smiles), len(reasons)) == (0, 0, 1)
    assert len(featuriser(pd.DataFrame({"smiles": []}))[1]) == 0


def test_a_missing_number_becomes_the_mean_of_the_pool_and_others_must_be_numbers_near_it(tmp_path):
    materials().to_csv(tmp_path / "t.csv", index=False)
    featuriser, rows, split = made(dataset(tmp_path / "t.csv", target="stable"))
    read, reasons = featuriser(pd.DataFrame({"pore": [None, "many", float("inf"), 1e99, 2.5], "density": 0.5}))
    assert len(read) == len(read.smiles) == 2
    assert reasons.tolist() == [
        "",
        "column 'pore': expected a number, found 'many'",
        "column 'pore': expected a number, found inf",
        "a feature is too far from those of the training pool for single precision",
        "",
    ]
    mean = np.nanmean(rows.x[split.train, 0])
    np.testing.assert_allclose(read.x[0], featuriser(pd.DataFrame({"pore": [mean], "density": 0.5}))[0].x[0], atol=1e-6)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_text_that_means_a_missing_number_in_the_dataset_means_one_in_a_new_table(tmp_path, kind):
    texts = ["1.5", "", "NA", " nan ", "n.d.", "-999"]
    table = pd.DataFrame({"sample": [f"S-{i}" for i in range(36)], "a": texts * 6, "b": [2, 1] * 18, "y": [0, 1] * 18})
    table.to_csv(tmp_path / "t.csv", index=False)
    spec = dataset(tmp_path / "t.csv", id_column="sample")
    featuriser, rows, _ = made(spec.model_copy(update={"missing": ("n.d.", "-999"), "ignore": ()}))
    content = saved(table, tmp_path / f"new.{kind}").read_bytes()
    x, _, reasons = featuriser.read(readers.read(content, f"new.{kind}"))
    assert (reasons == "").all()
    np.testing.assert_array_equal(x, rows.x)


@pytest.fixture
def of_commas(tmp_path):
    """The featuriser of a dataset whose two numbers have decimal commas, and these numbers."""
    rows = pd.DataFrame({"sample": [f"S-{i}" for i in range(30)], "a": [i + 0.5 for i in range(30)], "b": 10.629})
    rows["b"] = (rows["b"] + rows.index).round(3)
    rows["y"] = np.arange(30) % 2
    rows.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    spec = dataset(tmp_path / "t.csv", id_column="sample")
    assert spec.decimal == ","
    return made(spec)[0], rows.drop(columns="y")


@pytest.mark.parametrize("kind", ["xlsx", "parquet", "csv"])
def test_numbers_are_read_as_the_new_table_has_them_where_the_dataset_has_decimal_commas(of_commas, tmp_path, kind):
    featuriser, rows = of_commas
    text = rows.to_csv(index=False, sep=";", decimal=",").encode()
    content = text if kind == "csv" else saved(rows, tmp_path / f"new.{kind}").read_bytes()
    x, _, reasons = featuriser.read(readers.read(content, f"new.{kind}"))
    assert (reasons == "").all()
    np.testing.assert_array_equal(x, rows[["a", "b"]].to_numpy())


@pytest.mark.parametrize(("a", "b"), [("0.125", "10.629"), ("7", "10.629"), ("0.5", "3")])
def test_a_text_with_a_decimal_point_is_refused_where_the_dataset_has_decimal_commas(of_commas, a, b):
    with pytest.raises(UserError, match=r"^the table: column '[ab]', line 1: .* but the numbers of mine have decimal"):
        of_commas[0](pd.DataFrame({"a": [a], "b": [b]}))


def test_of_two_columns_with_the_name_of_a_feature_none_is_taken(of_commas, tmp_path):
    (tmp_path / "new.csv").write_text("a;b;a\n1,5;2,5;7,5\n")
    with pytest.raises(UserError, match=r"^new.csv: several columns are called 'a': rename those that are not meant"):
        of_commas[0].check(readers.read((tmp_path / "new.csv").read_bytes(), "new.csv"), "new.csv")


def test_images_have_no_table():
    with pytest.raises(UserError, match="a deployed model reads a table of SMILES or numbers, not images"):
        Featuriser.of(load_spec("waterbirds"), load_rows(MEASURED), np.arange(9))
