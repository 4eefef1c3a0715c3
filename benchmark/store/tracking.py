"""Cells in MLflow: an experiment for each dataset, a run for each cell, a nested run for each train seed."""

import json
import logging
import os
import textwrap
import time
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# MLflow would send what is done here to its makers, wait for a dead server for minutes, and print lines of its own.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")

from mlflow.data.code_dataset_source import CodeDatasetSource
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID as PARENT
from pydantic_core import from_json

from benchmark.store import describe, earlier, folder, note
from benchmark.store.artifacts import local_folder, names, sums, upload, upload_folder, verify
from benchmark.store.cell import Cell, CellKey, Record, decode_record
from benchmark.store.interrupt import deferred
from benchmark.store.opening import all_pages, file_of, prepare, refused, translated_errors, uri
from benchmark.types import REFERENCE

logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # its tracebacks repeat what is raised here

STUDIES = "churn-studies"
"""Experiment that holds the records of studies."""
GONE = "GONE"
"""Status of a finished run whose cell, or its predictions on the ID test, is no longer among its artifacts."""
LONGEST_NAME, MOST_LINKS = 100, 50
"""Characters of the name, and links in the description, of the run of ``mlflow run``."""


class Store:
    """The cells in an MLflow tracking store. Methods raise TrackingError if the store fails."""

    def __init__(self, address: str = "") -> None:
        self.uri = address or uri()
        self.unreadable: list[str] = []
        self._references: dict[str, Cell | None] = {}
        with translated_errors(self.uri):
            prepare(self.uri)
            self.client = MlflowClient(self.uri)
            self.client.search_experiments(max_results=1)

    def statuses(self, keys: Iterable[CellKey] = ()) -> dict[str, str]:
        """Return the status of each cell by digest: FINISHED, or otherwise that of its newest run.

        ``keys`` restricts them to cells on the same datasets. Reads no predictions, but looks whether the files of the
        cells with these keys are there: see ``GONE``.
        """
        wanted = {key.digest: key.dataset for key in keys}
        with translated_errors(self.uri):
            oldest_first = reversed(self._runs("cell", "", {*wanted.values()}))
            runs = sorted(oldest_first, key=lambda run: run.info.status == "FINISHED")
            known = {run.data.tags.get("churn.cell", ""): run for run in runs}
            looked_at = {
                digest: f"{run.info.artifact_uri}/{folder.CELL}"
                for digest, run in known.items()
                if digest in wanted and run.info.status == "FINISHED" and earlier.KEY not in run.data.tags
            }
            with ThreadPoolExecutor() as pool:  # a server is asked about each
                here = pool.map(partial(names, address=self.uri), looked_at.values())
                whole = {folder.HEAD, f"id{folder.TABLE}"}
                gone = {digest for digest, files in zip(looked_at, here, strict=True) if not whole <= files}
        return {digest: GONE if digest in gone else run.info.status for digest, run in known.items()}

    def refuse_closed(self, keys: Iterable[CellKey]) -> None:
        """Raise TrackingError for an experiment of ``keys`` that is deleted, or that the user may not write to."""
        with translated_errors(self.uri):
            for name, dataset in {describe.experiment_name(key): key.dataset for key in keys}.items():
                if experiment := self.client.get_experiment_by_name(name):
                    self.client.set_experiment_tag(experiment.experiment_id, "churn.dataset", dataset)

    def cells(self, only: Container[str] | None = None, datasets: Collection[str] = ()) -> Iterator[Cell]:
        """Yield finished cells with their predictions, newest first; add a line to ``unreadable`` for each damaged one.

        ``only`` restricts them to the given digests, ``datasets`` to those of datasets with these names.
        """
        with translated_errors(self.uri):
            runs = [run for run in self._runs("cell", "", datasets) if run.info.status == "FINISHED"]
            if only is not None:
                runs = [run for run in runs if run.data.tags.get("churn.cell") in only]
            for run in runs:
                try:
                    yield self._read(run)
                except (MlflowException, OSError, KeyError, ValueError) as error:
                    again = f"Train it again: {run.data.tags.get('command', 'its command')} --force"
                    why = f"is left out because it cannot be read: {_reason(error)}"
                    self.unreadable.append(f"{_called(run)} {why}. {again}")

    def failures(self) -> list[str]:
        """Return a line for each cell that failed and never finished, with the command to run it again."""
        with translated_errors(self.uri):
            runs = self._runs("cell")
        finished = {run.data.tags.get("churn.cell") for run in runs if run.info.status == "FINISHED"}
        failed = [run for run in runs if run.info.status == "FAILED"]
        left = [(run, run.data.tags) for run in failed if run.data.tags.get("churn.cell") not in finished]
        return [
            f"{_called(run)} on {tags.get('churn.dataset', 'a dataset')} failed. Run it again: {tags.get('command')}"
            for run, tags in left
        ]

    def log(self, cell: Cell, path: Path | None = None) -> str:
        """Record a finished cell, which is in the folder ``path`` if that is given, and return its run id.

        One complete run remains, even after interrupted attempts and if other drivers record the same cell. A driver
        that finishes removes all other attempts, as it cannot tell whether their drivers are alive. One whose attempt
        was removed for an older one records the cell again.
        """
        if path is None:
            with TemporaryDirectory() as new:
                folder.save(cell, Path(new))
                return self.log(cell, Path(new))
        with translated_errors(self.uri):
            experiment = self._experiment(cell)
            shown = note.show(cell, self._reference(experiment, cell))
            tags = {**describe.tags(cell), **shown.tags}
            while True:
                began = _now()
                run = self._create(experiment, tags, describe.run_name(cell), cell.facts.wall_seconds)
                with self._removed_by_another(run):
                    upload(run.info, shown.files, self.uri)
                    upload_folder(run.info, path, folder.CELL, self.uri)
                    self._log_whole(experiment, run.info.run_id, cell, shown.metrics)
                best = self._one_remains(experiment, cell)
                if best and best.info.end_time >= began:
                    break
            if cell.key.pipeline == REFERENCE:
                self._show_again(experiment, cell)
            return str(best.info.run_id)

    @contextmanager
    def _removed_by_another(self, run: Run) -> Iterator[None]:
        """Ignore the error of writing to a run that another driver has removed; mark one that is refused as killed."""
        try:
            yield
        except MlflowException as error:
            if not refused(error):
                raise
            if self.client.get_run(run.info.run_id).info.lifecycle_stage == "active":
                self.client.set_terminated(run.info.run_id, "KILLED")
                raise

    def _log_whole(self, experiment: str, parent: str, cell: Cell, values: Mapping[str, float]) -> None:
        self._values(parent, values, describe.params(cell))
        self._inputs(parent, cell)
        for i, seed in enumerate(cell.key.seeds):  # in as few transactions as MLflow allows
            tags = {PARENT: parent, "churn.kind": "seed", "churn.cell": cell.key.digest}
            tags["churn.train_seed"] = str(seed)
            run = self._create(experiment, tags, f"train seed {seed}").info.run_id
            own = describe.of_key(cell.key) | {"train_seed": seed}  # by which the UI can group and filter retrainings
            self._values(run, describe.metrics_of_seed(cell.predictions, i), own)
            self.client.set_terminated(run, "FINISHED")
        self.client.set_terminated(parent, "FINISHED")

    def _one_remains(self, experiment: str, cell: Cell) -> Run | None:
        """Remove all runs of a cell but the newest finished one and return it; None if no finished one is left."""
        while True:
            runs = self._find(experiment, cell.key.digest)
            attempts = [run for run in runs if PARENT not in run.data.tags]
            best = next((run for run in attempts if run.info.status == "FINISHED"), None)
            if best is None:
                return None
            for run in [*attempts, *runs]:  # parents first, so that none is read without its nested runs
                if run.data.tags.get(PARENT, run.info.run_id) != best.info.run_id:
                    self.client.delete_run(run.info.run_id)
            if self.client.get_run(best.info.run_id).info.lifecycle_stage == "active":
                return best  # otherwise another driver has removed it for a newer one, which may be gone by now

    def log_failure(self, cell: Cell, reason: str) -> str:
        """Record the failure of a cell, with the traceback, until a later success replaces it; return the run id."""
        with translated_errors(self.uri):
            experiment = self._experiment(cell)
            older = self._find(experiment, cell.key.digest)
            text = f"**Failed.** Run it again: `{cell.facts.command}`\n\n```\n{reason[-4000:]}\n```"
            tags = {**describe.tags(cell), **note.noted(text)}
            run = str(self._create(experiment, tags, describe.run_name(cell)).info.run_id)
            self._values(run, {}, describe.params(cell))
            self.client.log_text(run, reason, "traceback.txt")
            self.client.set_terminated(run, "FAILED")
            good = {old.info.run_id for old in older if old.info.status == "FINISHED"}  # finished results are kept
            for old in older:
                if not {old.info.run_id, old.data.tags.get(PARENT)} & good:
                    self.client.delete_run(old.info.run_id)
            return run

    def adopt(self, digests: Container[str]) -> None:
        """Remove the mark of a study from the cells with these digests, because a run has requested them."""
        with translated_errors(self.uri):
            for run in self._runs("cell", f"tags.`{describe.STUDY}` LIKE '%'"):
                if run.data.tags.get("churn.cell") in digests:
                    self.client.delete_tag(run.info.run_id, describe.STUDY)

    def log_record(self, record: Record, text: str = "") -> None:
        """Store a record of a study; the newest of each key counts. ``text`` is its note in Markdown."""
        files = {"record.json": json.dumps(record.content, indent=1).encode()}
        tags = {
            "churn.kind": "record",
            "churn.study": record.study,
            "churn.key": record.key,
            "churn.code": record.code,
            note.NOTE: text,
            **sums(files),
        }
        with translated_errors(self.uri):
            experiment = self._ensure_experiment(STUDIES, "studies", {"churn.studies": "1"})
            with deferred():
                run = self._create(experiment, tags, " · ".join(filter(None, (record.study, record.key))))
                with self._removed_by_another(run):
                    upload(run.info, files, self.uri)
                    self.client.set_terminated(run.info.run_id, "FINISHED")
                for other in self._search([experiment], "attributes.status = 'RUNNING'"):  # left by a kill
                    if all(other.data.tags.get(name) == tags[name] for name in ("churn.study", "churn.key")):
                        self.client.delete_run(other.info.run_id)

    def records(self) -> list[Record]:
        """Return the records of all studies, newest first; add a line to ``unreadable`` for each damaged one."""
        records = []
        with translated_errors(self.uri):
            experiment = self.client.get_experiment_by_name(STUDIES)
            runs = self._search([experiment.experiment_id], "attributes.status = 'FINISHED'") if experiment else []
            for run in runs:
                try:
                    with local_folder(run.info.artifact_uri) as files:
                        content = (files / "record.json").read_bytes()
                    verify(run, {"record.json": content})
                    fields = {name: run.data.tags[f"churn.{name}"] for name in ("study", "key", "code")}
                    records.append(decode_record({**fields, "content": from_json(content)}))
                except (MlflowException, OSError, KeyError, ValueError) as error:
                    self.unreadable.append(f"{_called(run)} cannot be read: {_reason(error)}")
        return records

    def describe_launch(self, name: str, lines: Iterable[str], cells: Iterable[CellKey] = ()) -> None:
        """Name and describe the run of ``mlflow run``, if that started this process, with links to those of ``cells``.

        The name is shortened to ``LONGEST_NAME``, the links to the first ``MOST_LINKS``.
        """
        launcher = os.environ.get("MLFLOW_RUN_ID")
        if not launcher:
            return
        datasets = {key.digest: key.dataset for key in cells}
        with translated_errors(self.uri):
            try:
                self.client.get_run(launcher)
            except MlflowException as error:
                if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                    return  # it is a run of another store, such as a notebook's
                raise
            recorded = self._runs("cell", "", {*datasets.values()}) if datasets else []
            runs = [run for run in recorded if run.data.tags.get("churn.cell") in datasets]
            links = [
                f"- [{run.info.run_name}]({describe.address(run.info.experiment_id, run.info.run_id)}), "
                f"on {run.data.tags['churn.dataset']}"
                for run in runs[:MOST_LINKS]
            ]
            if len(runs) > MOST_LINKS:
                links.append(f"- and {len(runs) - MOST_LINKS} more")
            self.client.set_tag(launcher, note.NOTE, "\n\n".join([*lines, "\n".join(links)]).strip())
            self.client.update_run(launcher, name=textwrap.shorten(name, LONGEST_NAME, placeholder=" …"))

    def page(self, key: CellKey) -> str:
        """Return the path in the MLflow UI, after the host, of all runs on the dataset of a cell with its sampling."""
        with translated_errors(self.uri):
            experiment = self.client.get_experiment_by_name(describe.experiment_name(key))
        return describe.address(experiment.experiment_id) if experiment else "#/experiments"

    def _experiment(self, cell: Cell) -> str:
        name = describe.experiment_name(cell.key)
        folder = name.partition("/")[2].replace("/", "-")
        return self._ensure_experiment(name, folder, describe.experiment_tags(cell))

    def _ensure_experiment(self, name: str, folder: str, tags: dict[str, str]) -> str:
        """Return the id of an experiment, created if there is none."""
        if (experiment := self.client.get_experiment_by_name(name)) is None:
            database = file_of(self.uri)  # a server has a place of its own
            location = (database.absolute().parent / "mlruns" / folder).as_uri() if database else None
            try:
                return str(self.client.create_experiment(name, artifact_location=location, tags=tags))
            except MlflowException:  # another process may have created it
                if (experiment := self.client.get_experiment_by_name(name)) is None:
                    raise
        return str(experiment.experiment_id)

    def _runs(self, kind: str, further: str = "", datasets: Collection[str] = ()) -> list[Run]:
        """Return the runs of a kind that meet a further condition, of all datasets or of those with these names."""
        search = partial(self.client.search_experiments, filter_string="name LIKE 'churn/%'")
        names = {e.experiment_id: e.name.split("/")[1] for e in all_pages(search)}
        ours = [e for e, name in names.items() if not datasets or name in datasets]
        query = " AND ".join(filter(None, [f"tags.`churn.kind` = '{kind}'", further]))
        return self._search(ours, query) if ours else []

    def _find(self, experiment: str, digest: str) -> list[Run]:
        """Return the runs of a cell, including nested ones."""
        return self._search([experiment], f"tags.`churn.cell` = '{digest}'")

    def _search(self, experiments: list[str], query: str) -> list[Run]:
        """Return the runs that meet a condition, newest first."""
        runs: list[Run] = all_pages(partial(self.client.search_runs, experiments, query))
        return sorted(runs, key=lambda run: (run.info.end_time or run.info.start_time, run.info.run_id))[::-1]

    def _create(self, experiment: str, tags: dict[str, str], name: str, seconds: float = 0.0) -> Run:
        """Start a run, dated ``seconds`` ago, so that the UI shows the duration of training."""
        start = _now() - int(1000 * seconds)
        return self.client.create_run(experiment, start_time=start, tags=tags, run_name=name)

    def _values(
        self, run: str, values: Mapping[str, float], params: Mapping[str, Any], tags: Mapping[str, str] | None = None
    ) -> None:
        now = _now()
        self.client.log_batch(
            run,
            [Metric(name, value, now, 0) for name, value in values.items()],
            [Param(name, str(value)) for name, value in params.items()],
            [RunTag(name, text) for name, text in (tags or {}).items()],
        )

    def _inputs(self, run: str, cell: Cell) -> None:
        about, rows = cell.facts.dataset, cell.facts.rows
        source = CodeDatasetSource({"mlflow.source.name": about.source})
        profile = {"num_rows": rows["train"], "split": cell.key.canonical_seed, "rows": rows}
        data = Dataset(
            name=about.title or cell.key.dataset,
            digest=cell.key.problem,
            source_type=source._get_source_type(),
            source=source.to_json(),
            profile=json.dumps(profile),
        )
        inputs = [DatasetInput(data, [InputTag("mlflow.data.context", "training")])]
        try:
            self.client.log_inputs(run, inputs)
        except MlflowException as error:
            if error.error_code != "BAD_REQUEST":  # the code of a refused insertion
                raise
            self.client.log_inputs(run, inputs)  # another driver inserted the dataset after MLflow had looked for it

    def _beside(self, experiment: str, cell: Cell, query: str = "") -> list[Run]:
        """Return the finished runs of other cells on the same data and split, newest first."""
        same = f"tags.`churn.problem` = '{cell.key.problem}' AND tags.`churn.kind` = 'cell'{query}"
        runs = self._search([experiment], f"{same} AND attributes.status = 'FINISHED'")
        return [run for run in runs if run.data.tags.get("churn.cell") != cell.key.digest]

    def _reference(self, experiment: str, cell: Cell) -> Cell | None:
        """Return the newest cell of ERM on the same data with a train seed of ``cell``, if the store has one."""
        if cell.key.pipeline == REFERENCE:
            return None
        for run in self._beside(experiment, cell, f" AND tags.`churn.method` = '{REFERENCE}'"):
            if run.info.run_id not in self._references:
                self._references[run.info.run_id] = self._read_whole(run)
            erm = self._references[run.info.run_id]
            if erm and erm.key.pipeline == REFERENCE and {*erm.key.seeds} & {*cell.key.seeds}:
                return erm
        return None

    def _show_again(self, experiment: str, erm: Cell) -> None:
        """Write what the runs on the same data show, now that ERM has changed; a note that was edited stays."""
        for run in self._beside(experiment, erm):
            if (cell := self._read_whole(run)) is None or cell.key.pipeline == REFERENCE:
                continue
            shown = note.show(cell, self._reference(experiment, cell))
            edited = note.digest(run.data.tags.get(note.NOTE, "")) != run.data.tags.get(note.WRITTEN)
            with self._removed_by_another(run):
                upload(run.info, shown.files, self.uri)
                self._values(run.info.run_id, shown.metrics, {}, {} if edited else shown.tags)

    def _read_whole(self, run: Run) -> Cell | None:
        """Return the cell of a run; None if it cannot be read."""
        with suppress(MlflowException, OSError, KeyError, ValueError):
            return self._read(run)
        return None

    def _read(self, run: Run) -> Cell:
        """Return the cell of a run. Raises MlflowException, OSError, KeyError or ValueError if it cannot be read."""
        if earlier.KEY in run.data.tags:
            query = f"tags.`{PARENT}` = '{run.info.run_id}'"
            cell = earlier.read(run, self._search([run.info.experiment_id], query))
        else:
            with local_folder(f"{run.info.artifact_uri}/{folder.CELL}") as files:
                cell = folder.load(files, run.data.tags["churn.cell"], run.info.run_id)
        return cell.with_facts(study=run.data.tags.get(describe.STUDY, ""))  # gone once a run has requested the cell


def _called(run: Run) -> str:
    return f"{run.info.run_name} ({run.info.run_id})"


def _reason(error: Exception) -> str:
    """Return an error in a few words: a KeyError is a missing tag or metric."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return " ".join(str(error).split())[:500]


def _now() -> int:
    """Return the time in milliseconds, as MLflow keeps it."""
    return int(time.time() * 1000)
