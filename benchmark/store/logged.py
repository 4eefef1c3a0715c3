"""Tables of predictions that any runs in an MLflow store have logged."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
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
from benchmark.store.opening import nothing_at, translated_errors, uri

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

    Its files alone are read, and nothing of it is loaded. Raises UserError if there is no such model.
    """
    before = os.environ.get("MLFLOW_TRACKING_URI")
    os.environ["MLFLOW_TRACKING_URI"] = address  # the registry's address has no argument
    try:
        found = get_model_info(model).signature
    except MlflowException as error:
        raise UserError(f"{model}: it could not be loaded: {error.message.splitlines()[0]}") from error
    finally:
        if before is None:
            del os.environ["MLFLOW_TRACKING_URI"]
        else:
            os.environ["MLFLOW_TRACKING_URI"] = before
    columns = found.inputs if found else None
    if columns is None or columns.is_tensor_spec() or not columns.has_input_names():
        return None
    return {str(column.name): str(column.type) for column in columns.inputs}


class Logged:
    """The tables in the MLflow store at ``address``, by default the suite's; remote ones are copied to ``folder``.

    Raises UserError for a SQLite store that does not exist, which opening would create, and methods raise it for what
    the store does not have. Methods raise TrackingError if the store fails.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self.uri, self.folder = address or uri(), folder
        with translated_errors(self.uri):
            if missing := nothing_at(self.uri):
                raise UserError(
                    f"there is no tracking store at {missing}: give the address of yours with --tracking-uri or "
                    "MLFLOW_TRACKING_URI"
                )
            self.client = MlflowClient(self.uri)

    def table(self, source: str, artifact: str = "") -> Table:
        """Return the table ``runs:/<run id>/<artifact>``; without artifact there, that called ``artifact``.

        Without either, the run's only table: Parquet, CSV, or a JSON that ``mlflow.log_table`` wrote; of a run of the
        suite, the predictions for the ID test.
        """
        run_id, _, path = source.removeprefix("runs:/").partition("/")
        with translated_errors(self.uri):
            try:
                run = self.client.get_run(run_id)
            except MlflowException as error:
                if error.error_code not in ABSENT:
                    raise
                raise UserError(f"{source}: the tracking store {self.uri} has no run {run_id!r}") from error
            found = self._found(run, path or artifact)
            if found is None:
                names = ", ".join(_files(self._repository(run))) or "none"
                what = f"artifact {path or artifact!r}" if path or artifact else "table of predictions"
                raise UserError(f"{source}: the run has no {what}; its artifacts: {names}")
            return found

    def experiment(self, name: str, artifact: str = "", query: str = "") -> tuple[list[Table], int]:
        """Return the tables of an experiment's finished runs that meet ``query``, and how many of these have none.

        ``query`` is in the syntax of ``mlflow.search_runs``; ``artifact`` is as in ``table``. Oldest runs come first.
        """
        with translated_errors(self.uri):
            experiment = self.client.get_experiment_by_name(name)
            if experiment is None:
                raise did_you_mean("experiment", name, [e.name for e in self.client.search_experiments()])
            runs = list(self._finished(experiment.experiment_id, query))
            found = [self._found(run, artifact) for run in runs]
        return [table for table in found if table], found.count(None)

    def _finished(self, experiment: str, query: str) -> Iterator[Run]:
        wanted = " AND ".join(filter(None, [query, "attributes.status = 'FINISHED'"]))
        token = None
        while True:
            try:
                page = self.client.search_runs(
                    [experiment], wanted, max_results=1000, order_by=["attributes.start_time"], page_token=token
                )
            except MlflowException as error:
                if not query or error.error_code not in ABSENT:
                    raise
                raise UserError(f"--filter {query!r}: {error.message}") from error
            yield from page
            if not (token := page.token):
                return

    def _found(self, run: Run, artifact: str) -> Table | None:
        """Return the table ``artifact`` of a run, or without a name its only one; None if it has none."""
        repository = self._repository(run)
        if artifact:
            folder, _, name = artifact.strip("/").rpartition("/")
            inside = ".." not in folder.split("/")  # MLflow would call such a path an error of the store
            path = f"{folder}/{name}" if folder else name
            names = [path] if inside and path in _children(repository, folder) else []
        else:
            names = self._tables(run, repository)
        if len(names) > 1:
            raise UserError(
                f"runs:/{run.info.run_id}: several of its artifacts may be its predictions ({', '.join(names)}): name "
                "one with --table"
            )
        if not names:
            return None
        local = isinstance(repository, LocalArtifactRepository)
        own = self.folder / run.info.run_id
        own.mkdir(exist_ok=True)
        return Table(
            run.info.run_id, names[0], Path(repository.download_artifacts(names[0], None if local else str(own)))
        )

    def _repository(self, run: Run) -> ArtifactRepository:
        return get_artifact_repository(run.info.artifact_uri, tracking_uri=self.uri)

    def _tables(self, run: Run, repository: ArtifactRepository) -> list[str]:
        logged = json.loads(run.data.tags.get(MLFLOW_LOGGED_ARTIFACTS, "[]"))
        tables = {entry.get("path") for entry in logged if entry.get("type") == "table"}
        files = _files(repository)
        if f"{CELL}/{HEAD}" in files:  # a run of the suite
            return [f"{CELL}/id.parquet"]
        return [name for name in files if name in tables or name.endswith((".parquet", ".csv"))]


def _files(repository: ArtifactRepository, folder: str = "") -> list[str]:
    names: list[str] = []
    for name, is_folder in _children(repository, folder).items():
        names += _files(repository, name) if is_folder else [name]
    return names


def _children(repository: ArtifactRepository, folder: str) -> dict[str, bool]:
    """Return the paths in a folder of artifacts, and whether each is a folder itself."""
    return {file.path: file.is_dir for file in repository.list_artifacts(folder or None)}
