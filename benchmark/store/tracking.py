"""Cells in MLflow: an experiment for each dataset, a run for each cell, a nested run for each train seed."""

import gc
import json
import logging
import os
import textwrap
import time
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

# Read by MLflow on import. It would send what is done here to its makers, and a dead server would block it for minutes.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")

import numpy as np
import pyarrow as pa
from mlflow.artifacts import download_artifacts
from mlflow.data.code_dataset_source import CodeDatasetSource
from mlflow.entities import Dataset, DatasetInput, Experiment, InputTag, Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from pydantic_core import from_json

from benchmark.files import home
from benchmark.store import describe, note
from benchmark.store.artifacts import SUMS, local_folder, sums, upload, verify
from benchmark.store.cell import Cell, CellKey, Record, decode, decode_key, decode_record
from benchmark.store.interrupt import checkpoint, deferred
from benchmark.store.opening import prepare, store_errors, translated_errors, uri
from benchmark.store.tables import from_table, read_table, to_frame, to_table
from benchmark.types import PAPER, REFERENCE

logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # its tracebacks repeat what is raised here

STUDIES = "churn-studies"
"""Experiment that holds the records of studies."""
ORDER = "churn.order"
"""Tag that orders cells and records within an experiment: one more than the highest there when recording began.

Times would not do, because the clocks of several machines may differ.
"""

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

    def statuses(self) -> dict[str, str]:
        """Return FINISHED, or otherwise the status of the newest run, for each cell by digest; reads no predictions."""
        with translated_errors(self.uri):
            runs = sorted(self._runs("cell"), key=lambda run: (run.info.status == "FINISHED", _order(run)))
        return {run.data.tags.get("churn.cell", ""): run.info.status for run in runs}

    def cells(self, only: Container[str] | None = None, datasets: Collection[str] = ()) -> Iterator[Cell]:
        """Yield finished cells with their predictions, newest first; add a line to ``unreadable`` for each damaged one.

        ``only`` restricts them to the given digests, ``datasets`` to those of datasets with these names.
        """
        with translated_errors(self.uri):
            edited = self._runs("", "tags.`churn.facts` LIKE '%'", datasets)
            known = {run.info.run_id: run for run in (*self._runs("cell", "", datasets), *edited)}
            runs = [run for run in known.values() if run.info.status == "FINISHED"]
            if only is not None:
                runs = [run for run in runs if run.data.tags.get("churn.cell") in only]
            nested: dict[str, list[Run]] = {}
            experiments = list({run.info.experiment_id for run in runs})
            seeds = self._search(experiments, "tags.`churn.kind` = 'seed'") if runs else []
            for run in seeds:  # fetched at once, as a query for each cell would be slow
                nested.setdefault(run.data.tags.get("mlflow.parentRunId", ""), []).append(run)
            unchecked = 0
            for run in sorted(runs, key=_order, reverse=True):
                of_cell = nested.get(run.info.run_id, [])
                try:
                    cell = self._read(run, of_cell)
                except (MlflowException, OSError, KeyError, ValueError) as error:
                    self.unreadable.append(f"{_called(run)} is left out because it cannot be read: {_reason(error)}")
                    continue
                unchecked += not all(SUMS in one.data.tags for one in of_cell)
                yield cell
            if unchecked:
                self.unreadable.append(
                    f"{self.uri}: cells recorded by an earlier version, without checksums: {unchecked}. Damage to "
                    "their files can go unnoticed; to record them again, run their commands with --force"
                )

    def failures(self) -> list[str]:
        """Return a line for each cell that failed and never finished, with the command to run it again."""
        with translated_errors(self.uri):
            runs = self._runs("cell")
        finished = {run.data.tags.get("churn.cell") for run in runs if run.info.status == "FINISHED"}
        failed = [run for run in sorted(runs, key=_order, reverse=True) if run.info.status == "FAILED"]
        tags = [(run, run.data.tags) for run in failed if run.data.tags.get("churn.cell") not in finished]
        return [
            f"{_called(run)} on {of.get('churn.dataset', 'a dataset')} failed. Run it again: {of.get('command')}"
            for run, of in tags
        ]

    def report(self, run_id: str, name: str) -> str:
        """Return a text stored with a cell's run, such as ``health.txt``; empty if there is none of that name.

        Adds a line to ``unreadable`` if the file is damaged, and returns an empty text.
        """
        with translated_errors(self.uri):
            run = self.client.get_run(run_id)
            if name not in {file.path for file in self.client.list_artifacts(run_id)}:
                return ""
            content = Path(download_artifacts(artifact_uri=f"{run.info.artifact_uri}/{name}")).read_bytes()
        try:
            verify(run, {name: content})
            return content.decode()
        except ValueError as error:
            self.unreadable.append(f"{_called(run)}: {name} is left out because it cannot be read: {error}")
            return ""

    def log(self, cell: Cell) -> str:
        """Record a finished cell and return its run id.

        One complete run remains, even after interrupted attempts and if other drivers record the same cell. A driver
        that finishes removes all other attempts, as it cannot tell whether their drivers are alive. One whose attempt
        was removed for an older one records the cell again.
        """
        with translated_errors(self.uri):
            experiment = self._experiment(cell)
            shown = note.show(cell, self._reference(experiment, cell))
            reports = {name: text.encode() for name, text in cell.reports.items()}
            tags = {**describe.tags(cell), **shown.tags, **sums(reports)}
            with self._interruptible(experiment, cell):
                while True:
                    run = self._start(experiment, tags, describe.run_name(cell), cell.facts.wall_seconds)
                    with self._removed_by_another(run):
                        upload(run.info, {**reports, **shown.files}, self.uri)
                        self._log_whole(experiment, run.info.run_id, cell, shown.metrics)
                    best = self._one_remains(experiment, cell)
                    if best and _order(best)[0] >= _order(run)[0]:
                        break
            if cell.key.pipeline == REFERENCE:
                self._show_again(experiment, cell)
            return str(best.info.run_id)

    @contextmanager
    def _removed_by_another(self, run: Run) -> Iterator[None]:
        """Ignore the error of writing to a run that another driver has removed."""
        try:
            yield
        except MlflowException as error:
            refused = error.error_code == "INVALID_PARAMETER_VALUE"
            if not refused or self.client.get_run(run.info.run_id).info.lifecycle_stage == "active":
                raise

    def _log_whole(self, experiment: str, parent: str, cell: Cell, values: Mapping[str, float]) -> None:
        self._values(parent, values, describe.params(cell))
        self._inputs(parent, cell)
        for i, seed in enumerate(cell.key.seeds):
            checkpoint()
            self._log_seed(experiment, parent, cell, i, seed)
        self.client.set_terminated(parent, "FINISHED")

    def _one_remains(self, experiment: str, cell: Cell) -> Run | None:
        """Remove all runs of a cell but the newest finished one and return it; None if no finished one is left."""
        while True:
            runs = self._find(experiment, cell.key.digest)
            attempts = {run.info.run_id: run for run in self._find(experiment, cell.key.digest, "cell")}
            finished = [run for run in attempts.values() if run.info.status == "FINISHED"]
            if not finished:
                return None
            best = max(finished, key=_order)
            for run in [*attempts.values(), *runs]:  # parents first, so that none is read without its nested runs
                if run.data.tags.get("mlflow.parentRunId", run.info.run_id) != best.info.run_id:
                    self.client.delete_run(run.info.run_id)
            if self.client.get_run(best.info.run_id).info.lifecycle_stage == "active":
                return best  # otherwise another driver has removed it for a newer one, which may be gone by now

    @contextmanager
    def _interruptible(self, experiment: str, cell: Cell) -> Iterator[None]:
        """On Ctrl-C, mark the open runs of a cell as KILLED; the next attempt removes them."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            with suppress(*store_errors()):
                for run in self._find(experiment, cell.key.digest):
                    if run.info.status == "RUNNING":
                        self.client.set_terminated(run.info.run_id, "KILLED")
            raise

    def log_failure(self, cell: Cell, reason: str) -> str:
        """Record the failure of a cell, with the traceback, until a later success replaces it; return the run id."""
        with translated_errors(self.uri):
            experiment = self._experiment(cell)
            older = self._find(experiment, cell.key.digest)
            text = f"**Failed.** Run it again: `{cell.facts.command}`\n\n```\n{reason[-4000:]}\n```"
            tags = {**describe.tags(cell), **note.noted(text)}
            with self._interruptible(experiment, cell):
                run = str(self._start(experiment, tags, describe.run_name(cell)).info.run_id)
                self._values(run, {}, describe.params(cell))
                self.client.log_text(run, reason, "traceback.txt")
                self.client.set_terminated(run, "FAILED")
            good = {old.info.run_id for old in older if old.info.status == "FINISHED"}  # finished results are kept
            for old in older:
                if not {old.info.run_id, old.data.tags.get("mlflow.parentRunId")} & good:
                    self.client.delete_run(old.info.run_id)
            return run

    def adopt(self, digests: Container[str]) -> None:
        """Remove the mark of a study from the cells with these digests, because a run has requested them."""
        with translated_errors(self.uri):
            for run in self._runs("cell", f"tags.`{describe.STUDY}` LIKE '%'"):
                if run.data.tags.get("churn.cell") in digests and (facts := _facts(run)):
                    facts = {k: v for k, v in facts.items() if k != describe.STUDY}
                    self.client.set_tag(run.info.run_id, "churn.facts", json.dumps(facts))
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
                run = self._start(experiment, tags, " · ".join(filter(None, (record.study, record.key))))
                with self._removed_by_another(run):
                    upload(run.info, files, self.uri)
                    self.client.set_terminated(run.info.run_id, "FINISHED")
                for other in self._search([experiment], "attributes.status = 'RUNNING'"):  # left by a kill
                    same = all(other.data.tags.get(name) == tags[name] for name in ("churn.study", "churn.key"))
                    if same and _order(other)[0] < _order(run)[0]:
                        self.client.delete_run(other.info.run_id)

    def records(self) -> list[Record]:
        """Return the records of all studies, newest first; add a line to ``unreadable`` for each damaged one."""
        records = []
        with translated_errors(self.uri):
            experiment = self.client.get_experiment_by_name(STUDIES)
            runs = self._search([experiment.experiment_id], "attributes.status = 'FINISHED'") if experiment else []
            for run in sorted(runs, key=_order, reverse=True):
                try:
                    content = (local_folder(run.info.artifact_uri) / "record.json").read_bytes()
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
        if launcher := os.environ.get("MLFLOW_RUN_ID"):
            datasets = {key.digest: key.dataset for key in cells}
            with translated_errors(self.uri):
                found = self._runs("cell", "", {*datasets.values()}) if datasets else []
                runs = [run for run in found if run.data.tags.get("churn.cell") in datasets]
                links = [f"- {_linked(run)}, on {run.data.tags['churn.dataset']}" for run in runs[:MOST_LINKS]]
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
            location = None if os.environ.get("MLFLOW_TRACKING_URI") else (home() / "mlruns" / folder).as_uri()
            try:
                return str(self.client.create_experiment(name, artifact_location=location, tags=tags))
            except MlflowException:  # another process may have created it
                if (experiment := self.client.get_experiment_by_name(name)) is None:
                    raise
        return str(experiment.experiment_id)

    def _experiments(self, datasets: Collection[str] = ()) -> list[Experiment]:
        """Return the experiments of all datasets, or of those with these names, under all samplings."""
        found = self.client.search_experiments()
        of_cells = [e for e in found if "churn.dataset" in e.tags or e.name.startswith("churn/")]
        named = {e.experiment_id: e.tags.get("churn.dataset") or e.name.split("/")[1] for e in of_cells}
        return [e for e in of_cells if not datasets or named[e.experiment_id] in datasets]

    def _runs(self, kind: str, further: str = "", datasets: Collection[str] = ()) -> list[Run]:
        """Return the runs of a kind, or of any, in the experiments of datasets that meet a further condition."""
        experiments = [e.experiment_id for e in self._experiments(datasets)]
        query = " AND ".join(filter(None, [f"tags.`churn.kind` = '{kind}'" if kind else "", further]))
        return self._search(experiments, query) if experiments else []

    def _find(self, experiment: str, digest: str, kind: str = "") -> list[Run]:
        """Return the runs of a cell, including nested ones, or those of one kind."""
        query = f"tags.`churn.cell` = '{digest}'"
        return self._search([experiment], f"{query} AND tags.`churn.kind` = '{kind}'" if kind else query)

    def _search(self, experiments: list[str], query: str) -> list[Run]:
        runs: list[Run] = []
        token = None
        while True:
            with _uncollected():
                page = self.client.search_runs(experiments, query, max_results=1000, page_token=token)
            runs += page
            if not (token := page.token):
                return runs

    def _start(self, experiment: str, tags: dict[str, str], name: str, seconds: float = 0.0) -> Run:
        """Start the run of a cell or record, dated ``seconds`` ago, so that the UI shows the duration of training."""
        numbered = f"tags.`{ORDER}` LIKE '%'"  # leaves out nested runs, which are ten times as many
        newest = self.client.search_runs([experiment], numbered, order_by=[f"tags.`{ORDER}` DESC"], max_results=1)
        order = 1 + max((_order(run)[0] for run in newest), default=0)
        return self._create(experiment, {**tags, ORDER: f"{order:09d}"}, name, seconds)  # digits to sort as text

    def _create(self, experiment: str, tags: dict[str, str], name: str, seconds: float = 0.0) -> Run:
        start = int((time.time() - seconds) * 1000)
        return self.client.create_run(experiment, start_time=start, tags=tags, run_name=name)

    def _values(self, run: str, values: Mapping[str, float], params: dict[str, Any]) -> None:
        now = int(time.time() * 1000)
        self.client.log_batch(
            run,
            metrics=[Metric(name, value, now, 0) for name, value in values.items()],
            params=[Param(name, str(value)) for name, value in params.items()],
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

    def _log_seed(self, experiment: str, parent: str, cell: Cell, i: int, seed: int) -> None:
        """Record one nested run, in as few transactions as MLflow allows."""
        one = {name: replace(p.only([i]), sampling=PAPER) for name, p in cell.predictions.items()}
        tables = {name: to_table(p).drop(columns="train_seed").to_parquet() for name, p in one.items()}
        files = {f"predictions/{name}.parquet": table for name, table in tables.items()}
        tags = {"mlflow.parentRunId": parent, "churn.kind": "seed", "churn.cell": cell.key.digest}
        tags |= {"churn.train_seed": str(seed), **sums(files)}
        info = self._create(experiment, tags, f"train seed {seed}").info
        self._values(info.run_id, describe.metrics_of_seed(cell.predictions, i), describe.params_of_seed(cell, seed))
        upload(info, files, self.uri)
        self.client.set_terminated(info.run_id, "FINISHED")

    def _beside(self, experiment: str, cell: Cell, query: str = "") -> list[Run]:
        """Return the finished runs of other cells on the same data and split, newest first."""
        same = f"tags.`churn.problem` = '{cell.key.problem}' AND tags.`churn.kind` = 'cell'{query}"
        runs = self._search([experiment], f"{same} AND attributes.status = 'FINISHED'")
        runs = [run for run in runs if run.data.tags.get("churn.cell") != cell.key.digest]
        return sorted(runs, key=_order, reverse=True)

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
                # A clock that was fast must not make an older value the current one.
                now = max([int(time.time() * 1000), *(metric.timestamp + 1 for metric in run.data._metric_objs)])
                metrics = [Metric(name, value, now, 0) for name, value in shown.metrics.items()]
                tags = [] if edited else [RunTag(name, text) for name, text in shown.tags.items()]
                self.client.log_batch(run.info.run_id, metrics, [], tags)

    def _read_whole(self, run: Run) -> Cell | None:
        """Return the cell of a run with its nested ones; None if it cannot be read."""
        nested = self._search([run.info.experiment_id], f"tags.`mlflow.parentRunId` = '{run.info.run_id}'")
        with suppress(MlflowException, OSError, KeyError, ValueError):
            return self._read(run, nested)
        return None

    def _read(self, run: Run, nested: list[Run]) -> Cell:
        tags = run.data.tags
        if (kind := tags["churn.kind"]) != "cell":
            raise ValueError(f"its tag churn.kind is {kind[:80]!r}, expected 'cell'")
        content = {
            "key": from_json(tags["churn.key"]),
            "facts": from_json(tags["churn.facts"]),
            "title": tags["churn.title"],
            "fit_seconds": run.data.metrics["fit_seconds"],
        }
        key = decode_key(content["key"], tags["churn.cell"])
        children: dict[str, Run] = {}
        for child in nested:
            name = child.data.tags["churn.train_seed"]
            if children.setdefault(name, child) is not child:
                raise ValueError(f"it has two nested runs for train seed {name[:80]}")
        tables: dict[str, list[pa.Table]] = {}
        for seed in key.seeds:
            if str(seed) not in children:
                raise ValueError(f"it has no nested run for train seed {seed}: train the cell again with --force")
            child = children[str(seed)]
            folder = local_folder(f"{child.info.artifact_uri}/predictions")
            files = {f"predictions/{file.name}": file.read_bytes() for file in sorted(folder.glob("*.parquet"))}
            if not files:
                raise FileNotFoundError(f"{folder} is empty: train the cell again with --force")
            verify(child, files)
            for name, file in files.items():
                try:
                    table = read_table(file)
                    table = table.add_column(0, "train_seed", [np.full(len(table), seed)])
                except ValueError as error:
                    raise ValueError(f"train seed {seed}, {name}: {error}") from error
                tables.setdefault(Path(name).stem, []).append(table)
        predictions = {name: from_table(to_frame(pa.concat_tables(parts))) for name, parts in tables.items()}
        return decode(content, predictions, run.info.run_id)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the garbage collector, which would walk the whole heap again and again as MLflow builds a page of runs."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _linked(run: Run) -> str:
    """Return the name of a run as a link to its page."""
    return f"[{run.info.run_name}]({describe.address(run.info.experiment_id, run.info.run_id)})"


def _called(run: Run) -> str:
    return f"{run.info.run_name} ({run.info.run_id})"


def _reason(error: Exception) -> str:
    """Return an error in a few words: a KeyError is a missing tag or metric."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return " ".join(str(error).split())[:500]


def _facts(run: Run) -> dict[str, Any]:
    """Return the encoded facts of a run; none if they cannot be read."""
    try:
        facts = from_json(run.data.tags.get("churn.facts", "{}"))
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def _order(run: Run) -> tuple[int, int, str]:
    """Return what sorts runs of cells or records by age; runs without ``ORDER`` are older and sorted by their times."""
    try:
        order = int(run.data.tags.get(ORDER, 0))
    except ValueError:  # the tag was edited
        order = 0
    return order, int(run.info.end_time or run.info.start_time), str(run.info.run_id)
