"""Deployable models in MLflow, beside the cells."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import mlflow.pyfunc
import pandas as pd
import pytest
from mlflow.entities import LoggedModelStatus
from mlflow.tracking import MlflowClient

from benchmark.store import models, opening, tracking
from benchmark.store.cell import Cell
from leaderboard import site
from leaderboard.read.stored import read

from .conftest import planned, trained

Log = Callable[[tracking.Store, Cell], str]
LOADER = """
import pickle

class Model:
    def predict(self, model_input):
        return model_input.assign(prediction=1)[["prediction"]]

def _load_pyfunc(path):
    with open(path, "rb") as file:
        pickle.load(file)
    return Model()
"""


class Bomb:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self) -> tuple[object, tuple[str, int]]:
        return os.mkdir, (self.mark, 0o700)


def recorded(store: tracking.Store) -> Cell:
    (cell,) = trained(planned("knn"))
    return replace(cell, run_id=store.log(cell))


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Logs a model that answers 1, and makes the folder ``loaded`` whenever it is loaded."""
    code = tmp_path / "toy_model"
    code.mkdir()
    (code / "__init__.py").write_text(LOADER)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Bomb(tmp_path / "loaded")))
    loaded = {"loader_module": "toy_model", "data_path": str(tmp_path / "model.pkl"), "code_paths": [str(code)]}
    about = {"description": "a toy", "inputs": {"smiles": "string"}, "outputs": {"prediction": "long"}}
    about |= {"input_example": pd.DataFrame({"smiles": ["CCO"]}), "metadata": {"dataset": "toy"}}
    return partial(models.log, pip_requirements=["pandas"], **loaded, **about)


def test_the_run_of_a_cell_stays_as_it_was_and_leads_to_its_model(store, log, tmp_path):
    cell = recorded(store)
    before = MlflowClient().get_run(cell.run_id)
    half = store.client.create_logged_model(before.info.experiment_id, models.NAME, cell.run_id)
    assert half.status == LoggedModelStatus.PENDING  # as a kill leaves it: the next attempt removes it
    assert models.find(store, cell.run_id) == ""
    model = log(store, cell)
    after = MlflowClient().get_run(cell.run_id)
    assert models.find(store, cell.run_id) == model
    assert [logged.model_id for logged in store.client.search_logged_models([before.info.experiment_id])] == [model]
    assert after.info == before.info
    assert (after.data.metrics, after.data.tags) == (before.data.metrics, before.data.tags)
    assert [output.model_id for output in after.outputs.model_outputs] == [model]
    assert not (tmp_path / "loaded").exists()
    loaded = mlflow.pyfunc.load_model(f"runs:/{cell.run_id}/model")
    assert (tmp_path / "loaded").exists()
    assert loaded.predict(pd.DataFrame({"smiles": ["CCO", "CC"]}))["prediction"].tolist() == [1, 1]
    assert loaded.metadata.metadata["dataset"] == "toy"


def test_a_model_is_one_version_of_each_name(store: tracking.Store, log: Log) -> None:
    cell = recorded(store)
    first, second = (log(store, cell) for _ in range(2))
    assert models.find(store, cell.run_id) == second
    made = [models.register(store, cell, model, "toy", "a toy") for model in (first, second, first)]
    assert made == [1, 2, 1]
    assert models.register(store, cell, first, "other", "a toy") == 1
    version = MlflowClient().get_model_version("toy", "2")
    assert (version.description, version.run_id, version.tags["churn.cell"]) == ("a toy", cell.run_id, cell.key.digest)
    assert second in version.source
    named = json.loads(store.client.get_logged_model(first).tags[models.VERSIONS])
    assert [(one["name"], int(one["version"])) for one in named] == [("toy", 1), ("other", 1)]
    with pytest.raises(opening.TrackingError, match="cannot be used"):
        log(store, replace(cell, run_id="0" * 32))


@pytest.mark.slow
def test_no_model_is_loaded_when_cells_are_read_or_pages_built(store: tracking.Store, log: Log, tmp_path: Path) -> None:
    cell = recorded(store)
    log(store, cell)
    (back,) = store.cells()
    assert (back.key, store.unreadable) == (cell.key, [])
    results, health = read(store.uri)
    site.write(results, tmp_path / "site", "runs", health)
    assert (tmp_path / "site" / "index.html").is_file()
    assert not (tmp_path / "loaded").exists()


@pytest.mark.long
def test_a_tracking_server_has_models_and_versions(mlflow_server, tmp_path, log):
    mlflow_server(f"sqlite:///{tmp_path}/server.db")
    store = tracking.Store()
    cell = recorded(store)
    model = log(store, cell)
    for _ in range(2):
        assert models.register(store, cell, model, "toy", "a toy") == 1
    (named,) = json.loads(store.client.get_logged_model(model).tags[models.VERSIONS])
    assert (named["name"], int(named["version"])) == ("toy", 1)
    answer = mlflow.pyfunc.load_model("models:/toy/1").predict(pd.DataFrame({"smiles": ["CCO"]}))
    assert json.loads(answer.to_json(orient="records")) == [{"prediction": 1}]
