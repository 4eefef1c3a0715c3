"""Bounds are found by their relations, left out or taken as values, and no column of them is a feature."""

import re

import numpy as np
import pandas as pd
import pytest

from benchmark.data.describe.offers import offers
from benchmark.data.rows import load_rows
from benchmark.errors import UserError
from tests.data.conftest import SMILES, csv, dataset, fields_of, labelled, table

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
        ({"x": ["", "≧", ""]}, ["1.5", "10", "2.5"], {}, "x", "12 of 36 values are bounds"),
        ({"sign": ["", "＞", ""]}, ["1.5", "10", "2.5"], {}, "sign", "12 of 36 values are bounds"),
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
    fields = fields_of(tmp_path, table(texts, **columns), **given)
    assert (fields.get("relation"), fields.get("bounds")) == (relation, relation and "exclude")
    assert said in fields["notes"] if said else fields["notes"] == ""
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
        ({"": ["=", ">"]}, FOUR, {}, r"assay\.csv: the column of relations has no name: write 'y relation' above it"),
        ({"flag": ["OK", ">", "OK"]}, ["1.5", "10", "2.5"], {}, "'flag', line 2: 'OK' is no relation: write = or noth"),
        *(
            ({name: FIRST, value: POTENCY}, PIC50, CUT, rf"may be of '{re.escape(value)}', which fall as 'y' rises")
            for name, value in FALLS
        ),
        *(
            (columns, PIC50, CUT | {"target": "hERG pIC50"}, f"may be of {of}, which fall as 'hERG pIC50' rises")
            for columns, of in (
                *(
                    ({name: FIRST}, "concentrations")
                    for name in ("Standard Relation", "hERG qualifier", "IC50 relation")
                ),
                ({"hERG Qualifier": FIRST, "hERG IC50 (nM)": POTENCY}, r"'hERG IC50 \(nM\)'"),
            )
        ),
    ],
)
def test_relations_that_contradict_or_may_be_of_another_column_are_refused(tmp_path, columns, texts, given, message):
    with pytest.raises(UserError, match=message):
        fields_of(tmp_path, table(texts, **columns).rename(columns={"y": given.get("target", "y")}), **given)


@pytest.mark.parametrize("molecules", [True, False])
@pytest.mark.parametrize(("name", "code"), [("censored", 1), ("censored", -1), ("zensiert", 1), ("\u5173\u7cfb", 1)])
def test_a_column_that_may_say_which_values_are_bounds_is_named_and_no_feature(tmp_path, molecules, name, code):
    rows = pd.DataFrame({"y": [min(i, 30) / 5 for i in range(36)], "x": range(36), "z": [i % 5 for i in range(36)]})
    rows[name] = (rows["y"] == 6).astype(int)
    rows.loc[0, name] = code
    rows["correlation"] = [0.1, 0.2] * 18
    rows.insert(0, "SMILES" if molecules else "name", SMILES if molecules else [f"m{i}" for i in range(36)])
    fields = fields_of(tmp_path, rows)
    assert f"{name!r} holds no relations, but '0' (29), '1' (" in fields["notes"]
    assert "correlation" not in fields["notes"]
    if not molecules:
        assert f"no feature, as it may say which values are bounds: {name!r}" in fields["notes"]
        assert name in fields["ignore"]
