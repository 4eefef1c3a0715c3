"""A user's table is read as it is meant; what can be read in two ways is said, or refused with the option."""

import re

import numpy as np
import pandas as pd
import pytest
from rdkit.Chem import MolFromSmiles, MolToMolBlock

from benchmark.data.checks.health import examine
from benchmark.data.checks.health_text import to_text
from benchmark.data.checks.missing import MISSING_WORDS
from benchmark.data.describe.fields import describe_file
from benchmark.data.describe.given import columns_of
from benchmark.data.describe.offers import offers
from benchmark.data.problem import load_problem
from benchmark.data.rows import load_rows
from benchmark.data.spec import load_spec
from benchmark.errors import UserError

from .conftest import SMILES, csv, dataset, labelled, materials, saved, table, workbook


def described(folder, texts, columns=None, **given):
    """Return the fields for ``csv``, and the notes on how it was read."""
    fields = describe_file(csv(folder, texts, **(columns or {})), target="y", **given)
    return fields, fields.pop("notes", "")


def fields_of(folder, rows, target="y", **given):
    """Write a table as assay.csv, and return the fields for it."""
    rows.to_csv(folder / "assay.csv", index=False)
    return describe_file(folder / "assay.csv", target=target, **given)


# Two classes


CLASSES = [
    *(("0", "1", None), ("0.0", "1.0", None), ("false", "true", "true"), ("inactive", "active", "active")),
    *(("BBB-", "BBB+", "BBB+"), ("-", "+", "+"), ("non-toxic", "toxic", "toxic"), ("nein", "ja", "ja")),
    *(("blue", "red", "red"), ("negative", "mutagenic", "mutagenic"), ("no effect", "blocks", "blocks")),
    ("Inactive (IC50>10uM)", "Active (IC50<=10uM)", "Active (IC50<=10uM)"),
    *(("low permeability", "high permeability", "high permeability"), ("2", "1", "1"), ("-1.0", "1.0", "1")),
]
"""Classes 0 and 1, and what the TOML calls the latter."""
WHOLE, SPREAD = [str(i) for i in range(36)], [f"{i / 7:.3f}" for i in range(36)]
UPPER = [int(i >= 18) for i in range(36)]
UNIT = {"task": "regression", "missing": ("n. d.",)}
LOGS = [">720.5", ">1000", ">=2000", "<900", "<1200", "<1000", "<=1000", "20", "5000", "1000", "20", "5000"]
DECIDED = [None, 1, 1, 0, None, 0, None, 0, 1, 1, 0, 1]


@pytest.mark.parametrize(
    ("texts", "given", "labels", "about"),
    [
        *(([zero, one], {}, [0, 1], {"task": "classification", "positive": name}) for zero, one, name in CLASSES),
        (
            ["inactive", "Active", " INACTIVE", "ACTIVE ", "Inactive", "active"],
            *({}, [0, 1], {"notes": "6 spellings of 2 classes, but for capitals and blanks"}),
        ),
        *(
            (texts, {}, [*map(float, texts)], {"task": "regression", "positive": None})
            for texts in (SPREAD, WHOLE[1:11])
        ),
        (["1e-2", "2.5E1", "-4", "\u22123.5"], {}, [0.01, 25, -4, -3.5], {"task": "regression"}),
        (["0", "0.5", "1"], {"task": "regression"}, [0, 0.5, 1], {}),
        (["0", "0.5", "1"], {"task": "classification"}, [0, 1, 2], {"classes": ("0", "0.5", "1")}),
        (["0", "1", "2", "2.0"], {"task": "classification"}, [0, 1, 2, 2], {"classes": ("0", "1", "2")}),
        (["0", "1", "-1.0"], {"ignore_value": ["-1"]}, [0, 1, None], {"missing": ("-1",)}),
        (["0", "1", "-1"], {"classes": ["-1", "0", "1"]}, [1, 2, 0], {}),
        (WHOLE, {"positive": ">= median"}, UPPER, {"class_names": ("< median", "≥ median")}),
        (WHOLE, {"positive": ">= 18"}, UPPER, {"class_names": ("< 18", "≥ 18")}),
        (["7,74", "5,81", "6"], {}, [7.74, 5.81, 6], {"decimal": ",", "notes": "is read as"}),
        (["1.234,5", "12,25", "7"], {}, [1234.5, 12.25, 7], {"decimal": ",", "notes": "is read as"}),
        (["1,234.5", "12.25", "7"], {}, [1234.5, 12.25, 7], {"decimal": ".", "notes": "is read as"}),
        (["-,5", "3,14", "1,5e2"], {}, [-0.5, 3.14, 150], {"decimal": ",", "notes": "is read as"}),
        *(
            ([f"95{unit}", f"5{unit}", f"77{unit}", "N. d."], {}, [95, 5, 77, None], UNIT | {"suffix": unit.strip()})
            for unit in ("%", " %", " nM", "µM", " mg/mL")
        ),
        (["25 °C", "60 °C", "reflux"], {"classes": ["25 °C", "60 °C", "reflux"]}, [0, 1, 2], {}),
        (["1M", "2M", "3T"], {"classes": ["1M", "2M", "3T"]}, [0, 1, 2], {}),
        (["4 h", "4 h", "4 h", "overnight"], {}, [0, 0, 0, 1], {}),
        *(
            ([f"{mark}30", "20", "7.5", "3"], {}, [30, 20, 7.5, 3], {"notes": "9 of 36 values are approximate (~)"})
            for mark in ("~", "≈ ")
        ),
        (["=30", "20", "7.5", "3"], {}, [30, 20, 7.5, 3], {}),
        (["1.5", ">10", "2.5", "<0.5", ">2", "=4"], {}, [1.5, None, 2.5, None, None, 4], {"bounds": "exclude"}),
        (["1.5", ">10", "2.5", "<0.5", ">2", "=4"], {"positive": ">= 3"}, [0, 1, 0, 0, None, 1], {}),
        (LOGS, {"positive": ">= 1000"}, DECIDED, {}),
        (LOGS, {"positive": ">= 3", "log10": True}, DECIDED, {"notes": "the logarithm is cut: >= 3 is >= 10^3 in the"}),
    ],
)
def test_a_target_is_read_as_it_is_meant(tmp_path, texts, given, labels, about):
    spec = dataset(csv(tmp_path, texts), **given)
    turns = {smiles: labels[i % len(labels)] for i, smiles in enumerate(SMILES)}
    assert labelled(spec) == pytest.approx({smiles: y for smiles, y in turns.items() if y is not None}, rel=1e-6)
    for name, value in about.items():
        assert value in spec.notes if name == "notes" else value == getattr(spec, name), name


# Missing values


@pytest.mark.parametrize("word", sorted(MISSING_WORDS - {"na", "n/a", "nan", "null", "#n/a"})[::9])
def test_a_word_for_missing_is_no_class_and_no_number(tmp_path, word):
    for texts, task in (
        (["active", "inactive", word.upper()], "classification"),
        (["5.1", word, "6.2", "7"], "regression"),
    ):
        fields, notes = described(tmp_path, texts)
        assert (fields["task"], fields["missing"]) == (task, [word])
        assert re.search(rf"^taken as missing: '.*' \((12|9)\)({AS_CLASS})?$", notes, re.M)


@pytest.mark.parametrize("word", ["failed", "inconclusive", "Yes"])
@pytest.mark.parametrize("count", [1, 12])
def test_another_third_text_stops_with_its_line_and_the_option(tmp_path, word, count):
    texts = ["active", "inactive"] * 18
    texts[: 2 * count : 2] = [word] * count
    message = rf"found 3: .*{word!r}.* is on line \d+; if {word!r} means a missing value, use --ignore-value {word!r}"
    with pytest.raises(UserError, match=message):
        described(tmp_path, texts)
    fields, _ = described(tmp_path, texts, ignore_value=[word])
    assert (fields["positive"], fields["negative"], fields["missing"]) == ("active", "inactive", [word])
    fields, _ = described(tmp_path, texts, classes=["inactive", word, "active"])
    assert fields["classes"] == ["inactive", word, "active"]


AS_CLASS = "; if it is a class, name all with --classes"


@pytest.mark.parametrize("word", ["None", "NA", "null", "unknown"])
def test_a_word_for_missing_is_said_and_is_a_class_where_it_is_named(tmp_path, word):
    texts = [word, "Mild", "Severe"]
    fields, notes = described(tmp_path, texts)
    assert (fields["positive"], notes) == ("Severe", f"taken as missing: '{word}' (12){AS_CLASS}")
    for others in (["Mild", "Severe"] * 5, ["5.1", "6.2"]):  # where it is rare, or beside numbers
        assert AS_CLASS not in described(tmp_path, [word, *others])[1]
    assert set(labelled(dataset(csv(tmp_path, texts), classes=texts)).values()) == {0, 1, 2}
    with pytest.raises(UserError, match=f"only 'Toxic' besides '{word}', .* name class 1 with --positive"):
        described(tmp_path, [word, "Toxic"])
    for given in ({"positive": "Toxic"}, {"positive": word}, {"classes": [word, "Toxic"]}):
        assert len(labelled(dataset(tmp_path / "assay.csv", **given))) == 36


def test_a_number_that_means_a_missing_target_stays_a_number_in_features(tmp_path):
    rows = materials(pore=range(1, 31), rings=[0, 1, 2] * 10, y=["0", "5.1", "7", "n.d.", "6"] * 6).astype(object)
    rows.loc[7, "density"] = "n.d."
    rows.to_csv(tmp_path / "assay.csv", index=False)
    spec = dataset(tmp_path / "assay.csv", ignore_value=["0"])
    assert "0 stays a number in the features 'rings': empty fields are missing" in spec.notes
    assert (load_rows(spec).table["used"].sum(), spec.missing) == (18, ("0", "n.d."))
    spec = spec.model_copy(update={"ignore": ("metal", "stable")})  # words are no numbers anywhere
    x = load_rows(spec).x
    assert (x[:, 2] == 0).any()
    assert np.isnan(x).sum(axis=0).tolist() == [0, 1, 0]
    with pytest.raises(UserError, match="--ignore-value '1': no field holds it"):
        fields_of(tmp_path, rows, ignore_value=["1"])


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (["-1.2", "4.6", "2.5", "-999.0"], "-999"),
        (["-1.2", "4.6", "2.5", "-999.25"], "-999.25"),
        (["3.5", "9.9", "5", "99999"], "99999"),
        (["6.1", "7.3", "5", "-1"], "-1"),
        (["6.1", "7.3", "5", "-9.99"], "-9.99"),
        (["6.1", "7.3", "5", "0"], "0"),
        (["61", "730", "512.5", "100000"], "100000"),
        ([*(f"{i / 7:.3f}" for i in range(35)), "-999"], "-999"),
    ],
)
def test_a_number_far_from_all_others_is_pointed_at(tmp_path, texts, value):
    fields, notes = described(tmp_path, texts)
    assert fields["task"] == "regression"
    said = f"{value} stands in {36 // len(texts)} row"
    assert said in notes
    assert f"--ignore-value {value}" in notes
    assert described(tmp_path, texts, ignore_value=[value])[1] == ""
    assert len(load_rows(dataset(tmp_path / "assay.csv", ignore_value=[value])).used) == 36 - 36 // len(texts)
    for cut in (">= 5.5", ">= median"):
        assert said in described(tmp_path, texts, positive=cut)[1]
    assert described(tmp_path, ["1.5", "20000", "3"], positive=">= 2")[1] == ""


# Numbers


@pytest.mark.parametrize("molecules", [True, False])
def test_a_column_that_may_say_which_values_are_bounds_is_named_and_no_feature(tmp_path, molecules):
    rows = pd.DataFrame({"y": [min(i, 30) / 5 for i in range(36)], "x": range(36), "z": [i % 5 for i in range(36)]})
    rows["censored"] = (rows["y"] == 6).astype(int)
    rows.insert(0, "SMILES" if molecules else "name", SMILES if molecules else [f"m{i}" for i in range(36)])
    fields = fields_of(tmp_path, rows)
    assert "'censored' holds no relations, but '0' (30), '1' (6): all values are taken as exact" in fields["notes"]
    if not molecules:
        assert "no feature, as it may say which values are bounds: 'censored'" in fields["notes"]
        assert "censored" in fields["ignore"]


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
            described(tmp_path, texts, positive=positive)
        return
    assert described(tmp_path, texts, positive=positive)[0]["positive"] == cut
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
    if asked:
        with pytest.raises(UserError, match=r"column 'mass', line 3: in '1\.004', the point may be a decimal point"):
            describe_file(tmp_path / "t.csv", target="y")
    else:
        assert describe_file(tmp_path / "t.csv", target="y")["ignore"] == []
    assert describe_file(tmp_path / "t.csv", target="y", decimal=".")["ignore"] == []


def test_a_column_whose_commas_are_unclear_says_so_where_it_is_no_feature(tmp_path):
    rows = materials(mass=["200,000", "201,007", "7,125"] * 10)
    rows.to_csv(tmp_path / "t.csv", index=False, sep=";")
    fields = describe_file(tmp_path / "t.csv", target="stable")
    assert "'mass' ('200,000', the comma may be a decimal comma or stand between thousands: say" in fields["notes"]


@pytest.mark.parametrize("name", ["split", "cv_fold", "is_train", "test"])
def test_a_number_that_says_which_rows_are_for_training_is_no_feature(tmp_path, name):
    rows = materials(**{name: [0, 1, 1] * 10}, test_time=[1, 2, 3] * 10)
    fields = fields_of(tmp_path, rows, "stable")
    assert f"no feature, as it may say which rows are for training: '{name}'; if not" in fields["notes"]
    assert fields["ignore"] == ["metal", name]
    offered = offers(tmp_path / "assay.csv", fields)
    assert f"'{name}' holds 0 and 1: --split fold:{name} tests on the rows with 1, fold:{name}:0" in "".join(offered)
    for other, values in (("fold_change", [1, 2, 3]), ("scaffold", [0, 1, 1]), ("test_temperature", [25, 600, 25])):
        assert fields_of(tmp_path, materials(**{other: values * 10}), "stable")["ignore"] == ["metal"]


def test_a_row_that_sums_up_the_others_and_a_number_for_what_is_missing_are_named(tmp_path):
    rows = materials()
    rows.loc[[2, 7, 9], "density"] = -999
    assert "in the feature 'density', -999 stands in 3 rows, far" in fields_of(tmp_path, rows, "stable")["notes"]
    rows.loc[5, "material"] = "STD"
    assert fields_of(tmp_path, rows, "stable")["id"] == "material"
    rows.loc[29, "material"] = "Total: n=29"
    with pytest.raises(
        UserError, match="column 'material', line 31: 'Total: n=29' is by its name no row but a summary"
    ):
        fields_of(tmp_path, rows, "stable")


@pytest.mark.parametrize(
    ("name", "texts", "offer"),
    [
        ("day", ["3/4/2021", "5/6/2021", "7/8/2021"], "their order is not clear: write them as in"),
        ("year", ["2019", "2020", "2021"], "--split time:year tests on the latest fifth"),
        ("quarter", ["2021-Q1", "2021-Q3", "2020-Q2"], "--split time:quarter tests on the latest fifth"),
        ("other", ["-1,27", "-0,5", "2,13"], "--split group:other"),
        ("other", ["2021-03-01", "2021-04-01", "9999-12-31"], "--split group:other"),  # which stands for none
    ],
)
def test_dates_are_offered_to_split_by_unless_their_order_is_not_clear(tmp_path, name, texts, offer):
    fields, _ = described(tmp_path, ["0", "1"], {name: texts})
    (line,) = offers(tmp_path / "assay.csv", fields)
    assert offer in line


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
    rows.assign(y=["1.234,5", "0,5", "12,25"] * 10).to_csv(tmp_path / "t.csv", index=False)
    assert sorted({*load_rows(dataset(tmp_path / "t.csv")).x[:, 0]}) == [7, 1234, 56789]


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


@pytest.mark.parametrize("texts", [["1.2 ± 0.3", "3 ± 1", "4 ± 2"], ["1 234,5", "2 000", "7"], ["$5", "$7", "$9"]])
def test_texts_that_begin_with_a_number_are_no_classes_in_silence(tmp_path, texts):
    with pytest.raises(UserError, match=r"line \d: expected a number or a word, found .* or say --task classification"):
        described(tmp_path, texts)
    assert len(described(tmp_path, texts, task="classification")[0]["classes"]) == 3


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        *(("Endpoint", ["hERG", "logD"]), ("Parameter", ["IC50", "Emax"]), ("Measure", ["IC50 (nM)", "IC50 (uM)"])),
        *(("unit", ["nM", "uM"]), ("Standard Units", ["nanomolar", "micromolar"]), ("IC50 unit", ["nM", "uM"])),
        ("Standard Type", ["nM", "uM"]),
    ],
)
def test_endpoints_and_units_that_differ_between_rows_are_said(tmp_path, name, kinds):
    texts = ["18.2", "1.5", "131.8", "0.1"]
    for others in (["0", "1"], ["train", "test"], kinds[:1]):
        assert "differs" not in described(tmp_path, texts, {name: others})[1]
    fields, notes = described(tmp_path, texts, {name: kinds})
    assert f"'{name}' differs" in notes
    assert f'where = [["{name}", "{kinds[0]}"]]' in notes
    assert offers(tmp_path / "assay.csv", fields) == []


def test_dates_as_a_target_are_pointed_at_and_orders_of_magnitude_better_as_a_logarithm(tmp_path):
    dates = [f"20{year}0{month}28" for year in range(19, 25) for month in range(1, 7)]
    assert "'y' may hold dates, such as 20190128, which are predicted as numbers" in described(tmp_path, dates)[1]
    assert "dates" not in described(tmp_path, [*dates[1:], "20241345"])[1]
    texts = ["0.5", "120", "8000", "33"]
    assert "'y' spans 4.2 orders of magnitude: --log10" in described(tmp_path, texts)[1]
    spec = dataset(csv(tmp_path, texts), log10=True)
    assert "orders" not in spec.notes
    assert labelled(spec)[SMILES[1]] == pytest.approx(np.log10(120), rel=1e-6)
    zeros = described(tmp_path, ["0", *texts])[1]
    assert "spans 4.2 orders" in zeros
    assert "but 0, in 8 rows, has none: if it is a missing value, --ignore-value 0" in zeros
    for name in ("pIC50", "pKi", "logD", "potency", "pick"):
        fields = fields_of(tmp_path, table(["5", "6.5", "7"]).rename(columns={"y": name}), name, log10=True)
        doubted = "is by its name a logarithm already" in fields.get("notes", "")
        assert doubted == (name not in ("potency", "pick")), name


@pytest.mark.parametrize(
    ("texts", "given", "message"),
    [
        (["", "NA", "nan"], {}, r"assay\.csv: column 'y' is empty"),
        (["active"], {}, r"'y' holds only 'active'"),
        *(
            (texts, {}, "classes or numbers\\? Use --task classification or --task regression")
            for texts in (["0", "1", "2"], ["1", "2", "3"], ["0", "1", "2", "2.0"], ["0", "0.5", "1"])
        ),
        *(
            (["0", "1", "-1"], {"task": task}, r"-1 \(12 rows\).*--ignore-value -1; if it is a class, --classes=-1,0,1")
            for task in ("", "classification")
        ),
        (WHOLE, {"task": "classification"}, "found 36 different numbers: say where to cut .* --positive '>= median'"),
        (["1", "1.0"], {}, "'y' holds only '1'"),
        ([">1.5", "<3", ">4"], {}, r"'y': all 36 values are bounds \(< or >\): take them .* --bounds exact"),
        (["0", "1", "inf"], {}, r"'y', line 4: expected a number, found 'inf'"),
        (["0.5", "7", "3", "seven"], {}, r"line 5: expected a number, found 'seven'; .* --ignore-value 'seven'"),
        ([*(f"{i} nM" for i in range(12)), "dead"], {}, r"line 14: expected a number, found 'dead'; .* --ignore-value"),
        (["low", "middle", "high", "huge"], {}, r"two classes, found 4: 'low' .*; if '.*' means a missing value"),
        (["Yes", "No", "y", "n"], {}, "'Yes' and 'y' seem to be the same class: write each class in one way"),
        (["TRUE", "FALSE", "1", "0"], {}, "'0' and 'FALSE', '1' and 'TRUE' seem to be the same class: write each"),
        (["0", "1", "0", "1", "0", "active"], {}, "'1' and 'active' seem to be the same class: write each class"),
        (["7,5", "6.25", "3"], {}, r"'7,5' has a decimal comma, but '6\.25' on line 3 a point"),
        (["95%", "0.5", "77%"], {}, r"mixes units: .* \(24 rows\), .* \(12 rows\): convert all values to one unit"),
        (["12 nM", "3 µM", "9 nM"], {}, r"mixes units: .* \(24 rows\), .* \(12 rows\): convert all values to one unit"),
        *(
            (["1.5", "10", text], {}, rf"found {re.escape(repr(text))}; write a bound as in >10 and an approx.* ~10")
            for text in ("927+", "ca. 279", "＞504", "10-20", "5 ± 3")
        ),
        (["0", "1"], {"task": "regression", "classes": ["0", "1"]}, "--task regression has no classes"),
        (["0", "1"], {"classes": ["0", "1"], "positive": "0"}, "--classes and --positive both name class 1"),
        (["0", "1"], {"task": "clasification"}, "unknown task 'clasification': did you mean"),
        (["0", "1"], {"merge": "median"}, "unknown (--)?merge 'median': did you mean"),
        (["active", "inactive"], {"log10": True}, "--log10 needs a column of numbers"),
        (["0", "1"], {"sample": "many"}, "--sample 'many': expected a number of rows, or all"),
        (["0", "1"], {"sheet": "June"}, "it is no Excel workbook .*, and has no sheet 'June': leave out the sheet"),
        (["0", "1"], {"smiles": "SMILE"}, r"unknown column of assay\.csv 'SMILE': did you mean 'SMILES'"),
        (["0", "1"], {"id_column": "SMLIES"}, r"unknown column of assay\.csv 'SMLIES': did you mean 'SMILES'"),
    ],
)
def test_a_column_that_cannot_be_learned_and_an_option_that_cannot_be_are_an_error(tmp_path, texts, given, message):
    with pytest.raises(UserError, match=message):
        described(tmp_path, texts, **given)


def test_rows_without_molecules_may_be_named_by_whole_numbers_under_a_heading_that_says_so(tmp_path):
    rows = materials(y=["0", "1"] * 15).drop(columns="material")
    assert fields_of(tmp_path, rows.assign(sample_id=range(700, 730)))["id"] == "sample_id"
    with pytest.raises(
        UserError, match="none holds a unique name for each row: choose --smiles or --id among pore, de"
    ):
        fields_of(tmp_path, rows.assign(NO=np.arange(30) / 7))  # nitric oxide


def test_of_many_rows_a_random_sample_is_compared_and_a_line_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmark.data.describe.fields.MANY_ROWS", 30)
    monkeypatch.setattr("benchmark.data.describe.fields.SAMPLED", 20)
    whole = load_rows(dataset(csv(tmp_path, ["0", "1"]), sample="all"))
    assert len(whole.used) == 36
    spec = dataset(tmp_path / "assay.csv")
    assert "methods are compared on a random sample of 20 of 36 rows" in spec.notes
    rows = load_rows(spec)
    assert (len(rows.used), rows.table["not_sampled"].sum(), len(rows.x)) == (20, 16, 20)
    scaffolds = dict(zip(whole.used["smiles"], whole.used["scaffold"], strict=True))
    assert rows.used["scaffold"].tolist() == [scaffolds[smiles] for smiles in rows.used["smiles"]]
    assert examine(spec, 99).left_out == ()
    assert len(load_rows(dataset(tmp_path / "assay.csv", sample="12")).used) == 12


# Bounds


POTENCY = ["10000", "3200", "800", "45", "210", "97"]
PIC50 = [f"{9 - np.log10(float(text)):.3f}" for text in POTENCY]
FIRST = [">", *["="] * 5]
FALLS = [("Standard Relation", "Standard Value"), ("Qualifier", "IC50 (uM)"), ("IC50_relation", "IC50_nM")]
FALLING = [str(i) for i in range(36, 0, -1)]
RANDOM = np.random.default_rng(1).integers(1, 9999, 36).astype(str).tolist()
UP, FOUR = [str(20 + i) for i in range(36)], ["1.5", "> 10", "2.5", "7.25"]
TWO = {"IC50_rel": ["=", ">"], "IC50": ["1", "2", "3.5"]}
CUT, SIX = {"positive": ">= 5"}, "6 of 36 values are bounds (< or >), left out"


@pytest.mark.parametrize(
    ("columns", "texts", "given", "relation", "said"),
    [
        *(
            ({name: marks}, ["1.5", "10", "2.5", "7.25"], {}, name, f"{bounds} of 36 values are bounds (< or >), left")
            for name, marks, bounds in (
                *(("relation", ["=", ">", "=", "="], 9), ("Standard Relation", ["'='", "'>='", "'<='", "'='"], 18)),
                *(("qualifier", ["eq", "lt", "", "equal"], 9), ("Mod", ["=", "=>", "=<", "="], 18)),
            )
        ),
        *(({"rel": ["=", mark, "<", "="]}, FOUR, {}, "rel", "18 of 36 values are bounds") for mark in ("=", "", ">")),
        *(
            ({"relation": ["=", ">", "=", word]}, ["1.5", "10", "2.5", word], {}, "relation", "9 of 27 values are b")
            for word in ("n.d.", "-")
        ),
        *(
            ({"relation": [word, "B"]}, ["1.5", "10", "2.5"], {}, None, f"no relations, but {word!r} (18), 'B' (18)")
            for word in ("A", "approx", "?")
        ),
        (TWO | {"y_rel": ["<", "="]}, ["1", "2.5", "3"], {}, "y_rel", "18 of 36 values are bounds"),
        (TWO, ["0", "1", "2.5", "1.7", "0.3"], {}, None, "'IC50_rel' is by its name of 'IC50': all values are taken"),
        *(({name: FIRST, value: POTENCY}, PIC50, {}, name, SIX) for name, value in FALLS),
        *(({name: FIRST, value: POTENCY}, POTENCY, {"positive": ">= 100"}, name, SIX) for name, value in FALLS),
        *(({name: FIRST, value: POTENCY}, ["", *PIC50[1:]], CUT, name, "says which") for name, value in FALLS),
        ({"y relation": ["<", *["="] * 5], "IC50_nM": POTENCY}, PIC50, CUT, "y relation", SIX),
        *(
            ({name: FIRST, other: FALLING}, UP, {"positive": ">= 30"}, name, SIX)
            for name, other in (
                *(("activity_relation", "activity_id"), ("Standard Relation", "Standard Deviation")),
                ("relation", "rank"),
            )
        ),
        *(
            ({name: FIRST, other: values}, UP, {"positive": ">= 30"}, None, f"'{name}' is by its name of '{other}'")
            for name, other, values in (
                *(("IC50_rel", "IC50", of) for of in (["10000"], ["", "", "320"], ["3,5", "17,2", "8,25"])),
                *((name, "hERG IC50 (uM)", RANDOM) for name in ("hERG Qualifier", "hERG_relation")),
            )
        ),
        *(
            ({"qualifier": ["=", ">", "="], "value": ["1.5", "10", "2.5"]}, ["0", "1"], given, None, "")
            for given in ({}, {"task": "classification"}, {"positive": "0"})
        ),
    ],
)
def test_the_relations_of_a_target_are_found_by_name_and_content_and_are_no_feature(
    tmp_path, columns, texts, given, relation, said
):
    fields, notes = described(tmp_path, texts, columns, **given)
    assert (fields.get("relation"), fields.get("bounds")) == (relation, relation and "exclude")
    assert said in notes if said else notes == ""
    assert not any(name in line for line in offers(tmp_path / "assay.csv", fields) for name in [*columns][:1])


def test_bounds_are_left_out_or_taken_as_values_and_may_decide_a_class(tmp_path):
    file = csv(tmp_path, FOUR, rel=["=", "=", "<", "="])
    spec = dataset(file)
    assert load_rows(spec).table["bound"].sum() == 18
    assert {*labelled(spec).values()} == {1.5, 7.25}
    assert len(load_rows(dataset(file, bounds="exact")).used) == 36
    assert {*labelled(dataset(file, positive=">= 5")).values()} == {0, 1}
    assert load_rows(dataset(file, positive=">= 5")).table["bound"].sum() == 0


@pytest.mark.parametrize(
    ("columns", "texts", "given", "message"),
    [
        ({"rel": ["=", "<", "<", "="]}, FOUR, {}, "line 3: '> 10' is another bound than '<' in column 'rel': correct"),
        *(
            ({"relation": ["=", ">", word]}, ["1.5", "10", "2.5"], {}, rf"'relation', line 4: '{word}' is no relation")
            for word in ("A", "approx")
        ),
        *(
            ({name: FIRST, value: POTENCY}, PIC50, CUT, rf"may be of '{re.escape(value)}', which falls as 'y' rises")
            for name, value in FALLS
        ),
    ],
)
def test_relations_that_contradict_or_may_be_of_another_column_are_refused(tmp_path, columns, texts, given, message):
    with pytest.raises(UserError, match=message):
        described(tmp_path, texts, columns, **given)


# Molecules


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
    ],
)
def test_where_the_column_of_the_smiles_is_not_clear_one_must_be_chosen(tmp_path, columns, message, chosen):
    rows = pd.DataFrame({**columns, "y": ["0", "1"] * 18}, index=range(36))
    with pytest.raises(UserError, match=message):
        fields_of(tmp_path, rows)
    assert fields_of(tmp_path, rows, smiles=chosen)["smiles"] == chosen


@pytest.mark.parametrize(
    ("name", "texts", "message"),
    [
        ("rxn_smiles", [f"{s}.CCO>>{s}" for s in SMILES], "line 2: '.*>.*' is a reaction, .* not supported.*--smiles"),
        ("reaction", [f"{s}.CCO>O>{s}" for s in SMILES], "line 2: '.*>.*' is a reaction, .* not supported.*--smiles"),
        ("key", "InChI=1S/CH4/h1H4", "column 'key' holds InChI, .* not supported: add a column of SMILES"),
        ("key", "\n\n\n  0  0\nM  END\n", "column 'key' holds molfiles, .* not supported: add a column of SMILES"),
    ],
)
def test_reactions_and_other_notations_are_named_as_unsupported(tmp_path, name, texts, message):
    with pytest.raises(UserError, match=message):
        fields_of(tmp_path, pd.DataFrame({name: texts, "y": np.arange(36) / 7}))


def test_one_bad_molecule_does_not_stop_a_file_and_is_written_to_a_list(tmp_path):
    smiles = [*SMILES, "C" * 501, "C" * 6000, "C1CC", "CC>>CO"]
    rows = pd.DataFrame({"Compound ID": [f"X-{i}" for i in range(40)], "SMILES": smiles, "y": ["0", "1"] * 20})
    rows.to_csv(tmp_path / "assay.csv", index=False)
    spec = dataset(tmp_path / "assay.csv")
    left = pd.read_csv(tmp_path / "mine-left-out.csv")
    assert left["line"].tolist() == [38, 39, 40, 41]
    assert left["reason"].tolist() == ["too_large", "too_large", "unparsable", "unparsable"]
    assert left["name"].tolist() == ["X-36", "X-37", "X-38", "X-39"]
    assert "a reaction, which is not supported" in left["text"][3]
    assert len(load_rows(spec).used) == 36


def test_molecules_that_features_cannot_tell_apart_are_counted_with_features_that_can(tmp_path):
    tails = [a + b for a in ("C", "O", "N", "S", "CC") for b in ("c1ccccc1", "C1CCC1", "C#N", "CBr", "CCl")]
    enantiomers = [(f"F[C@{at}H](C{tail})C(N)=O", str(int(at == ""))) for tail in tails for at in ("", "@")]
    pd.DataFrame(enantiomers, columns=["SMILES", "y"]).to_csv(tmp_path / "assay.csv", index=False)
    health = examine(dataset(tmp_path / "assay.csv", split="random:0.5"), 99)
    assert (health.alike.molecules, health.alike.conflicting) == (50, 50)
    assert health.alike.telling["morgan_chiral:2048:2"] == 1
    assert health.alike.telling["morgan_counts:4096:2"] == 0
    text = to_text(health)
    assert "50 molecules cannot be told apart by these features (morgan:2048:2), 50 of them beside one" in text
    assert "--features morgan_chiral.2048.2 of run tells 100% of them apart" in text
    name = f"{tmp_path / 'mine.toml'}@features=morgan_chiral.2048.2"
    assert examine(load_spec(name), 99).alike.molecules == 0


def test_salts_are_counted_and_reduced_to_their_parents_where_asked(tmp_path):
    rows = [(s, str(i % 2)) for i, s in enumerate(SMILES)]
    rows += [("CC(=O)[O-].[Na+]", "1"), ("CC(O)=O", "0"), ("CCN.Cl", "1"), ("CCN", "1"), ("NCCCO.OC(=O)C(O)=O", "0")]
    pd.DataFrame(rows, columns=["SMILES", "y"]).to_csv(tmp_path / "assay.csv", index=False)
    health = examine(dataset(tmp_path / "assay.csv"), 99)
    assert (health.salts.rows, health.salts.conflicting, health.salts.lines) == (3, 1, (38,))
    assert "salts or mixtures of several parts: 3; 1 of them have another target" in to_text(health)
    spec = dataset(tmp_path / "assay.csv", desalt=True)
    used = load_rows(spec).used
    assert used["smiles"].tolist()[36:] == ["CC(=O)O", "CC(=O)O", "CCN", "CCN", "NCCCO"]
    assert [repeat.conflict for repeat in examine(spec, 99).repeats] == [True, False]
    merged = dataset(tmp_path / "assay.csv", desalt=True, merge="drop")
    assert len(load_rows(merged).used) == 38


# Files


ROWS = [["SMILES", "y"], *([s, i % 2] for i, s in enumerate(SMILES))]


def test_a_workbook_is_read_from_its_only_table_or_the_sheet_that_is_named(tmp_path):
    file = tmp_path / "book.xlsx"
    file.write_bytes(workbook(notes=[["Assay of May"]], data=[["Results"], [], *ROWS]))
    spec = dataset(file)
    assert "sheet 'data', whose header is in row 3" in spec.notes
    assert labelled(spec) == {smiles: i % 2 for i, smiles in enumerate(SMILES)}
    file.write_bytes(workbook(May=ROWS, June=ROWS[:30]))
    with pytest.raises(UserError, match="several sheets hold tables, May, June: choose one with --sheet"):
        describe_file(file, target="y")
    assert len(load_rows(dataset(file, sheet="June")).used) == 29
    with pytest.raises(UserError, match=r"unknown sheet of .* 'Jun': did you mean 'June'"):
        describe_file(file, target="y", sheet="Jun")


TABLE = "".join(f"{smiles},{i % 2}\n" for i, smiles in enumerate(SMILES))
NUMBERS = "".join(f"M-{i},{i / 7},{i % 2}\n" for i in range(30))


@pytest.mark.parametrize(
    ("content", "given", "message"),
    [
        ("id,SMILES,y\n", {}, r"assay\.csv: has a header and no rows: expected"),
        ("smiles y\nCCO 1\n", {}, r"unknown column of assay\.csv 'y': .*smiles y"),
        (f"Assay 7,\n,\nSMILES,y\n{TABLE}", {}, r"no column 'y', but it stands on line 3: if the names of the columns"),
        (f"SMILES,activity\n{TABLE}", {"target": "activty"}, r"unknown column of assay\.csv .*: did you mean 'activi"),
        (f",y\n{TABLE}", {}, "the column of SMILES has no name: write SMILES above it"),  # as R's write.csv names it
        (f",a,y\n{NUMBERS}", {}, "the column that names the rows has no name: write one above it, such as id"),
        (f"name,a,y\n{NUMBERS}", {"desalt": True}, "--desalt is for molecules, and no column holds SMILES"),
        ("SMILES,y,y\n" + TABLE.replace("\n", ",1\n"), {}, "several columns are called 'y': rename"),
        (TABLE, {"target": "0"}, "but 'Cc1ccccc1' seems to be a molecule: put a header above it"),
        *((TABLE.replace(",", mark), {}, "but 'Cc1ccccc1.*' seems .*: put a header above it") for mark in ("\t", " ")),
    ],
)
def test_a_table_whose_columns_are_not_understood_is_refused_with_what_to_do(tmp_path, content, given, message):
    (tmp_path / "assay.csv").write_text(content)
    with pytest.raises(UserError, match=message):
        describe_file(tmp_path / "assay.csv", **({"target": "y"} | given))


def test_a_field_that_a_record_of_an_sdf_has_twice_is_refused_as_the_target(tmp_path):
    records = [f"{MolToMolBlock(MolFromSmiles(s))}>  <y>\n{i}\n\n>  <n>\n1\n\n" for i, s in enumerate(SMILES)]
    records[7] += ">  <y>  (8)\n99\n\n"
    (tmp_path / "a.sdf").write_text("$$$$\n".join([*records, ""]))
    with pytest.raises(UserError, match=r"several columns are called 'y': .* in an SDF, they are fields of one record"):
        describe_file(tmp_path / "a.sdf", target="y")
    assert columns_of(tmp_path / "a.sdf") == ["SMILES", "y", "n"]


# Splits, names and other columns


def test_names_dates_splits_and_groups_are_noticed(tmp_path):
    columns = {
        "Compound ID": [f"X-{i}" for i in range(36)],
        "measured": [f"{1 + i // 3:02}-{'JAN' if i % 3 else 'feb'}-24" for i in range(36)],
        "series": ["A", "B", "C"],
        "Set": ["Train", "Train", "TEST", "valid"],
        "fold": ["0", "1", "2"],
        "remark": [f"text {i}" for i in range(36)],
        "dose": [str(i * 7 % 36) for i in range(36)],
        "patient_id": [str(i // 4) for i in range(36)],
    }
    fields, _ = described(tmp_path, ["0", "1"], columns)
    assert fields["id"] == "Compound ID"
    assert offers(tmp_path / "assay.csv", fields) == [
        "'measured' holds dates: --split time:measured tests on the latest fifth of the rows",
        "'series' has 3 different texts: --split group:series keeps each together; "
        "--one-hot series makes them features",
        "'Set' says which rows are for training and test: --split given:Set takes them as they are",
        "'fold' holds numbers of folds: --split fold:fold tests on the last, fold:fold:0 on fold 0",
        "'patient_id' has 9 different numbers: --split group:patient_id keeps each together",
    ]
    assert offers(tmp_path / "assay.csv", fields, ["measured", "series", "Set", "fold", "patient_id"]) == [], (
        "targets are no features"
    )
    for split, rows in (("given:Set", (18, 9)), ("fold:fold", (24, 12)), ("fold:fold:0", (24, 12))):
        problem = load_problem(str(dataset(tmp_path / "assay.csv", split=split).path))
        assert (len(problem.train), len(problem.evals["id"])) == rows
    days = dict(zip(columns["Compound ID"], columns["measured"], strict=True))
    problem = load_problem(str(dataset(tmp_path / "assay.csv", split="time:measured").path))
    assert {days[i][3:6] for i in problem.evals["id"].ids.tolist()} == {"feb"}


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("target", ["stable", "strength"])
def test_a_column_that_may_be_made_from_the_target_is_pointed_at(tmp_path, target, decimal):
    """A copy, the number that was cut in two, one that has a hundredth of the other's unit, and one that is rounded."""
    strength = np.random.default_rng(1).normal(size=30).round(3)
    stable = np.where(strength > 0, "yes", "no")
    rows = materials(
        stable=stable,
        y=strength,
        copy=(strength > 0).astype(int),
        rounded=strength.round(1),
        rare=((strength > 0) & (np.arange(30) < 12)).astype(int),
        verdict=np.where(strength > 0, "A", "B"),
    )
    rows = rows.assign(strength=strength).drop(columns="stable" if target == "strength" else "strength")
    rows.assign(y=-100 * rows["y"]).to_csv(tmp_path / "rows.csv", index=False, sep=";", decimal=decimal)
    fields = describe_file(tmp_path / "rows.csv", target=target)
    told = [line.split("'")[1] for line in fields["notes"].splitlines() if "tells the target" in line]
    assert told == (["y", "rounded"] if target == "strength" else ["y", "copy", "rounded"])
    (metal, verdict) = offers(tmp_path / "rows.csv", fields)
    assert "--one-hot metal" in metal
    assert ("--one-hot verdict" in verdict) == (target == "strength")


@pytest.mark.parametrize("positives", [1, 15])
def test_a_column_that_orders_few_rows_of_a_class_may_do_so_by_chance(tmp_path, positives):
    ranks = np.arange(30)
    stable = np.where(ranks < positives, "yes", "no")
    measured = np.where(ranks < 25, ranks / 7, np.nan)
    rows = materials(stable=stable, x=measured, of_one=np.where(stable == "no", ranks, np.nan))
    notes = fields_of(tmp_path, rows, target="stable")["notes"]
    assert ("'x' tells the target" in notes) == (positives == 15)
    assert "'of_one' tells" not in notes, "it is empty where the class is another"


@pytest.mark.parametrize("smiles", [True, False])
def test_texts_become_features_one_for_each_category(tmp_path, smiles):
    file = csv(tmp_path, ["0", "1"], series=["B", " A", "", "C"], dose=[str(i * 7 % 36) for i in range(36)])
    if not smiles:
        rows = pd.read_csv(file, keep_default_na=False).assign(SMILES=[f"m{i}" for i in range(36)])
        rows.rename(columns={"SMILES": "material"}).to_csv(file, index=False)
    spec = dataset(file, one_hot=["series"])
    assert spec.one_hot == (("series", "A", "B", "C"),)
    loaded = load_rows(spec)
    numbers = 2048 if smiles else 1
    assert loaded.x.shape == (36, numbers + 3)
    np.testing.assert_array_equal(loaded.x[:4, numbers:], [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1]])
    with pytest.raises(UserError, match=r"column 'dose': expected 2 to 100 different texts for --one-hot, found 1"):
        describe_file(csv(tmp_path, ["0", "1"], dose=["5"]), target="y", one_hot=["dose"])


def test_columns_that_are_no_features_for_a_text_are_named_with_it(tmp_path):
    pore = [f"{i / 7:.2f}" for i in range(30)]
    columns = {"depth": ["<0.1" if i == 7 else text for i, text in enumerate(pore)], "share": [f"{i}%" for i in pore]}
    rows = materials(**columns, flag=[True, False] * 15, remark="", n=range(30))
    rows.to_csv(tmp_path / "materials.csv", index=False)
    spec = dataset(tmp_path / "materials.csv", target="stable")
    assert spec.ignore == ("metal", "depth", "share", "flag", "remark", "n")
    assert "row numbers are no feature: 'n'" in spec.notes
    assert (
        "not features, because a text is no number: 'metal' (line 2: 'Zn'), 'depth' (line 9: '<0.1'), "
        "'share' (line 2: '0.00%'), 'flag' (line 2: 'True'), 'remark' (empty);"
    ) in spec.notes
