"""Tables of predictions that any runs in an MLflow store have logged."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.models import get_model_info
from mlflow.store.artifact.artifact_repo import ArtifactRepository
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_LOGGED_ARTIFACTS

from benchmark.errors import UserError, did_you_mean
from benchmark.store.folder import CELL, HEAD
from benchmark.store.opening import all_pages, nothing_at, translated_errors, uri

os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
ABSENT = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")
"""Error codes of MLflow for what the user has named and the store does not have, or cannot understand."""


@dataclass(frozen=True)
class Table:
    """A table that the run ``run_id`` logged under the path ``artifact``; ``path`` is the local file."""

    run_id: str
    artifact: str
    path: Path

    @property
    def uri(self) -> str:
        return f"runs:/{self.run_id}/{self.artifact}"


def signature(model: str, address: str) -> dict[str, str] | None:
    """Return the types of the input columns of a model in MLflow, by name; None if it has no such signature.

    Its files alone are read, and nothing of it is loaded. Raises UserError if there is no such model or store.
    """
    _refuse_nothing(address)
    before = {name: os.environ[name] for name in ("MLFLOW_TRACKING_URI",) if name in os.environ}
    os.environ["MLFLOW_TRACKING_URI"] = address  # the registry's address has no argument
    try:
        signature = get_model_info(model).signature
    except MlflowException as error:
        raise UserError(f"{model}: it could not be loaded: {error.message.splitlines()[0]}") from error
    finally:
        del os.environ["MLFLOW_TRACKING_URI"]
        os.environ.update(before)
    columns = signature.inputs if signature else None
    if columns is None or columns.is_tensor_spec() or not columns.has_input_names():
        return None
    return {str(column.name): str(column.type) for column in columns.inputs}


def _refuse_nothing(address: str) -> None:
    """Raise UserError for a SQLite store that does not exist: MLflow would create it."""
    if missing := nothing_at(address):
        raise UserError(f"there is no tracking store at {missing}: give --tracking-uri or MLFLOW_TRACKING_URI")


class Logged:
    """The tables in the MLflow store at ``address``, by default the suite's; remote ones are copied to ``folder``.

    Raises UserError for a SQLite store that does not exist, which opening would create, and methods raise it for what
    the store does not have. Methods raise TrackingError if the store fails.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self.uri, self.folder = address or uri(), folder
        with translated_errors(self.uri):
            _refuse_nothing(self.uri)
            self.client = MlflowClient(self.uri)

    def table(self, source: str, artifact: str = "") -> Table:
        """Return the table ``runs:/<run id>/<artifact>``; without artifact there, that called ``artifact``.

        Without either, the run's only table: Parquet, CSV, or a JSON that ``mlflow.log_table`` wrote; of a run of the
        suite, the predictions for the ID test.
        """
        run_id, _, path = source.removeprefix("runs:/").partition("/")
        wanted = path or artifact
        with translated_errors(self.uri):
            try:
                run = self.client.get_run(run_id)
            except MlflowException as error:
                if error.error_code not in ABSENT:
                    raise
                raise UserError(f"{source}: the tracking store {self.uri} has no run {run_id!r}") from error
            table, names = self._found(run, wanted)
        if table is None:
            what = f"artifact {wanted!r}" if wanted else "table of predictions"
            raise UserError(f"{source}: the run has no {what}; its artifacts: {', '.join(names) or 'none'}")
        return table

    def experiment(self, name: str, artifact: str = "", query: str = "") -> tuple[list[Table], int]:
        """Return the tables of an experiment's finished runs that meet ``query``, and how many of these have none.

        ``query`` is in the syntax of ``mlflow.search_runs``; ``artifact`` is as in ``table``. Oldest runs come first.
        """
        with translated_errors(self.uri):
            experiment = self.client.get_experiment_by_name(name)
            if experiment is None:
                raise did_you_mean("experiment", name, [e.name for e in self.client.search_experiments()])
            tables = [self._found(run, artifact)[0] for run in self._finished(experiment.experiment_id, query)]
        return [table for table in tables if table], tables.count(None)

    def _finished(self, experiment: str, query: str) -> list[Run]:
        wanted = " AND ".join(filter(None, [query, "attributes.status = 'FINISHED'"]))
        try:
            return all_pages(partial(self.client.search_runs, [experiment], wanted, order_by=["attributes.start_time"]))
        except MlflowException as error:
            if not query or error.error_code not in ABSENT:
                raise
            raise UserError(f"--filter {query!r}: {error.message}") from error

    def _found(self, run: Run, artifact: str) -> tuple[Table | None, list[str]]:
        """Return the table ``artifact`` of a run, or without a name its only one, if there; and all artifacts."""
        repository = get_artifact_repository(run.info.artifact_uri, tracking_uri=self.uri)
        files = list(_files(repository))
        logged = json.loads(run.data.tags.get(MLFLOW_LOGGED_ARTIFACTS, "[]"))
        tables = {entry.get("path") for entry in logged if entry.get("type") == "table"}
        if artifact:
            names = [name for name in files if name == artifact.strip("/")]
        elif f"{CELL}/{HEAD}" in files:  # a run of the suite
            names = [f"{CELL}/id.parquet"]
        else:
            names = [name for name in files if name in tables or name.endswith((".parquet", ".csv"))]
        if len(names) > 1:
            raise UserError(
                f"runs:/{run.info.run_id}: several of its artifacts may be its predictions ({', '.join(names)}): name "
                "one with --table"
            )
        if not names:
            return None, files
        own = self.folder / run.info.run_id
        own.mkdir(exist_ok=True)
        local = isinstance(repository, LocalArtifactRepository)
        path = Path(repository.download_artifacts(names[0], None if local else str(own)))
        return Table(run.info.run_id, names[0], path), files


def _files(repository: ArtifactRepository, folder: str | None = None) -> Iterator[str]:
    for file in repository.list_artifacts(folder):
        yield from _files(repository, file.path) if file.is_dir else [file.path]
