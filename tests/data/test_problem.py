"""From a name to a problem."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.data.problem import example_ids, labels, load_dataset, load_problem
from benchmark.data.spec import Recipe, load_spec
from benchmark.errors import UserError

CLASSES = load_spec("b3db")
MEDIAN = load_spec("b3db_measured")
NUMBERS = load_spec("b3db_logbb")
ZERO_ONE = load_spec("bace")


def test_measured_b3db_has_1058_rows_split_677_169_212_at_seed_99():
    problem = load_problem("b3db_measured", canonical_seed=99)
    assert len(load_dataset(MEDIAN)[0]) == 1058
    assert [len(problem.train), *map(len, problem.evals.values())] == [677, 169, 212]
    assert list(problem.evals) == ["id", "ood"]
    assert problem.train.x.shape == (677, 2048)
    assert problem.n_outputs == 2


@pytest.mark.slow
def test_b3db_keeps_the_7805_rows_that_rdkit_accepts():
    examples, molecules = load_dataset(CLASSES)
    assert len(examples) == len(molecules) == 7805
    assert examples.y.mean() == pytest.approx(0.63, abs=0.01)


def test_a_regression_has_the_column_itself_as_target_and_one_output():
    problem = load_problem("b3db_logbb")
    assert problem.n_outputs == 1
    assert problem.train.y.dtype == np.float32
    assert len(np.unique(problem.train.y)) > 100


def test_no_example_is_in_two_parts_of_a_problem():
    problem = load_problem("b3db_measured")
    ids = np.concatenate([problem.train.ids, *(test.ids for test in problem.evals.values())])
    assert len(set(ids)) == 1058


def test_the_fingerprint_changes_with_the_split_and_the_recipe_and_nothing_else():
    problem = load_problem("b3db_measured")
    longer = replace(problem, spec=MEDIAN.model_copy(update={"recipe": Recipe(epochs=31)}))
    prints = {problem.fingerprint, longer.fingerprint, load_problem("b3db_measured", 7).fingerprint}
    assert len(prints) == 3
    load_dataset.cache_clear()
    assert load_problem("b3db_measured").fingerprint == problem.fingerprint


def test_a_method_is_given_no_test_examples():
    problem = load_problem("b3db_measured")
    assert problem.evals
    assert not problem.without_tests().evals


@given(st.data())
def test_ids_of_distinct_molecules_do_not_depend_on_the_order_of_rows(data):
    smiles = data.draw(st.lists(st.text("CNO()=1", min_size=1), unique=True))
    order = data.draw(st.permutations(range(len(smiles))))
    ids = example_ids(pd.Series(smiles, dtype=object))
    moved = example_ids(pd.Series([smiles[i] for i in order], dtype=object))
    assert [ids[i] for i in order] == list(moved)


@given(st.lists(st.sampled_from(["C", "CC", "CO"])))
def test_ids_are_unique_even_where_a_molecule_repeats(smiles):
    assert len(set(example_ids(pd.Series(smiles, dtype=object)))) == len(smiles)


def test_class_one_is_the_positive_text():
    assert labels(CLASSES, pd.Series(["BBB-", "BBB+", "BBB+"])).tolist() == [0, 1, 1]


def test_class_one_is_the_upper_half_from_the_median_on():
    assert labels(MEDIAN, pd.Series([0.3, -1.0, 0.2, 0.1, 2.0])).tolist() == [1, 0, 1, 0, 1]


def test_class_one_may_be_a_number_by_its_text():
    assert labels(CLASSES.model_copy(update={"positive": "1"}), pd.Series([2, 1, 1])).tolist() == [0, 1, 1]


def test_zeros_and_ones_are_classes_as_they_are():
    assert labels(ZERO_ONE, pd.Series([0.0, 1.0, 1.0])).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("spec", "values", "found"),
    [
        pytest.param(ZERO_ONE, [0, 1, 2], "2", id="a third class"),
        pytest.param(ZERO_ONE, ["0", "active"], "'0'", id="text for 0 and 1"),
        pytest.param(CLASSES, ["BBB+", "BBB-", "BBB"], "3", id="a third text"),
        pytest.param(CLASSES, ["BBB+", "BBB+"], "1", id="one class"),
        pytest.param(CLASSES, ["yes", "no"], "BBB+", id="no row is positive"),
        pytest.param(MEDIAN, ["low", "high"], "low", id="the median of texts"),
        pytest.param(NUMBERS, ["0.1", "> 0.1"], "> 0.1", id="text for a target"),
        pytest.param(NUMBERS, [0.1, float("inf")], "inf", id="an infinite target"),
    ],
)
def test_unusable_labels_are_an_error_that_names_dataset_column_and_value(spec, values, found):
    with pytest.raises(UserError) as caught:
        labels(spec, pd.Series(values))
    assert str(caught.value).startswith(f"{spec.name}: column {spec.target!r}")
    assert found in str(caught.value)


def test_rows_without_target_or_molecule_are_left_out_and_ids_stay(tmp_path, monkeypatch):
    content = b"mol,Class\nCCO,1\n,1\nnot a molecule,0\nCCN,\n CCC ,0\n"
    (tmp_path / "molnet").mkdir()
    (tmp_path / "molnet" / "bace.csv").write_bytes(content)
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path))
    spec = ZERO_ONE.model_copy(update={"sha256": hashlib.sha256(content).hexdigest()})
    examples, molecules = load_dataset(spec)
    assert examples.smiles.tolist() == ["CCO", "CCC"]
    assert examples.y.tolist() == [1, 0]
    assert [molecule.GetNumAtoms() for molecule in molecules] == [3, 3]
    assert examples.ids.tolist() == example_ids(pd.Series(["CCO", "CCC"])).tolist()
