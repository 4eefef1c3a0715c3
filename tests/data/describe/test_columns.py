"""Columns are known by name and content: molecules, names of rows, parts of a split; the others are named."""

import numpy as np
import pandas as pd
import pytest

from benchmark.data.describe.offers import offers
from benchmark.data.rows import load_rows
from benchmark.errors import UserError
from tests.data.conftest import SMILES, dataset, fields_of, materials, saved, table


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        (["smiles", "y"], "smiles"),
        (["y", "canonical_smiles"], "canonical_smiles"),
        (["smiles_of_salt", "Smiles", "y"], "Smiles"),
        (["smi", "y"], "smi"),
    ],
)
def test_the_column_of_the_smiles_is_found_by_name_or_content(tmp_path, columns, chosen):
    rows = pd.DataFrame({name: ["0", "1"] * 18 if name == "y" else SMILES for name in columns})
    rows = rows.assign(n=range(36), code=[f"S{i}" for i in range(36)], MW=257.3)
    assert fields_of(tmp_path, rows)["smiles"] == chosen


@pytest.mark.parametrize(
    ("columns", "message", "chosen"),
    [
        *(({a: SMILES, b: SMILES}, f"{a}, {b}; choose", b) for a, b in (("smiles_raw", "smiles_clean"), ("mol", "r"))),
        ({"has_smiles": "yes", "mol": SMILES}, "SMILES: has_smiles, mol; choose one with --smiles", "mol"),
        ({"SMILES": "S-7", "mol": SMILES}, "SMILES: SMILES, mol; choose one with --smiles", "mol"),
        ({"has_smiles": "no", "smiles_ok": "yes", "mol": SMILES}, "has_smiles, smiles_ok, mol; choose one", "mol"),
        ({"SMILES": "InChI=1S/CH4/h1H4", "x": ["C", "O"] * 18}, "column 'SMILES' holds InChI, which is not supp", "x"),
        *(
            ({name: texts}, f"{what}, .* not supported: {remedy}", "")
            for name, texts, what, remedy in (
                ("rxn_smiles", [f"{s}.CCO>>{s}" for s in SMILES], "line 2: '.*>.*' is a reaction", "make.* --smiles"),
                ("reaction", [f"{s}.CCO>O>{s}" for s in SMILES], "line 2: '.*>.*' is a reaction", "make.* --smiles"),
                ("key", "InChI=1S/CH4/h1H4", "column 'key' holds InChI", "add a column of SMILES"),
                ("key", "\n\n\n  0  0\nM  END\n", "column 'key' holds molfiles", "add a column of SMILES"),
            )
        ),
    ],
)
def test_where_no_column_clearly_holds_smiles_the_user_is_told_what_to_do(tmp_path, columns, message, chosen):
    rows = pd.DataFrame({**columns, "y": ["0", "1"] * 18}, index=range(36))
    with pytest.raises(UserError, match=message):
        fields_of(tmp_path, rows)
    if chosen:
        assert fields_of(tmp_path, rows, smiles=chosen)["smiles"] == chosen


def test_a_column_of_which_some_texts_are_smiles_is_pointed_at(tmp_path):
    rows = materials(mol=[f"{s}{'(' * (i % 2)}" for i, s in enumerate(SMILES[:30])])
    assert "50% of the texts of 'mol' are SMILES: if these are the" in fields_of(tmp_path, rows, "stable")["notes"]
    assert "are SMILES" not in fields_of(tmp_path, materials(), "stable")["notes"]


@pytest.mark.parametrize(("name", "numbered"), [("Unnamed: 0", True), ("index", True), ("dose", False)])
def test_numbers_of_rows_are_no_feature_in_whatever_order(tmp_path, name, numbered):
    rows = materials(**{name: np.random.default_rng(0).permutation(40)[:30]})
    assert (f"row numbers are no feature: '{name}'" in fields_of(tmp_path, rows, "stable")["notes"]) == numbered


def test_rows_without_molecules_may_be_named_by_whole_numbers_under_a_heading_that_says_so(tmp_path):
    rows = materials(y=["0", "1"] * 15).drop(columns="material")
    assert fields_of(tmp_path, rows.assign(sample_id=range(700, 730)))["id"] == "sample_id"
    with pytest.raises(UserError, match="none holds a unique name for each row: choose --smiles or --id among pore, d"):
        fields_of(tmp_path, rows.assign(NO=np.arange(30) / 7))  # nitric oxide


@pytest.mark.parametrize("values", [[0, 1, 1], ["0.0", "1.0", ""]])
@pytest.mark.parametrize("name", ["split", "cv_fold", "is_train", "test"])
def test_a_number_that_says_which_rows_are_for_training_is_no_feature(tmp_path, name, values):
    rows = materials(**{name: values * 10}, test_time=[1, 2, 3] * 10)
    fields = fields_of(tmp_path, rows, "stable")
    assert f"no feature, as it may say which rows are for training: '{name}'; if not" in fields["notes"]
    assert fields["ignore"] == ["metal", name]
    offered = offers(tmp_path / "assay.csv", fields)
    assert f"'{name}' holds 0 and 1: --split fold:{name} tests on the rows with 1, fold:{name}:0" in "".join(offered)
    for other, numbers in (("fold_change", [1, 2, 3]), ("scaffold", [0, 1, 1]), ("test_temperature", [25, 600, 25])):
        assert fields_of(tmp_path, materials(**{other: numbers * 10}), "stable")["ignore"] == ["metal"]


def test_a_row_that_sums_up_the_others_and_a_number_for_what_is_missing_are_named(tmp_path):
    rows = materials()
    rows.loc[[2, 7, 9], "density"] = -999
    assert "in the feature 'density', -999 stands in 3 rows, far" in fields_of(tmp_path, rows, "stable")["notes"]
    rows.loc[5, "material"] = "STD"
    assert fields_of(tmp_path, rows, "stable")["id"] == "material"
    rows.loc[29, "material"] = "Total: n=29"
    with pytest.raises(UserError, match="'material', line 31: 'Total: n=29' is by its name no row but a summary"):
        fields_of(tmp_path, rows, "stable")


@pytest.mark.parametrize("smiles", [True, False])
def test_texts_become_features_one_for_each_category(tmp_path, smiles):
    rows = table(["0", "1"], series=["B", " A", "", "C"], dose=[str(i * 7 % 36) for i in range(36)])
    named = rows.assign(SMILES=[f"m{i}" for i in range(36)]).rename(columns={"SMILES": "material"})
    spec = dataset(saved(rows if smiles else named, tmp_path / "assay.csv"), one_hot=["series"])
    assert spec.one_hot == (("series", "A", "B", "C"),)
    loaded = load_rows(spec)
    numbers = 2048 if smiles else 1
    assert loaded.x.shape == (36, numbers + 3)
    np.testing.assert_array_equal(loaded.x[:4, numbers:], [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1]])
    with pytest.raises(UserError, match=r"column 'dose': expected 2 to 100 different texts for --one-hot, found 1"):
        fields_of(tmp_path, table(["0", "1"], dose=["5"]), one_hot=["dose"])


def test_columns_that_are_no_features_for_a_text_are_named_with_it(tmp_path):
    pore = [f"{i / 7:.2f}" for i in range(30)]
    columns = {"depth": ["<0.1" if i == 7 else text for i, text in enumerate(pore)], "share": [f"{i}%" for i in pore]}
    rows = materials(**columns, flag=[True, False] * 15, remark="", n=range(30))
    spec = dataset(saved(rows, tmp_path / "materials.csv"), target="stable")
    assert spec.ignore == ("metal", "depth", "share", "flag", "remark", "n")
    assert "row numbers are no feature: 'n'" in spec.notes
    assert (
        "not features, because a text is no number: 'metal' (line 2: 'Zn'), 'depth' (line 9: '<0.1'), "
        "'share' (line 2: '0.00%'), 'flag' (line 2: 'True'), 'remark' (empty);"
    ) in spec.notes
