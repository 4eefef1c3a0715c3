"""A target is read as it is meant: numbers, classes and missing values; another text stops with its line."""

import re

import numpy as np
import pytest

from benchmark.data.checks.missing import MISSING_WORDS
from benchmark.data.rows import load_rows
from benchmark.errors import UserError
from tests.data.conftest import SMILES, csv, dataset, fields_of, labelled, materials, saved

CLASSES = [
    *(("0", "1", None), ("0.0", "1.0", None), ("false", "true", "true"), ("inactive", "active", "active")),
    *(("BBB-", "BBB+", "BBB+"), ("-", "+", "+"), ("-ve", "+ve", "+ve")),
    *(("non-toxic", "toxic", "toxic"), ("nein", "ja", "ja")),
    *(("blue", "red", "red"), ("negative", "mutagenic", "mutagenic"), ("no effect", "blocks", "blocks")),
    *(("nicht mutagen", "mutagen", "mutagen"), ("kein Effekt", "Effekt", "Effekt")),
    ("Inactive (IC50>10uM)", "Active (IC50<=10uM)", "Active (IC50<=10uM)"),
    *(("low permeability", "high permeability", "high permeability"), ("2", "1", "1"), ("-1.0", "1.0", "1")),
]
"""Classes 0 and 1, and what the TOML calls the latter."""
WHOLE, SPREAD = [str(i) for i in range(36)], [f"{i / 7:.3f}" for i in range(36)]
UPPER = [int(i >= 18) for i in range(36)]
UNIT = {"task": "regression", "missing": ("n. d.",)}
LOGS = [">720.5", ">1000", ">=2000", "<900", "<1200", "<1000", "<=1000", "20", "5000", "1000", "20", "5000"]
DECIDED = [None, 1, 1, 0, None, 0, None, 0, 1, 1, 0, 1]
AS_CLASS = "; if it is a class, name all with --classes"


@pytest.mark.parametrize(
    ("texts", "given", "labels", "about"),
    [
        *(([zero, one], {}, [0, 1], {"task": "classification", "positive": name}) for zero, one, name in CLASSES),
        (
            ["inactive", "Active", " INACTIVE", "ACTIVE ", "Inactive", "active"],
            *({}, [0, 1], {"notes": "6 spellings of 2 classes, but for capitals and blanks"}),
        ),
        (
            ["gelöst", "gelo\u0308st", "fest\u200b", "\ufefffest"],
            *({}, [1, 1, 0, 0], {"notes": "4 spellings of 2 classes"}),
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
        *((["7,5", "6", "3", "-9,0"], {"ignore_value": [of]}, [7.5, 6, 3, None], {}) for of in ("-9", "-9,0")),
        (["7 %", "6 %", "3 %", "999 %"], {"ignore_value": ["999"]}, [7, 6, 3, None], {"missing": ("999",)}),
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
        *(
            ([">10", "<= 10"], given, [1, 0], {"positive": ">10"})
            for given in ({"positive": ">10"}, {"classes": ["<= 10", ">10"]})
        ),
        (["1.5", "≧10", "2.5", "⩽0.5", "≫2"], {}, [1.5, None, 2.5, None, None], {"bounds": "exclude"}),
        (["2.5 \u00b5M", "3 \u03bcM", "7 uM"], {}, [2.5, 3, 7], {"task": "regression"}),
        (["25 °C", "60 °C", "reflux"], {"classes": ["25 °C", "60 °C", "reflux"]}, [0, 1, 2], {}),
        (["1M", "2M", "3T"], {"classes": ["1M", "2M", "3T"]}, [0, 1, 2], {}),
        (["4 h", "4 h", "4 h", "overnight"], {}, [0, 0, 0, 1], {}),
        *(
            ([f"{mark}30", "20", "7.5", "3"], {}, [30, 20, 7.5, 3], {"notes": "9 of 36 values are approximate (~)"})
            for mark in ("~", "≈ ")
        ),
        (["=30", "20", "7.5", "3"], {}, [30, 20, 7.5, 3], {}),
        (["1.5", "＞10", "2.5", "＜ 0.5"], {}, [1.5, None, 2.5, None], {"bounds": "exclude"}),
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


@pytest.mark.parametrize("word", sorted(MISSING_WORDS - {"na", "n/a", "nan", "null", "#n/a"})[::9])
def test_a_word_for_missing_is_no_class_and_no_number(tmp_path, word):
    for texts, task in (
        (["active", "inactive", word.upper()], "classification"),
        (["5.1", word, "6.2", "7"], "regression"),
    ):
        fields = fields_of(tmp_path, texts)
        assert (fields["task"], fields["missing"]) == (task, [word])
        assert re.search(rf"^taken as missing: '.*' \((12|9)\)({AS_CLASS})?$", fields["notes"], re.M)


@pytest.mark.parametrize("word", ["None", "NA", "null", "unknown"])
def test_a_word_for_missing_is_said_and_is_a_class_where_it_is_named(tmp_path, word):
    texts = [word, "Mild", "Severe"]
    fields = fields_of(tmp_path, texts)
    alphabet = "class 1 is 'Severe' by the alphabet alone: else --positive Mild"
    assert fields["positive"] == "Severe"
    assert fields["notes"] == f"taken as missing: '{word}' (12){AS_CLASS}\n{alphabet}"
    assert AS_CLASS in fields_of(tmp_path, texts, positive="Mild")["notes"]
    for others in (["Mild", "Severe"] * 5, ["5.1", "6.2"]):  # where it is rare, or beside numbers
        assert AS_CLASS not in fields_of(tmp_path, [word, *others])["notes"]
    assert set(labelled(dataset(csv(tmp_path, texts), classes=texts)).values()) == {0, 1, 2}
    with pytest.raises(UserError, match=f"only 'Toxic' besides '{word}', .* name class 1 with --positive Toxic"):
        fields_of(tmp_path, [word, "Toxic"])
    for given in ({"positive": "Toxic"}, {"positive": word}, {"classes": [word, "Toxic"]}):
        assert len(labelled(dataset(tmp_path / "assay.csv", **given))) == 36


def test_a_number_that_means_a_missing_target_stays_a_number_in_features(tmp_path):
    rows = materials(pore=range(1, 31), rings=[0, 1, 2] * 10, y=["0", "5.1", "7", "n.d.", "6"] * 6).astype(object)
    rows.loc[7, "density"] = "n.d."
    spec = dataset(saved(rows, tmp_path / "assay.csv"), ignore_value=["0"])
    assert "0 stays a number in the features 'rings': empty fields are missing" in spec.notes
    assert (load_rows(spec).table["used"].sum(), spec.missing) == (18, ("0", "n.d."))
    spec = spec.model_copy(update={"ignore": ("metal", "stable")})  # words are no numbers anywhere
    x = load_rows(spec).x
    assert (x[:, 2] == 0).any()
    assert np.isnan(x).sum(axis=0).tolist() == [0, 1, 0]
    with pytest.raises(UserError, match="--ignore-value '1,9': no field holds it: give each of several texts an --ig"):
        fields_of(tmp_path, rows, ignore_value=["1,9"])
    with pytest.raises(UserError, match=r"--ignore-value '1': no field holds it$"):
        fields_of(tmp_path, rows, ignore_value=["1"])


@pytest.mark.parametrize(
    ("texts", "given", "message"),
    [
        (["", "NA", "nan"], {}, r"assay\.csv: column 'y' is empty"),
        ([">4", "<3", ">=3.5"], {}, r"'y': all 36 values are bounds .* --bounds exact, .* --positive '>= 3\.5'"),
        (["<=10", ">10"], {}, r"'y': all 36 values are bounds .* --bounds exact, .* --positive '>10'$"),
        (["0", "1", "inf"], {}, r"'y', line 4: expected a number, found 'inf'"),
        (["0.5", "7", "3", "seven"], {}, r"line 5: expected a number, found 'seven'; .* --ignore-value seven"),
        ([*(f"{i} nM" for i in range(12)), "dead"], {}, r"line 14: expected a number, found 'dead'; .* --ignore-value"),
        (["7,5", "6.25", "3"], {}, r"'7,5' has a decimal comma, but '6\.25' on line 3 a point"),
        (["95%", "0.5", "77%"], {}, r"mixes units: .* \(24 rows\), .* \(12 rows\): convert all values to one unit"),
        (["12 nM", "3 µM", "9 nM"], {}, r"mixes units: .* \(24 rows\), .* \(12 rows\): convert all values to one unit"),
        ([*SPREAD[:12], *["low"] * 24], {}, r"line 14: expected a number, found 'low'; .* --ignore-value low$"),
        *(
            (["1.5", "10", text], {}, rf"found {re.escape(repr(text))}; write a bound as in >10 and an approx.* ~10")
            for text in ("927+", "ca. 279", "10-20", "5 ± 3")
        ),
    ],
)
def test_a_target_with_texts_that_are_no_numbers_is_refused(tmp_path, texts, given, message):
    with pytest.raises(UserError, match=message):
        fields_of(tmp_path, texts, **given)
