"""LightGBM, XGBoost and CatBoost, as learners and by import path, against direct calls of the libraries."""

import pickle
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark import pipeline
from benchmark.errors import UserError
from benchmark.learners import find
from benchmark.learners.sklearn import wrap
from benchmark.registry import make_method, spelled
from benchmark.run.check import synthetic
from benchmark.train import sample_for
from benchmark.types import TASKS, Problem, Sample, Task
from tests.plain import outputs, state

LIBRARIES = ["lightgbm", "xgboost", "catboost"]
SMALL = ["lightgbm:trees=20", "xgboost:trees=20", "catboost:trees=20"]
KINDS = {"lightgbm": "LGBM", "xgboost": "XGB", "catboost": "CatBoost"}
TREES = {"lightgbm": "n_estimators", "xgboost": "n_estimators", "catboost": "iterations"}


def path_of(text: str, task: Task) -> str:
    """``lightgbm:trees=20`` as the import path of the library's estimator, with its name for the number of trees."""
    name, _, setting = text.partition(":")
    kind = KINDS[name] + ("Classifier" if task == "classification" else "Regressor")
    return ":".join(filter(None, [f"sklearn:{name}.{kind}", setting.replace("trees", TREES[name])]))


def called(library: str, task: Task) -> Callable[..., Any]:
    """The library's estimator, silent and on one thread."""
    module = pytest.importorskip(library, reason="the extra [boosting] is not installed")
    kind = getattr(module, KINDS[library] + ("Classifier" if task == "classification" else "Regressor"))
    quiet: dict[str, Any] = {"n_jobs": 1, "verbosity": -1 if library == "lightgbm" else 0}
    if library == "catboost":
        quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
    return lambda **given: kind(**quiet, **given)


def of(problem: Problem, seed: int = 3) -> tuple[Sample, np.ndarray, np.ndarray, np.ndarray, int]:
    """A half, its features and labels, the features of the test set, and the seed of an estimator."""
    sample = sample_for(problem, "halves", seed)[0]
    x = sample.x.astype(np.float64)[sample.rows]
    return sample, x, sample.y[sample.rows], problem.evals["id"].x.astype(np.float64), state(seed)


@pytest.fixture(params=SMALL)
def text(request: pytest.FixtureRequest) -> str:
    """A learner with few trees, if its library is installed."""
    pytest.importorskip(request.param.partition(":")[0], reason="the extra [boosting] is not installed")
    return str(request.param)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("lightgbm", {}),
        ("xgboost", {}),
        ("catboost:trees=20", {"iterations": 20}),
        ("lightgbm:trees=9:rate=0.3:leaves=4", {"n_estimators": 9, "learning_rate": 0.3, "num_leaves": 4}),
        ("xgboost:trees=9:rate=0.1:depth=2", {"n_estimators": 9, "learning_rate": 0.1, "max_depth": 2}),
        ("catboost:trees=9:rate=0.1:depth=2", {"iterations": 9, "learning_rate": 0.1, "depth": 2}),
    ],
)
def test_a_learner_predicts_what_its_library_does_also_once_it_was_pickled(text, given, task):
    estimator = called(text.partition(":")[0], task)
    problem = synthetic(task)
    sample, x, y, test, state = of(problem)
    by_hand = estimator(random_state=state, **given).fit(x, y)
    model = pickle.loads(pickle.dumps(make_method(text, task).fit(sample)))
    np.testing.assert_allclose(model.predict(problem.evals["id"].inputs), outputs(by_hand, test), rtol=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_an_estimator_by_its_import_path_predicts_what_the_learner_does(text, task):
    problem, path = synthetic(task), path_of(text, task)
    sample, *_ = of(problem)
    values = [make_method(one, task).fit(sample).predict(problem.evals["id"].inputs) for one in (text, path)]
    np.testing.assert_array_equal(*values)
    method = make_method(path, task)
    assert spelled(method, task) == path
    assert make_method(path, task) == method
    assert method.doubt == ""
    hidden = {"random_state", "random_seed", "n_jobs", "thread_count", "verbosity", "verbose", "silent"}
    assert not hidden & method.head.params.keys()


@pytest.mark.parametrize("by_path", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_training_prints_nothing_and_writes_no_file(text, task, by_path, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    problem = synthetic(task, n=40)  # of so few rows, LightGBM says that it cannot split them
    sample, *_ = of(problem)
    method = make_method(path_of(text, task) if by_path else text, task)
    method.fit(sample).predict(problem.evals["id"].inputs)
    assert capfd.readouterr() == ("", "")
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize("lacking", [0, 1, 2])
def test_a_class_of_three_that_a_half_lacks_has_probability_zero(text, lacking):
    problem = synthetic("classification")
    sample, *_ = of(problem)
    present = np.array([c for c in range(3) if c != lacking])
    sample = replace(sample, y=present[sample.y], n_outputs=3)
    values = make_method(text, "classification").fit(sample).predict(problem.evals["id"].inputs)
    np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-6)
    assert (values[:, lacking] == 0).all()
    assert (values[:, present].max(axis=0) > 0.5).all()


@pytest.mark.parametrize("task", TASKS)
def test_soft_labels_are_learnt_as_rows_with_weights(text, task):
    name, problem = text.partition(":")[0], synthetic(task)
    sample, x, y, test, state = of(problem)
    inputs, method = problem.evals["id"].inputs, make_method(text, task)
    targets = np.where(sample.labels > 0.5, 0.75, 0.25) if task == "classification" else 2 * sample.labels
    values = method.fit(sample.towards(targets)).predict(inputs)
    by_hand = called(name, task)(random_state=state, **{TREES[name]: 20})
    if task == "classification":
        twice, share = np.repeat(x, 2, axis=0), targets[sample.rows].ravel()
        by_hand.fit(twice, np.tile([0, 1], len(x)), sample_weight=share)
    else:
        by_hand.fit(x, 2 * y)
    np.testing.assert_allclose(values, outputs(by_hand, test), rtol=1e-5)
    assert np.abs(values - method.fit(sample).predict(inputs)).max() > 0.01


@pytest.mark.parametrize("name", LIBRARIES)
def test_without_the_library_a_learner_and_an_import_path_are_refused_with_the_command_that_installs_it(
    name, monkeypatch
):
    command = "pip install -c constraints.txt -e '.[boosting]'"
    monkeypatch.setattr(pipeline, "find_spec", lambda module: None)
    with pytest.raises(UserError, match=f"^{name} needs {name}, which is not installed: {re.escape(command)}$"):
        make_method(name, "classification")
    assert find(name)() == find(name)()
    wrap.cache_clear()
    monkeypatch.setitem(sys.modules, name, None)
    path = path_of(name, "classification")
    message = f"{path}: {name} cannot be imported: ModuleNotFoundError: .*; correct the path or install the package of "
    with pytest.raises(UserError, match=f"^{message}{name}: {re.escape(command)}$"):
        make_method(path, "classification")


def test_a_package_that_is_missing_is_named_where_an_estimator_imports_it(tmp_path, monkeypatch):
    (tmp_path / "own_booster.py").write_text("import no_such_package.trees\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"correct the path or install the package of no_such_package$"):
        make_method("sklearn:own_booster.Booster", "classification")
