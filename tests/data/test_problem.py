"""Loading of problems by name."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.data.problem import labels, load_problem, plain
from benchmark.data.rows import example_ids, load_rows
from benchmark.data.spec import load_spec
from benchmark.errors import UserError

CLASSES = load_spec("b3db")
MEDIAN = load_spec("b3db_measured")
LOGS = MEDIAN.model_copy(update={"positive": ">= 1000", "log10": True})
NUMBERS = load_spec("b3db_logbb")
ZERO_ONE = load_spec("bace")


def test_measured_b3db_has_1058_rows_split_677_169_212_at_seed_99():
    problem = load_problem("b3db_measured", canonical_seed=99)
    assert len(load_rows(MEDIAN).used) == 1058
    assert [len(problem.train), *map(len, problem.evals.values())] == [677, 169, 212]
    assert list(problem.evals) == ["id", "ood"]
    assert problem.train.x.shape == (677, 2048)
    assert problem.n_outputs == 2
    assert len({*problem.train.ids, *(i for test in problem.evals.values() for i in test.ids)}) == 1058


@given(st.data())
def test_ids_of_distinct_molecules_do_not_depend_on_the_order_of_rows(data):
    smiles = data.draw(st.lists(st.text("CNO()=1", min_size=1), unique=True))
    order = data.draw(st.permutations(range(len(smiles))))
    ids = example_ids(smiles, hashed=True)
    moved = example_ids([smiles[i] for i in order], hashed=True)
    assert [ids[i] for i in order] == list(moved)


@given(st.lists(st.sampled_from(["C", "CC", "C-2", "C-2-2", "C-3"])), st.booleans())
def test_ids_are_unique_even_where_a_molecule_or_a_name_repeats(texts, hashed):
    assert len(set(example_ids(texts, hashed=hashed))) == len(texts)


def rows(*texts: str) -> pd.DataFrame:
    return pd.DataFrame({"target": pd.Series(texts), "line": range(2, len(texts) + 2)})


@pytest.mark.parametrize(
    ("zero", "one"), [("1000002", "1000001"), ("0.12345671", "0.12345672"), ("9007199254740992", "9007199254740993.0")]
)
def test_classes_may_be_numbers_that_differ_in_a_late_digit(zero, one):
    spec = CLASSES.model_copy(update={"positive": one})
    assert labels(spec, rows(zero, one, zero)).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("texts", "spelled"),
    [
        (["1", "1.0", "01", "+1", "1e0"], "1"),
        (["0", "-0", "0.000"], "0"),
        (["1e6", "1000000.0"], "1000000"),
        (["1e-7", "0.0000001"], "0.0000001"),
        (["1e300", "10e299"], "1E+300"),
    ],
)
def test_equal_numbers_have_one_spelling(texts, spelled):
    assert set(plain(pd.Series(texts))) == {spelled}


def test_texts_that_are_not_all_finite_numbers_stay_as_they_are():
    for texts in (["1.0", "one"], ["1.0", "inf"], ["1.0", "1e400"], ["1.0", "1e-9999999999999999999"]):
        assert plain(pd.Series(texts)).tolist()[1] == texts[1]


@pytest.mark.parametrize("texts", [("0.0", "1.0", "1"), ("false", "True", "TRUE")])
def test_zeros_and_ones_or_false_and_true_are_classes_as_they_are(texts):
    assert labels(ZERO_ONE, rows(*texts)).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("spec", "texts", "message"),
    [
        pytest.param(ZERO_ONE, ["0", "1", "2"], "line 4: expected 0 or 1.*found '2'", id="a third class"),
        pytest.param(ZERO_ONE, ["1", "1"], "one class", id="nothing to tell apart"),
        pytest.param(CLASSES, ["BBB+", "BBB-", "BBB"], "found 3", id="a third text"),
        pytest.param(CLASSES, ["BBB+", "BBB+"], "found 1", id="one class"),
        pytest.param(CLASSES, ["yes", "no"], r"'BBB\+'", id="no row is positive"),
        pytest.param(MEDIAN, ["low", "high"], "line 2: expected a number, found 'low'", id="the median of texts"),
        pytest.param(MEDIAN, ["1.5", "1.5"], "one class", id="the median of one value"),
        pytest.param(LOGS, ["1.5", "9"], r"'< 1000' \(of the logarithm, the cut is 10\^1000 in", id="a cut of logs"),
        pytest.param(NUMBERS, ["0.1", "> 0.1"], "line 3: expected a number, found '> 0.1'", id="text for a target"),
        pytest.param(NUMBERS, ["0.1", "inf"], "found 'inf'", id="an infinite target"),
        pytest.param(NUMBERS, ["0.1", "-1e19"], r"line 3: .* from -1e\+18 to 1e\+18.* found '-1e19'", id="too large"),
        pytest.param(NUMBERS, ["1e-60", "2e-60"], "all 2 rows are 0 in single precision", id="too small"),
    ],
)
def test_unusable_labels_are_an_error_that_names_dataset_column_line_and_value(spec, texts, message):
    with pytest.raises(UserError, match=message) as caught:
        labels(spec, rows(*texts))
    assert str(caught.value).startswith(f"{spec.name}: column {spec.target!r}")


def test_rows_without_target_or_molecule_are_left_out_and_ids_stay(tmp_path, monkeypatch):
    content = b"mol,Class\r\nCCO,1\r\n,1\r\nnot a molecule,0\r\nCCN,\r\n CCC ,0\r\n"
    (tmp_path / "molnet").mkdir()
    (tmp_path / "molnet" / "bace.csv").write_bytes(content)
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path))
    spec = ZERO_ONE.model_copy(update={"sha256": hashlib.sha256(content).hexdigest()})
    loaded = load_rows(spec)
    assert loaded.used["smiles"].tolist() == ["CCO", "CCC"]
    assert labels(spec, loaded.used).tolist() == [1, 0]
    assert loaded.used["id"].tolist() == example_ids(["CCO", "CCC"], hashed=True).tolist()
    reasons = loaded.table.set_index("line")[["no_smiles", "unparsable", "no_target"]]
    assert reasons.loc[[3, 4, 5]].to_numpy().tolist() == np.eye(3, dtype=bool).tolist()
