"""Models of recorded cells: they answer as recorded, and nothing is logged that does not."""

import os
import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import cloudpickle
import mlflow.pyfunc
import numpy as np
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient
from mlflow.utils.file_utils import local_file_uri_to_path

from benchmark.data.inputs import Featuriser, inputs_of
from benchmark.data.rows import load_rows
from benchmark.data.spec import load_spec
from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.run import deploy, driver, served
from benchmark.run.driver import plan_grid
from benchmark.run.runner import retrain
from benchmark.store import models, tracking
from benchmark.store.cell import Grid
from benchmark.train import sample_for

pytestmark = pytest.mark.usefixtures("own_store")
SMALL = "b3db_measured@epochs=2@train=200"
MOF = "mof_thermal"


def planned(method, dataset=SMALL, seeds=(1, 2, 3), sampling="paper"):
    (cell,) = plan_grid(Grid([method], [dataset], [99], seeds, sampling), {})
    return cell


def recorded(*cells):
    """The cells as they are in the store after their training."""
    tally = driver.fill(cells, force=False, jobs=1, report=print)
    assert not tally.failed
    of = {cell.key.digest: cell for cell in tracking.Store().cells()}
    return [of[cell.key.digest] for cell in cells]


def log(*cells, force=False, register=""):
    said = []
    failed = deploy.log_models(cells, force=force, jobs=1, register=register, report=said.append)
    return failed, said


@pytest.fixture
def requirements(monkeypatch):
    """What a model requires is given here, where else a process loads the model to find it."""
    monkeypatch.setattr(deploy, "_requirements", lambda model, row: ["mlflow"])


def test_a_model_gives_the_recorded_predictions_to_the_bit_describes_itself_and_is_found_again(request):
    cell = planned("erm", seeds=(4, 5, 9))
    (record,) = recorded(cell)
    name = "b3db_measured-epochs-2-train-200-erm"
    assert deploy.registered_name(cell) == name
    failed, said = log(cell, register="auto")
    assert (failed, said[-1]) == (0, f"registered as models:/{name}/1")
    assert "its predictions equal the recorded ones" in said[-2]
    failed, (found, again) = log(cell, register="auto")
    assert found.startswith(f"has a model: {cell.title} on {SMALL}, split 99: models:/m-")
    assert (failed, again) == (0, said[-1])
    assert log(cell, register="mine")[1][-1] == "registered as models:/mine/1"
    (version,) = MlflowClient().search_model_versions(f"name = '{name}'")
    assert version.tags["churn.method"] == "erm"
    assert "Train seed 4 answers; `stability` compares it with 2 other retrainings" in version.description

    model = mlflow.pyfunc.load_model(f"models:/{name}/1")
    for test, p in record.predictions.items():
        answer = model.predict(pd.DataFrame({"smiles": cell.problem.evals[test].smiles.astype(object)}))
        np.testing.assert_array_equal(answer["probability"], p.values[0, :, 1])
        classes = p.values.argmax(axis=-1)
        np.testing.assert_array_equal(answer["prediction"], classes[0])
        np.testing.assert_array_equal(answer["stability"], (classes[1:] == classes[0]).mean(axis=0))
    signature = model.metadata.signature
    assert signature.inputs.input_names() == ["smiles"]
    assert signature.outputs.input_names() == ["prediction", "probability", "stability", "reason"]
    assert model.input_example["smiles"].tolist() == cell.problem.evals["id"].smiles[:3].tolist()
    about = model.metadata.metadata
    assert (about["dataset"], about["sampling"], about["method"]) == (SMALL, "paper", "erm")
    assert (about["problem"], about["cell"], about["retrainings"]) == (cell.key.problem, cell.key.digest, [4, 5, 9])
    logged = MlflowClient().get_logged_model(model.metadata.model_id)
    assert logged.params["recipe.epochs"] == "2"
    assert {m.key: m.value for m in logged.metrics} == MlflowClient().get_run(record.run_id).data.metrics
    (file,) = Path(local_file_uri_to_path(logged.artifact_location)).rglob("model.pkl")
    file.unlink()
    request.getfixturevalue("requirements")
    assert "logged the model" in log(cell)[1][-1], "what has lost its file is made again"
    assert "logged the model" in log(cell, force=True)[1][-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "sampling"),
    [
        *((name, "paper") for name in ("anchor", "bagging:k=2", "svm", "gaussian_process")),
        ("sklearn:sklearn.naive_bayes.BernoulliNB", "paper"),
        ("erm", "nested"),
        ("twin", "halves"),
    ],
)
def test_every_kind_of_method_predicts_the_same_after_it_was_saved(method, sampling):
    cell = planned(method, seeds=(1, 2), sampling=sampling)
    _, values = deploy._retrained(cell.problem, cell.method, sampling, 1)
    for name, p in retrain(cell.method, cell.problem, [1], sampling).items():
        np.testing.assert_allclose(values[name], p.values[0], rtol=deploy.TOLERANCE, atol=deploy.TOLERANCE)


@pytest.mark.slow
def test_a_model_of_a_method_with_features_of_its_own_computes_them(small_table, requirements):
    cell = planned("multi_kernel", small_table, (1, 2), "halves")
    recorded(cell)
    failed, said = log(cell)
    assert failed == 0, said
    assert "its predictions equal the recorded ones" in said[-1]


@pytest.mark.parametrize(("method", "dataset", "reads"), [("linear", "freesolv", "string"), ("knn", MOF, "double")])
def test_a_regression_and_a_table_of_numbers_are_answered_as_recorded(
    staged_data, requirements, method, dataset, reads
):
    cell = planned(method, dataset)
    (record,) = recorded(cell)
    assert log(cell)[0] == 0
    model = mlflow.pyfunc.load_model(f"runs:/{record.run_id}/model")
    assert {column.type.name for column in model.metadata.get_input_schema()} == {reads}
    answer, values = model.predict(model.input_example), record.predictions["id"].values[:, :3]
    if dataset == MOF:
        np.testing.assert_array_equal(answer["prediction"], values[0].argmax(axis=1))
    else:
        np.testing.assert_array_equal(answer["prediction"], values[0, :, 0])
        np.testing.assert_allclose(answer["spread"], values[:, :, 0].astype(float).std(axis=0, ddof=1))


def test_a_cell_that_is_not_recorded_or_whose_predictions_are_not_found_again_gets_no_model(monkeypatch):
    cell = planned("erm", seeds=(1, 6))
    assert log(cell) == (1, [f"NO MODEL for ERM on {SMALL}, split 99: the cell is not recorded"])
    (record,) = recorded(cell)
    others = {name: replace(p, values=p.values[::-1]) for name, p in record.predictions.items()}
    monkeypatch.setattr(tracking.Store, "cells", lambda store, only: iter([replace(record, predictions=others)]))
    failed, said = log(cell)
    assert failed == 1
    assert "the retrained predictions differ from the recorded ones by up to" in said[-1]
    assert "add --force" in said[-1]
    assert not models.find(tracking.Store(), record.run_id)


def test_what_cannot_have_a_model_is_refused_before_anything_is_trained(waterbirds):
    erm, twin = planned("erm"), planned("twin")
    gpu = replace(erm, key=replace(erm.key, device="cuda"))
    with pytest.raises(UserError, match="add --device cpu"):
        deploy.refuse([gpu], "")
    with pytest.raises(UserError, match="2 models cannot be versions of one model"):
        deploy.refuse([erm, twin], "mine")
    with pytest.raises(UserError, match=r"mine/1: expected a name of letters"):
        deploy.refuse([erm], "mine/1")
    with pytest.raises(UserError, match="not images"):
        deploy.refuse([replace(erm, dataset="waterbirds")], "")
    deploy.refuse([erm, twin], "auto")


def test_molecules_of_the_users_own_are_not_shown(tmp_path):
    spec = load_spec("b3db_measured")
    inputs = pd.DataFrame({"smiles": list("CNOPS"), "mass": [1.0, 2, 3, 4, 50], "salt": list("abcde")})
    test = np.array([4, 3, 2])
    assert deploy._example(spec, inputs, test)["smiles"].tolist() == ["S", "P", "O"]
    own = deploy._example(spec.model_copy(update={"path": tmp_path / "mine.toml"}), inputs, test)
    assert own["smiles"].tolist() == list(deploy.KNOWN)
    assert own["mass"].tolist() == [3, 3, 3]
    assert own["salt"].tolist() == ["", "", ""]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"positive": "no", "negative": "yes"}, "active: 0 = yes, 1 = no"),
        ({"classes": ("low", "mid", "high")}, "active: 0 = low, 1 = mid, 2 = high"),
        ({}, "class 1: active"),
        ({"task": "regression", "log10": True}, "log10 of active"),
    ],
)
def test_a_model_of_the_users_own_data_says_what_its_numbers_mean(changes, said, small_table, monkeypatch):
    cell = planned("erm", small_table)
    spec = load_spec(small_table)
    monkeypatch.setattr(deploy, "load_spec", lambda name: spec.model_copy(update={"positive": None, **changes}))
    assert f" on small ({said}), split 99" in deploy._described(cell)


@dataclass
class Keeper:
    """Predicts from the rows of its sample."""

    sample: object
    lock: object = None

    def predict(self, inputs):
        share = np.full(len(inputs), self.sample.y.mean())
        return np.stack([1 - share, share], axis=1)


def named(make):
    return SimpleNamespace(name="mine", fit=make)


def test_a_saved_predictor_has_no_training_molecules_unless_it_predicts_from_them():
    problem = planned("erm").problem
    sample, _ = sample_for(problem, "paper", 1)
    erm, _ = deploy._retrained(problem, make_method("erm", problem.task), "paper", 1)
    secret = sample.smiles[0].encode("utf-32-le")
    assert secret in cloudpickle.dumps(sample)
    assert secret not in erm
    keeper, _ = deploy._retrained(problem, named(Keeper), "paper", 1)
    assert secret in keeper
    np.testing.assert_array_equal(pickle.loads(keeper).predict(sample.inputs[:1])[0, 1], sample.y.mean())


def test_a_predictor_that_cannot_be_saved_is_named():
    locked = named(lambda sample: Keeper(sample, threading.Lock()))
    with pytest.raises(UserError, match="what fit of 'mine' returned cannot be saved with pickle: cannot pickle"):
        deploy._retrained(planned("erm").problem, locked, "paper", 1)


ANSWERS = """
import sys, importlib.abc

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in ('torch', 'typer', 'optuna', 'B3DB', 'leaderboard'):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import mlflow.pyfunc, pandas
model = mlflow.pyfunc.load_model(sys.argv[1])
print(model.predict(pandas.DataFrame({'smiles': [sys.argv[2]]}))['probability'][0])
import benchmark; print(benchmark.__file__)
"""


OWN = """
from benchmark.pipeline import Remedy, method
from mine import other


@method("mine", title="Mine")
class Mine(Remedy):
    def fit(self, sample, learner):
        return Flipped(learner.fit(sample))


class Flipped:
    def __init__(self, model):
        self.model = model

    def predict(self, inputs):
        return other.flip(self.model.predict(inputs))
"""


@pytest.mark.slow
def test_a_model_has_the_code_of_the_users_method_and_answers_with_no_other_package_than_it_requires(write_files):
    init = "from mine.method import Mine  # of benchmark.pipeline"
    other = "def flip(values):\n    return values[:, ::-1]\n"
    write_files({"mine/__init__.py": init, "mine/other.py": other, "mine/method.py": OWN})
    (cell,) = plan_grid(Grid(["mine"], [SMALL], [99], (1, 2), learner="random_forest:trees=7"), {})
    (record,) = recorded(cell)
    assert log(cell)[0] == 0
    store = tracking.Store()
    logged = store.client.get_logged_model(models.find(store, record.run_id))
    folder = Path(local_file_uri_to_path(logged.artifact_location))
    lines = (folder / "requirements.txt").read_text().split()
    named = {line.partition("==")[0].lower() for line in lines}
    assert all("==" in line for line in lines)
    assert {"cloudpickle", "mlflow", "numpy", "pandas", "rdkit", "scikit-learn"} <= named
    assert not {"torch", "optuna", "typer", "qc-b3db"} & named
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CHURN_HOME")}
    command = [sys.executable, "-c", ANSWERS, str(folder), cell.problem.evals["id"].smiles[0]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    probability, place = done.stdout.split()
    assert Path(place).is_relative_to(folder), "not the code of the checkout"
    assert float(probability) == pytest.approx(record.predictions["id"].values[0, 0, 1])


def test_a_module_that_no_package_has_is_named(tmp_path, monkeypatch):
    (tmp_path / "my_own_module.py").write_text(
        "class Half:\n    def predict(self, inputs):\n        return inputs.x[:, :2] / 2\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    half = import_module("my_own_module").Half()
    rows = load_rows(spec := load_spec("b3db_measured"))
    featuriser = Featuriser.of(spec, rows, np.arange(len(rows.used)))
    served.write(tmp_path / "model.pkl", "classification", featuriser, [pickle.dumps(half)])
    with pytest.raises(UserError, match="a served model cannot import 'my_own_module', which no package has: move"):
        deploy._requirements(tmp_path / "model.pkl", inputs_of(spec, rows).iloc[:1])
