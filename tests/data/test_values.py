"""Rows are selected, logarithms taken and repeated molecules merged by the rules that a dataset states."""

import math
from pathlib import Path

import numpy as np
import pytest

from benchmark.data.checks.health import examine
from benchmark.data.problem import labels
from benchmark.data.rows import Rows, load_rows
from benchmark.data.spec import DatasetSpec, load_spec
from benchmark.errors import UserError

from .conftest import described

TABLE = "smiles,value,relation\nCCO,10,=\nOCC,1000,=\nCCN,100,=\nc1ccccc1,5,>\nCCC,-4,=\nCCCC,100000,=\n"


def spec_of(folder: Path, text: str = TABLE, **fields: object) -> DatasetSpec:
    """Return the spec of a table of SMILES and numbers."""
    return load_spec(described(folder, text, **({"task": "regression", "target": "value"} | fields)))


def used(rows: Rows) -> dict[str, float]:
    return {row["canonical"]: float(row["target"]) for row in rows.used.to_dict("records")}


def test_rows_that_fail_a_condition_are_left_out_and_reported(tmp_path):
    spec = spec_of(tmp_path, where=(("relation", "", "="),))
    assert "c1ccccc1" not in used(load_rows(spec))
    assert [(left.line, left.reason) for left in examine(spec, 99).left_out] == [(5, "not_selected")]


def test_targets_outside_the_limits_are_left_out_before_the_logarithm(tmp_path):
    found = used(load_rows(spec_of(tmp_path, limits=(1.0, 1000.0), log10=True)))
    assert found == {"CCN": 2.0, "c1ccccc1": pytest.approx(math.log10(5)), "CCO": 3.0}  # 10 comes before
    assert np.isfinite(list(found.values())).all()


def test_a_logarithm_of_a_negative_number_is_an_error_with_its_line(tmp_path):
    with pytest.raises(UserError, match=r"column 'value', line 6: expected a number above 0.*found '-4'"):
        load_rows(spec_of(tmp_path, log10=True))


def test_repeated_molecules_have_the_mean_of_their_logarithms(tmp_path):
    rows = load_rows(spec_of(tmp_path, limits=(1.0, 1e9), log10=True, merge="mean"))
    assert used(rows)["CCO"] == 2.0  # of 10 and 1000, written in two ways
    assert len(rows.used) == 4
    assert rows.table.loc[rows.table["merged"], "line"].tolist() == [3]


LABELS = "smiles,value\nCCO,1\nOCC,1\nC(C)O,0\nCCN,1\nNCC,0\nCCC,0\nCCC,0\nCC,1\n"


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ("majority", {"CCO": 1, "CCC": 0, "CC": 1}),
        ("drop", {"CCC": 0, "CC": 1}),
        ("", {"CCO": 0, "CCN": 0, "CCC": 0, "CC": 1}),
    ],
)
def test_labels_of_a_molecule_are_merged_by_the_majority_or_dropped_in_conflict(tmp_path, rule, left):
    rows = load_rows(spec_of(tmp_path, LABELS, task="classification", merge=rule))
    assert used(rows) == left
    assert len(rows.used) == (8 if not rule else len(left))


@pytest.mark.parametrize("rule", ["majority", "drop"])
@pytest.mark.parametrize(
    ("texts", "fields"),
    [
        (["Active", " active", "no", "No"], {"positive": "active", "negative": "no"}),
        (["1", "1.0", "0", "-0.0"], {}),
        (["2", "2.0", "1", "01"], {"classes": ("0", "1", "2")}),
        (["5.1", "5.10", "7", "7e0"], {"task": "regression"}),
        (["5.10", "5.15", "4", "-9"], {"positive": ">= 5"}),
        (["1000", "2000", "90", "10"], {"positive": ">= 2", "log10": True}),
    ],
)
def test_replicates_that_mean_the_same_do_not_conflict_however_they_are_written(tmp_path, texts, fields, rule):
    table = "\n".join(["smiles,value", *map("{},{}".format, ("CCO", "OCC", "CCN", "NCC"), texts)])
    rows = load_rows(spec_of(tmp_path, table, **({"task": "classification", "merge": rule} | fields)))
    assert rows.used["line"].tolist() == [2, 4]


def test_a_table_of_conflicting_replicates_alone_says_so(tmp_path):
    text = "smiles,value\nCCO,1\nOCC,0\nCCN,0\nNCC,1\n"
    for rule in ("majority", "drop"):
        with pytest.raises(UserError, match="mine: no row can be used: merged into"):
            load_rows(spec_of(tmp_path, text, task="classification", merge=rule))


def test_a_number_is_cut_into_classes_after_it_is_merged(tmp_path):
    text = "smiles,value\nCCO,4\nOCC,7\nCCN,5\nCCC,4.9\n"
    spec = spec_of(tmp_path, text, task="classification", positive=">= 5", merge="mean")
    rows = load_rows(spec)
    assert rows.used["canonical"].tolist() == ["CCO", "CCN", "CCC"]
    assert labels(spec, rows.used).tolist() == [1, 1, 0]


def test_formulas_of_one_composition_are_merged_however_they_are_spelled(tmp_path):
    pytest.importorskip("pymatgen.core")
    text = "formula,value\nAl2O3,1\nAl4O6,3\nAlO,7\nO3Al2,8\n"
    about = {"smiles": "", "id": "formula", "features": ("composition",), "merge": "mean"}
    rows = load_rows(spec_of(tmp_path, text, **about))
    assert dict(zip(rows.used["id"], rows.used["target"].astype(float), strict=True)) == {"Al2O3": 4, "AlO": 7}
