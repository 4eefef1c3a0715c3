"""MLflow, and nothing else imports it: one experiment per dataset, one run per cell, one nested run per train seed."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

# A dead server would hang the client for minutes. MLflow reads these at import.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")

import pyarrow as pa
import pyarrow.parquet as pq
from mlflow.artifacts import download_artifacts
from mlflow.data.code_dataset_source import CodeDatasetSource
from mlflow.data.meta_dataset import MetaDataset
from mlflow.entities import DatasetInput, InputTag, Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.tracking import MlflowClient
from sqlalchemy.exc import SQLAlchemyError

from benchmark.errors import UserError
from benchmark.files import home
from benchmark.store import describe
from benchmark.store.cell import Cell, Record, decode, decode_key
from benchmark.store.interrupt import checkpoint, deferred
from benchmark.store.tables import from_table, to_table
from benchmark.types import REFERENCE

EXPERIMENT = "churn/"
"""Prefix of the experiments' names: a shared server holds others too."""
STUDIES = "churn-studies"
"""The experiment of what studies keep beside their cells."""


_STORE_ERRORS = (MlflowException, SQLAlchemyError, OSError)  # OSError: also every exception of requests


class TrackingError(UserError):
    """The tracking store cannot be reached or refuses; what was trained is on disk."""


def uri() -> str:
    """``MLFLOW_TRACKING_URI``, else a SQLite file in the user's home (``CHURN_HOME``, or the working folder)."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home() / 'mlflow.db'}"


def nothing_at(address: str = "") -> str:
    """The path of a SQLite store that does not exist yet, which merely looking at would create; empty for others."""
    scheme, _, path = (address or uri()).partition(":///")
    return path if scheme == "sqlite" and not Path(path).exists() else ""


@contextmanager
def _speaking(where: str) -> Iterator[None]:
    try:
        yield
    except _STORE_ERRORS as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        remedy = "start its server, make room on its disk, or set MLFLOW_TRACKING_URI to another store, or unset it"
        raise TrackingError(f"the tracking store {where} cannot be used: {first[:300]}\n  {remedy}") from error


class Store:
    """The cells in an MLflow tracking store. Raises TrackingError whenever the store does."""

    def __init__(self, address: str = "") -> None:
        self.uri = address or uri()
        self.unreadable: list[str] = []
        with _speaking(self.uri):
            self.client = MlflowClient(self.uri)
            self.client.search_experiments(max_results=1)

    def statuses(self) -> dict[str, str]:
        """FINISHED, or else the status of the newest run, of each cell by its digest; no predictions are read."""
        with _speaking(self.uri):
            runs = sorted(self._runs("cell"), key=lambda run: (run.info.status == "FINISHED", _recorded(run)))
        return {run.data.tags["churn.cell"]: run.info.status for run in runs}

    def cells(self, only: Container[str] | None = None) -> Iterator[Cell]:
        """All finished cells with their predictions, newest first; ``unreadable`` gets a line for each damaged one.

        With ``only``, those whose digests it holds.
        """
        with _speaking(self.uri):
            runs = [run for run in self._runs("cell") if run.info.status == "FINISHED"]
            if only is not None:
                runs = [run for run in runs if run.data.tags["churn.cell"] in only]
            nested: dict[str, list[Run]] = {}
            experiments = list({run.info.experiment_id for run in runs})
            seeds = self._search(experiments, "tags.`churn.kind` = 'seed'") if runs else []
            for run in seeds:  # all at once: a query for each cell would take most of the time
                nested.setdefault(run.data.tags["mlflow.parentRunId"], []).append(run)
            for run in sorted(runs, key=_recorded, reverse=True):
                try:
                    cell = self._read(run, nested.get(run.info.run_id, []))
                except (MlflowException, OSError, KeyError, ValueError) as error:
                    name = f"{run.info.run_name} ({run.info.run_id})"
                    self.unreadable.append(f"{name} is left out, its predictions cannot be read: {error!r}")
                    continue
                yield cell

    def failures(self) -> list[str]:
        """A line for each cell that was tried and never finished, with the command that tries again."""
        with _speaking(self.uri):
            runs = self._runs("cell")
        finished = {run.data.tags["churn.cell"] for run in runs if run.info.status == "FINISHED"}
        return [
            f"{run.info.run_name} on {run.data.tags['churn.dataset']} failed. Run it again: {run.data.tags['command']}"
            for run in sorted(runs, key=_recorded, reverse=True)
            if run.info.status == "FAILED" and run.data.tags["churn.cell"] not in finished
        ]

    def report(self, run_id: str, name: str) -> str:
        """A text that was kept with a cell's run, as ``health.txt``; empty if it has none of that name."""
        with _speaking(self.uri):
            if name not in {file.path for file in self.client.list_artifacts(run_id)}:
                return ""
            where = self.client.get_run(run_id).info.artifact_uri
            return Path(download_artifacts(artifact_uri=f"{where}/{name}")).read_text(encoding="utf-8")

    def log(self, cell: Cell) -> str:
        """Record a finished cell and return its run id.

        Of what interrupted attempts, and other drivers at this moment, record of a cell, one whole run remains.
        """
        with _speaking(self.uri):
            experiment = self._experiment(cell)
            summary = describe.summarise(cell.predictions)
            values = {name: value for name, value in summary.items() if value == value}
            values |= {"fit_seconds": cell.fit_seconds} | self._relative_compute(experiment, cell)
            training = cell.facts.wall_seconds
            with self._interruptible(experiment, cell):
                tags = describe.finished_tags(cell, values)
                parent = self._start(experiment, tags, describe.run_name(cell), training).info.run_id
                try:
                    self._log_whole(experiment, parent, cell, values)
                except MlflowException as error:
                    if error.error_code != "INVALID_PARAMETER_VALUE":  # that of a deleted run
                        raise
                    if self.client.get_run(parent).info.lifecycle_stage == "active":
                        raise
                    # another driver has recorded the cell meanwhile, and removed our attempt
                return self._one_remains(experiment, cell)

    def _log_whole(self, experiment: str, parent: str, cell: Cell, values: dict[str, float]) -> None:
        self._values(parent, values, describe.params(cell))
        self._inputs(parent, cell)
        for name, text in cell.reports.items():
            self.client.log_text(parent, text, name)
        for i, seed in enumerate(cell.key.seeds):
            checkpoint()
            self._log_seed(experiment, parent, cell, i, seed)
        self.client.set_terminated(parent, "FINISHED")

    def _one_remains(self, experiment: str, cell: Cell) -> str:
        """Remove all runs of a cell but the youngest finished one, and return the id of that.

        Drivers that do this at once agree on what remains, because the order of the attempts never changes. A younger
        attempt that is under way is left alone: it will remove this one when it is finished.
        """
        found = self._find(experiment, cell.key.digest)
        attempts = {run.info.run_id: run for run in self._find(experiment, cell.key.digest, "cell")}
        finished = [run for run in attempts.values() if run.info.status == "FINISHED"]
        if not finished:
            raise MlflowException(f"the run of {cell.title} was deleted while it was recorded")
        best = max(finished, key=_begun)
        under_way = {i for i, run in attempts.items() if run.info.status == "RUNNING" and _begun(run) > _begun(best)}
        spared = under_way | {best.info.run_id}
        for run in [*attempts.values(), *found]:  # a parent before its nested runs: nobody reads it without them
            if run.data.tags.get("mlflow.parentRunId", run.info.run_id) not in spared:
                self.client.delete_run(run.info.run_id)
        return str(best.info.run_id)

    @contextmanager
    def _interruptible(self, experiment: str, cell: Cell) -> Iterator[None]:
        """On Ctrl-C, mark what is open of a cell as KILLED; the next attempt removes it."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            with suppress(*_STORE_ERRORS):
                for run in self._find(experiment, cell.key.digest):
                    if run.info.status == "RUNNING":
                        self.client.set_terminated(run.info.run_id, "KILLED")
            raise

    def log_failure(self, cell: Cell, reason: str) -> str:
        """Record that a cell failed, with the traceback; a later success replaces it."""
        with _speaking(self.uri):
            experiment = self._experiment(cell)
            older = self._find(experiment, cell.key.digest)
            note = f"**Failed.** Run it again: `{cell.facts.command}`\n\n```\n{reason[-4000:]}\n```"
            tags = {**describe.tags(cell), "mlflow.note.content": note}
            with self._interruptible(experiment, cell):
                run = str(self._start(experiment, tags, describe.run_name(cell)).info.run_id)
                self._values(run, {}, describe.params(cell))
                self.client.log_text(run, reason, "traceback.txt")
                self.client.set_terminated(run, "FAILED")
            good = {old.info.run_id for old in older if old.info.status == "FINISHED"}  # a result is never thrown away
            for old in older:
                if not {old.info.run_id, old.data.tags.get("mlflow.parentRunId")} & good:
                    self.client.delete_run(old.info.run_id)
            return run

    def adopt(self, digests: Container[str]) -> None:
        """Take the mark of a study from the cells with these digests: a run has asked for them too."""
        with _speaking(self.uri):
            for run in self._runs("cell", f" AND tags.`{describe.STUDY}` LIKE '%'"):
                if run.data.tags["churn.cell"] in digests:
                    facts = {k: v for k, v in json.loads(run.data.tags["churn.facts"]).items() if k != describe.STUDY}
                    self.client.set_tag(run.info.run_id, "churn.facts", json.dumps(facts))
                    self.client.delete_tag(run.info.run_id, describe.STUDY)

    def log_record(self, record: Record, note: str = "") -> None:
        """Keep a record of a study; the newest of a key counts. ``note`` is shown on its page, as Markdown."""
        tags = {
            "churn.kind": "record",
            "churn.study": record.study,
            "churn.key": record.key,
            "churn.code": record.code,
            "mlflow.note.content": note,
        }
        with _speaking(self.uri):
            found = self.client.get_experiment_by_name(STUDIES)
            where = found.experiment_id if found else self._create(STUDIES, "studies", {"churn.studies": "1"})
            with deferred():
                run = self._start(where, tags, " · ".join(filter(None, (record.study, record.key)))).info.run_id
                self.client.log_text(run, json.dumps(record.content, indent=1), "record.json")
                self.client.set_terminated(run, "FINISHED")

    def records(self) -> list[Record]:
        """The records of all studies, newest first; a damaged one is left out with a line in ``unreadable``."""
        found = []
        with _speaking(self.uri):
            experiment = self.client.get_experiment_by_name(STUDIES)
            runs = self._search([experiment.experiment_id], "attributes.status = 'FINISHED'") if experiment else []
            for run in sorted(runs, key=_recorded, reverse=True):
                tags = run.data.tags
                try:
                    content = json.loads((_folder(run.info.artifact_uri) / "record.json").read_text(encoding="utf-8"))
                    found.append(Record(tags["churn.study"], tags["churn.key"], tags["churn.code"], content))
                except (MlflowException, OSError, KeyError, ValueError) as error:
                    self.unreadable.append(f"{run.info.run_name} ({run.info.run_id}) cannot be read: {error!r}")
        return found

    def describe_launch(self, lines: list[str]) -> None:
        """If ``mlflow run`` started us: say in its run what was done, and where to look."""
        if run_id := os.environ.get("MLFLOW_RUN_ID"):
            with _speaking(self.uri):
                self.client.set_tag(run_id, "mlflow.note.content", "\n\n".join(lines))

    def page(self, dataset: str) -> str:
        """Where in the MLflow UI the runs of a dataset are, as the part of the address after the host."""
        with _speaking(self.uri):
            found = self.client.get_experiment_by_name(EXPERIMENT + dataset)
        if found is None:
            return "#/experiments"
        return f"#/experiments/{found.experiment_id}/runs?viewStateShareKey={describe.VIEW}"

    def _experiment(self, cell: Cell) -> str:
        name = EXPERIMENT + cell.key.dataset
        found = self.client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        return self._create(name, cell.key.dataset, describe.experiment_tags(cell))

    def _create(self, name: str, folder: str, tags: dict[str, str]) -> str:
        place = None if os.environ.get("MLFLOW_TRACKING_URI") else (home() / "mlruns" / folder).as_uri()
        try:
            return str(self.client.create_experiment(name, artifact_location=place, tags=tags))
        except MlflowException:  # another process was first
            found = self.client.get_experiment_by_name(name)
            if found is None:
                raise
            return str(found.experiment_id)

    def _runs(self, kind: str, further: str = "") -> list[Run]:
        experiments = [e.experiment_id for e in self.client.search_experiments() if "churn.dataset" in e.tags]
        return self._search(experiments, f"tags.`churn.kind` = '{kind}'{further}") if experiments else []

    def _find(self, experiment: str, digest: str, kind: str = "") -> list[Run]:
        """The runs of a cell, nested ones too, or those of one kind."""
        query = f"tags.`churn.cell` = '{digest}'"
        return self._search([experiment], f"{query} AND tags.`churn.kind` = '{kind}'" if kind else query)

    def _search(self, experiments: list[str], query: str) -> list[Run]:
        runs: list[Run] = []
        token = None
        while True:
            page = self.client.search_runs(experiments, query, max_results=1000, page_token=token)
            runs += page
            if not (token := page.token):
                return runs

    def _start(self, experiment: str, tags: dict[str, str], name: str, seconds: float = 0.0) -> Run:
        """A new run that began ``seconds`` ago, so that the UI shows how long the training took."""
        start = int((time.time() - seconds) * 1000)
        return self.client.create_run(experiment, start_time=start, tags=tags, run_name=name)

    def _values(self, run: str, values: dict[str, float], params: dict[str, Any]) -> None:
        now = int(time.time() * 1000)
        self.client.log_batch(
            run,
            metrics=[Metric(name, value, now, 0) for name, value in values.items()],
            params=[Param(name, str(value)) for name, value in params.items()],
        )

    def _inputs(self, run: str, cell: Cell) -> None:
        source = CodeDatasetSource({"mlflow.source.name": cell.facts.dataset.source})
        name = f"split {cell.key.canonical_seed}"
        data = MetaDataset(source, name=name, digest=cell.key.problem)  # type: ignore[abstract]
        context = [InputTag("mlflow.data.context", "training")]
        inputs = [DatasetInput(data._to_mlflow_entity(), context)]
        try:
            self.client.log_inputs(run, inputs)
        except MlflowException as error:
            if error.error_code != "BAD_REQUEST":  # that of a refused insertion
                raise
            self.client.log_inputs(run, inputs)  # another driver has inserted the dataset after MLflow looked for it

    def _log_seed(self, experiment: str, parent: str, cell: Cell, i: int, seed: int) -> None:
        """One nested run, in as few transactions as MLflow allows."""
        tags = {"mlflow.parentRunId": parent, "churn.kind": "seed", "churn.cell": cell.key.digest}
        info = self._start(experiment, {**tags, "churn.train_seed": str(seed)}, f"train seed {seed}").info
        one = {name: predictions.only([i]) for name, predictions in cell.predictions.items()}
        values = describe.summarise(one) | describe.against_others(cell.predictions, i)
        self._values(info.run_id, {k: v for k, v in values.items() if v == v}, {})
        with tempfile.TemporaryDirectory() as folder:
            for evalset, predictions in one.items():
                to_table(predictions).drop(columns="train_seed").to_parquet(Path(folder) / f"{evalset}.parquet")
            get_artifact_repository(info.artifact_uri, tracking_uri=self.uri).log_artifacts(folder, "predictions")
        self.client.set_terminated(info.run_id, "FINISHED")

    def _relative_compute(self, experiment: str, cell: Cell) -> dict[str, float]:
        """Training time in multiples of ERM's on the same problem, where the store has ERM's already."""
        if cell.key.method == REFERENCE:
            return {"compute_vs_erm": 1.0}
        query = f"tags.`churn.method` = '{REFERENCE}' AND tags.`churn.problem` = '{cell.key.problem}'"
        runs = [r for r in self._search([experiment], query) if "fit_seconds" in r.data.metrics]
        return {"compute_vs_erm": cell.fit_seconds / runs[0].data.metrics["fit_seconds"]} if runs else {}

    def _read(self, run: Run, nested: list[Run]) -> Cell:
        tags = run.data.tags
        content = {"key": json.loads(tags["churn.key"]), "facts": json.loads(tags["churn.facts"])}
        key = decode_key(content["key"])
        children = {int(child.data.tags["churn.train_seed"]): child for child in nested}
        tables: dict[str, list[pa.Table]] = {}
        for seed in key.seeds:
            folder = _folder(f"{children[seed].info.artifact_uri}/predictions")
            files = sorted(folder.glob("*.parquet"))
            if not files:
                raise FileNotFoundError(f"{folder} is empty: train again with --force")
            for file in files:
                table = pq.ParquetFile(file).read()
                tables.setdefault(file.stem, []).append(table.append_column("train_seed", [[seed] * len(table)]))
        predictions = {name: from_table(pa.concat_tables(parts).to_pandas()) for name, parts in tables.items()}
        content |= {"title": tags["churn.title"], "fit_seconds": run.data.metrics["fit_seconds"]}
        return decode(content, predictions, run.info.run_id)


def _folder(artifact_uri: str) -> Path:
    """A folder of artifacts on this machine; what lies here already is not copied."""
    here = urlsplit(artifact_uri)
    if here.scheme in ("", "file") and not here.netloc:
        return Path(url2pathname(here.path))
    return Path(download_artifacts(artifact_uri=artifact_uri))


def _recorded(run: Run) -> int:
    """When a run was finished, or else started."""
    return int(run.info.end_time or run.info.start_time)


def _begun(run: Run) -> tuple[float, str]:
    """When recording of a cell's run began; its start time is that of the training."""
    training = float(json.loads(run.data.tags.get("churn.facts", "{}")).get("wall_seconds", 0))
    return run.info.start_time + 1000 * training, str(run.info.run_id)
