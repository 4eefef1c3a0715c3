"""Deployable models in MLflow: logged beside the run of a cell, and registered.

They are for MLflow's own tools. Nothing here loads one, because that unpickles: cells are read without them.
"""

import json
import logging
import tempfile
from collections.abc import Mapping
from typing import Any

import mlflow.pyfunc
from mlflow.entities import LoggedModel, LoggedModelOutput, LoggedModelStatus, Metric
from mlflow.exceptions import MlflowException
from mlflow.models import Model, ModelSignature
from mlflow.types import ColSpec, Schema

from benchmark.store import describe
from benchmark.store.cell import Cell
from benchmark.store.interrupt import deferred
from benchmark.store.opening import translated_errors
from benchmark.store.tracking import Store

logging.getLogger("mlflow.pyfunc").setLevel(logging.WARNING)  # it reports each step of saving

NAME = "model"
"""Name of a cell's model: its address is ``runs:/RUN_ID/model``."""
VERSIONS = "mlflow.modelVersions"
"""Tag by which MLflow shows the registered versions of a logged model on its page."""


def find(store: Store, run_id: str) -> str:
    """Return the id of the newest finished model of a run whose file is still there; empty if there is none."""
    with translated_errors(store.uri):
        ready = [model for model in _of_run(store, run_id) if model.status == LoggedModelStatus.READY]
        ready = [model for model in ready if store.client.list_logged_model_artifacts(model.model_id, "data")]
        return max(ready, key=lambda model: model.creation_timestamp).model_id if ready else ""


def log(
    store: Store, cell: Cell, description: str, inputs: Mapping[str, str], outputs: Mapping[str, str], **saved: Any
) -> str:
    """Log the model of a recorded cell and return its id. The cell's run stays as it is, finished.

    ``inputs`` and ``outputs`` are the types of the columns by name, of which those of outputs may be missing; ``saved``
    are arguments of MLflow's ``save_model``.
    """
    with translated_errors(store.uri), deferred():
        client = store.client
        run = client.get_run(cell.run_id)
        for old in _of_run(store, cell.run_id):
            if old.status == LoggedModelStatus.PENDING:  # left by a kill
                client.delete_logged_model(old.model_id)
        params = {name: str(value) for name, value in describe.params(cell).items()}
        tags = _tags(cell) | {"mlflow.note.content": description}
        model = client.create_logged_model(run.info.experiment_id, NAME, cell.run_id, tags, params, "pyfunc")
        about = Model(model.artifact_location, cell.run_id, model_uuid=model.model_id, model_id=model.model_id)
        signature = ModelSignature(_schema(inputs, required=True), _schema(outputs, required=False))
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/{NAME}"
            mlflow.pyfunc.save_model(path, mlflow_model=about, signature=signature, **saved)
            client.log_model_artifacts(model.model_id, path)
        client.log_outputs(cell.run_id, [LoggedModelOutput(model.model_id, step=0)])
        values = [
            Metric(m.key, m.value, m.timestamp, m.step, model_id=model.model_id, run_id=cell.run_id)
            for m in run.data._metric_objs
        ]
        client.log_batch(cell.run_id, metrics=values)  # the UI compares models by them
        client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
        return str(model.model_id)


def register(store: Store, cell: Cell, model_id: str, name: str, description: str) -> int:
    """Register a logged model under ``name``, unless it is a version of it already; return the version."""
    with translated_errors(store.uri), deferred():
        client = store.client
        try:
            client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        for known in client.search_model_versions(f"name = '{name}'"):
            if model_id in str(known.source):
                return int(known.version)
        # A server resolves the address of the model; without one, MLflow would look it up in its global store
        local = not store.uri.startswith("http")
        source = client.get_logged_model(model_id).artifact_location if local else f"models:/{model_id}"
        version = client.create_model_version(
            name, source, cell.run_id, _tags(cell), None, description, model_id=model_id
        )
        if local:  # a server does this itself
            versions = json.loads(client.get_logged_model(model_id).tags.get(VERSIONS, "[]"))
            made = {"name": name, "version": version.version}
            client.set_logged_model_tags(model_id, {VERSIONS: json.dumps([*versions, made])})
        return int(version.version)


def _tags(cell: Cell) -> dict[str, str]:
    return {"churn.dataset": cell.key.dataset, "churn.method": cell.key.method, "churn.cell": cell.key.digest}


def _of_run(store: Store, run_id: str) -> list[LoggedModel]:
    experiment = store.client.get_run(run_id).info.experiment_id
    of_run = f"name = '{NAME}' AND source_run_id = '{run_id}'"
    return list(store.client.search_logged_models([experiment], of_run))


def _schema(columns: Mapping[str, str], *, required: bool) -> Schema:
    return Schema([ColSpec(kind, name, required=required) for name, kind in columns.items()])
