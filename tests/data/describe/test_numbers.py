"""Numbers are read with the mark, unit and cut that are meant; a mark with two meanings is asked about."""

import re
from contextlib import nullcontext

import pandas as pd
import pytest

from benchmark.data.describe.fields import describe_file
from benchmark.data.rows import load_rows
from benchmark.errors import UserError
from tests.data.conftest import SMILES, csv, dataset, fields_of, labelled, materials, saved, workbook


@pytest.mark.parametrize(
    ("unit", "decimal", "positive", "cut"),
    [
        ("", "", ">=18.5", ">= 18.5"),
        ("", "", " ≥ 18.50", ">= 18.50"),
        ("", "", ">= 1.85e1", ">= 18.5"),
        ("", "", ">=Median", ">= median"),
        (" %", "", ">= 18.5 %", ">= 18.5"),
        (" nM", ",", "≥18,5nM", ">= 18.5"),
        ("", ",", ">= 18.5", ">= 18.5"),
        ("", "", "> 18", UserError("to cut numbers in two, use --positive '>= 18'")),
        ("", "", "≤ 18", UserError("to cut numbers in two, use --positive '>= 18'")),
        ("", "", ">= 18,5", UserError("column 'y': --positive '>= 18,5': expected '>= median' or a number")),
        ("", ",", ">= 1.850", UserError("or a number that can be read in one way, as in '>= 5.5'")),
        ("", "", "18", UserError("to cut numbers in two, use --positive '>= 18'")),
    ],
)
def test_a_cut_is_read_as_the_column_is_written(tmp_path, unit, decimal, positive, cut):
    texts = [f"{i}{decimal or '.'}5{unit}" for i in range(36)]
    if isinstance(cut, UserError):
        with pytest.raises(UserError, match=re.escape(str(cut))):
            fields_of(tmp_path, texts, positive=positive)
        return
    assert fields_of(tmp_path, texts, positive=positive)["positive"] == cut
    assert labelled(dataset(tmp_path / "assay.csv", positive=positive)) == {s: i >= 18 for i, s in enumerate(SMILES)}


@pytest.mark.parametrize(
    ("separator", "texts", "mark", "firsts"),
    [
        (",", ["1,234", "5,678", "2"], "comma", {",": 1.234, ".": 1234}),
        (";", ["6.940", "12.345", "1.234"], "point", {".": 6.94, ",": 6940}),
        (";", ["5.000", "500", "12.000"], "point", {".": 5, ",": 5000}),
        (",", ["5.000", "500", "12.000"], "point", {".": 5, ",": 5000}),
        (";", ["5.000 nM", "500 nM", "12.000 nM"], "point", {".": 5, ",": 5000}),
    ],
)
def test_marks_that_may_stand_between_thousands_are_asked_about(tmp_path, separator, texts, mark, firsts):
    file = csv(tmp_path, texts, separator=separator)
    offer = re.escape(" or ".join(f"--decimal {decimal}" for decimal in firsts))
    with pytest.raises(UserError, match=f"line 2: in '{texts[0]}', the {mark} may be .*: say {offer}$"):
        describe_file(file, target="y")
    for decimal, first in firsts.items():
        found = labelled(dataset(file, decimal=decimal, task="regression"))
        assert found[SMILES[0]] == pytest.approx(first)


@pytest.mark.parametrize("texts", [["9.062", "6.31", "7"], [">9.062", "6.31"], ["1,5", "6.31 ", "9.062"]])
def test_points_are_not_read_as_decimal_and_between_thousands_in_one_column(tmp_path, texts):
    with pytest.raises(UserError, match=r"column 'y', line 3: '6\.31.* has a decimal point, but .* or 'decimal' in"):
        labelled(dataset(csv(tmp_path, texts), decimal=",", task="regression"))


@pytest.mark.parametrize(
    ("texts", "beside", "separator", "asked"),
    [
        (["101", "1.004", "7"], "5", ";", True),
        (["101", "1.04", "7"], "5", ";", False),
        (["101", "1.004", "7"], "0.250", ";", False),  # whose point stands between no thousands
        (["1.100", "1.004", "7.250"], "5", ";", False),
        (["101", "1.004", "7"], "5", ",", False),
    ],
)
def test_points_in_a_feature_that_may_stand_between_thousands_are_asked_about(
    tmp_path, texts, beside, separator, asked
):
    rows = pd.DataFrame({"name": [f"M-{i}" for i in range(30)], "mass": texts * 10, "n": beside, "y": ["a", "b"] * 15})
    rows.to_csv(tmp_path / "t.csv", index=False, sep=separator)
    question = r"column 'mass', line 3: in '1\.004', the point may be a decimal point"
    with pytest.raises(UserError, match=question) if asked else nullcontext():
        assert describe_file(tmp_path / "t.csv", target="y")["ignore"] == []
    assert describe_file(tmp_path / "t.csv", target="y", decimal=".")["ignore"] == []


def test_a_column_whose_commas_are_unclear_says_so_where_it_is_no_feature(tmp_path):
    rows = materials(mass=["200,000", "201,007", "7,125"] * 10)
    rows.to_csv(tmp_path / "t.csv", index=False, sep=";")
    fields = describe_file(tmp_path / "t.csv", target="stable")
    assert "'mass' ('200,000', the comma may be a decimal comma or stand between thousands: say" in fields["notes"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": "0,13", "b": "2.788", "y": "6.297"}, r"line 2: '0,13' has a decimal comma, but '2\.788' in column 'b'"),
        ({"a": "7", "b": "0,13", "y": "6.297"}, r"line 2: '0,13' has .*, but '6\.291' in column 'y', line 2, a point"),
        ({"a": "2.78", "b": "7", "y": "6,25"}, r"line 2: '6,21' has a decimal comma, but '2\.78' in column 'a'"),
    ],
)
def test_columns_with_different_decimal_marks_are_refused(tmp_path, columns, said):
    rows = pd.DataFrame({"name": [f"M-{i}" for i in range(30)], **{k: [text] * 30 for k, text in columns.items()}})
    rows["y"] = [text[:-1] + str(i % 9 + 1) for i, text in enumerate(rows["y"])]
    with pytest.raises(UserError, match=r"^assay\.csv: column .*" + said + ".* or say --decimal , if"):
        fields_of(tmp_path, rows)
    assert fields_of(tmp_path, rows, decimal=",")["decimal"] == ","


def test_points_between_thousands_are_read_beside_a_number_that_shows_them(tmp_path):
    rows = pd.DataFrame({"name": [f"M-{i}" for i in range(30)], "n": ["1.234", "56.789", "7"] * 10})
    file = saved(rows.assign(y=["1.234,5", "0,5", "12,25"] * 10), tmp_path / "t.csv")
    assert sorted({*load_rows(dataset(file)).x[:, 0]}) == [7, 1234, 56789]


@pytest.mark.parametrize("kind", ["xlsx", "parquet"])
def test_a_number_that_is_no_text_keeps_its_value_whatever_the_decimal_mark(tmp_path, kind):
    values = [10.629, 2.5, 1.125]
    rows = pd.DataFrame({"name": [f"M-{i}" for i in range(30)], "a": ["0,13", "0,25", "7"] * 10, "b": values * 10})
    file = saved(rows.assign(y=[i + 0.125 for i in range(30)]), tmp_path / f"t.{kind}")
    for decimal in ("", ","):
        spec = dataset(file, decimal=decimal)
        assert spec.decimal == ","
        x = load_rows(spec).x
        assert x[:3].tolist() == [[0.13, 10.629], [0.25, 2.5], [7, 1.125]]
        assert load_rows(spec).used["target"].astype(float).tolist() == [i + 0.125 for i in range(30)]


def test_a_column_of_texts_and_numbers_of_a_workbook_keeps_both(tmp_path):
    rows = [["name", "a", "y"], *([f"M-{i}", [10.629, "0,5", 7][i % 3], i % 2] for i in range(30))]
    (tmp_path / "t.xlsx").write_bytes(workbook(t=rows))
    spec = dataset(tmp_path / "t.xlsx", decimal=",")
    assert load_rows(spec).x[:3, 0].tolist() == [10.629, 0.5, 7]
