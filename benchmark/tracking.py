"""MLflow, and nothing else imports it: one experiment per dataset, one run per cell, one nested run per train seed."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

# A dead server would hang the client for minutes. MLflow reads these at import.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")

import pandas as pd
from mlflow.artifacts import download_artifacts
from mlflow.data.code_dataset_source import CodeDatasetSource
from mlflow.data.meta_dataset import MetaDataset
from mlflow.entities import DatasetInput, InputTag, Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from sqlalchemy.exc import SQLAlchemyError

from benchmark import metrics
from benchmark.data.spec import ROOT
from benchmark.errors import UserError
from benchmark.registry import REFERENCE
from benchmark.tables import from_table, to_table
from benchmark.types import Cell, CellKey, Predictions

EXPERIMENT = "churn/"
"""Prefix of the experiments' names: a shared server holds others too."""


class TrackingError(UserError):
    """The tracking store cannot be reached or refuses; what was trained is on disk."""


def uri() -> str:
    """``MLFLOW_TRACKING_URI``, else a SQLite file beside the checkout."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{ROOT / 'mlflow.db'}"


@contextmanager
def _speaking(where: str) -> Iterator[None]:
    try:
        yield
    except (MlflowException, SQLAlchemyError, OSError) as error:  # OSError: also every exception of requests
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise TrackingError(f"the tracking store {where} cannot be used: {first[:300]}") from error


class Store:
    """The cells in an MLflow tracking store. Raises TrackingError whenever the store does."""

    def __init__(self) -> None:
        self.uri = uri()
        with _speaking(self.uri):
            self.client = MlflowClient(self.uri)
            self.client.search_experiments(max_results=1)

    def statuses(self) -> dict[str, str]:
        """The MLflow status of the newest run of each cell, by the cell's digest; no predictions are read."""
        with _speaking(self.uri):
            runs = sorted(self._runs("cell"), key=_recorded)
        return {run.data.tags["churn.cell"]: run.info.status for run in runs}

    def cells(self) -> Iterator[Cell]:
        """All finished cells with their predictions, newest first."""
        with _speaking(self.uri):
            runs = [run for run in self._runs("cell") if run.info.status == "FINISHED"]
            for run in sorted(runs, key=_recorded, reverse=True):
                yield self._read(run)

    def log(self, cell: Cell) -> str:
        """Record a finished cell once, whatever an interrupted attempt left behind; returns its run id."""
        with _speaking(self.uri):
            experiment = self._experiment(cell)
            older = self._find(experiment, cell.key.digest)
            summary = summarise(cell.predictions)
            values = {name: value for name, value in summary.items() if value == value}
            values |= {"fit_seconds": cell.fit_seconds} | self._relative_compute(experiment, cell)
            training = float(cell.about.get("wall_seconds", 0))
            parent = self._start(experiment, _cell_tags(cell, values), _run_name(cell), training)
            self._values(parent, values, _cell_params(cell))
            self._inputs(parent, cell)
            for i, seed in enumerate(cell.key.seeds):
                self._log_seed(experiment, parent, cell, i, seed)
            self.client.set_terminated(parent, "FINISHED")
            for run in older:
                self.client.delete_run(run.info.run_id)
            return parent

    def log_failure(self, cell: Cell, reason: str) -> str:
        """Record that a cell failed, with the traceback; a later success replaces it."""
        with _speaking(self.uri):
            experiment = self._experiment(cell)
            older = self._find(experiment, cell.key.digest)
            note = f"**Failed.** Run it again: `{cell.about['command']}`\n\n```\n{reason[-4000:]}\n```"
            run = self._start(experiment, {**_tags(cell), "mlflow.note.content": note}, _run_name(cell))
            self._values(run, {}, _cell_params(cell))
            self.client.log_text(run, reason, "traceback.txt")
            self.client.set_terminated(run, "FAILED")
            for old in older:
                self.client.delete_run(old.info.run_id)
            return run

    def describe_launch(self, lines: list[str]) -> None:
        """If ``mlflow run`` started us: say in its run what was done, and where to look."""
        if run_id := os.environ.get("MLFLOW_RUN_ID"):
            with _speaking(self.uri):
                self.client.set_tag(run_id, "mlflow.note.content", "\n\n".join(lines))

    def page(self, dataset: str) -> str:
        """Where in the MLflow UI the runs of a dataset are, as the part of the address after the host."""
        with _speaking(self.uri):
            found = self.client.get_experiment_by_name(EXPERIMENT + dataset)
        return f"#/experiments/{found.experiment_id}/runs" if found else "#/experiments"

    def _experiment(self, cell: Cell) -> str:
        name = EXPERIMENT + cell.key.dataset
        found = self.client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        about = cell.about
        note = (
            f"Cross-sample churn on **{about['dataset.title']}** ({about['rows']} on the first split logged). "
            "One run per method and canonical split; open it for one nested run per retraining. "
            "`id/churn` is the share of test predictions that two retrainings disagree on."
        )
        tags = {
            "churn.dataset": cell.key.dataset,
            "mlflow.note.content": note,
            "mlflow.experimentKind": "custom_model_development",  # else the UI opens it among chat traces
        }
        place = None if os.environ.get("MLFLOW_TRACKING_URI") else (ROOT / "mlruns" / cell.key.dataset).as_uri()
        try:
            return str(self.client.create_experiment(name, artifact_location=place, tags=tags))
        except MlflowException:  # another process was first
            found = self.client.get_experiment_by_name(name)
            if found is None:
                raise
            return str(found.experiment_id)

    def _runs(self, kind: str) -> list[Run]:
        experiments = [e.experiment_id for e in self.client.search_experiments() if "churn.dataset" in e.tags]
        return self._search(experiments, f"tags.`churn.kind` = '{kind}'") if experiments else []

    def _find(self, experiment: str, digest: str) -> list[Run]:
        return self._search([experiment], f"tags.`churn.cell` = '{digest}'")

    def _search(self, experiments: list[str], query: str) -> list[Run]:
        runs: list[Run] = []
        token = None
        while True:
            page = self.client.search_runs(experiments, query, max_results=1000, page_token=token)
            runs += page
            if not (token := page.token):
                return runs

    def _start(self, experiment: str, tags: dict[str, str], name: str, seconds: float = 0.0) -> str:
        """A new run that began ``seconds`` ago, so that the UI shows how long the training took."""
        start = int((time.time() - seconds) * 1000)
        return str(self.client.create_run(experiment, start_time=start, tags=tags, run_name=name).info.run_id)

    def _values(self, run: str, values: dict[str, float], params: dict[str, Any]) -> None:
        now = int(time.time() * 1000)
        self.client.log_batch(
            run,
            metrics=[Metric(name, value, now, 0) for name, value in values.items()],
            params=[Param(name, str(value)) for name, value in params.items()],
        )

    def _inputs(self, run: str, cell: Cell) -> None:
        about = cell.about
        source = CodeDatasetSource({"mlflow.source.name": about["dataset.source"]})
        name = f"split {cell.key.canonical_seed}"
        data = MetaDataset(source, name=name, digest=cell.key.problem)  # type: ignore[abstract]
        context = [InputTag("mlflow.data.context", "training")]
        self.client.log_inputs(run, [DatasetInput(data._to_mlflow_entity(), context)])

    def _log_seed(self, experiment: str, parent: str, cell: Cell, i: int, seed: int) -> None:
        tags = {"mlflow.parentRunId": parent, "churn.kind": "seed", "churn.cell": cell.key.digest}
        run = self._start(experiment, tags, f"train seed {seed}")
        one = {name: _one(predictions, i) for name, predictions in cell.predictions.items()}
        values = summarise(one) | _against_others(cell.predictions, i)
        self._values(run, {k: v for k, v in values.items() if v == v}, {"train_seed": seed})
        with tempfile.TemporaryDirectory() as folder:
            for evalset, predictions in one.items():
                to_table(predictions).drop(columns="train_seed").to_parquet(Path(folder) / f"{evalset}.parquet")
            self.client.log_artifacts(run, folder, "predictions")
        self.client.set_terminated(run, "FINISHED")

    def _relative_compute(self, experiment: str, cell: Cell) -> dict[str, float]:
        """Training time in multiples of ERM's on the same problem and seeds, where the store has ERM's."""
        if cell.key.method == REFERENCE:
            return {"compute_vs_erm": 1.0}
        query = f"tags.`churn.method` = '{REFERENCE}' AND tags.`churn.problem` = '{cell.key.problem}'"
        runs = [r for r in self._search([experiment], query) if "fit_seconds" in r.data.metrics]
        return {"compute_vs_erm": cell.fit_seconds / runs[0].data.metrics["fit_seconds"]} if runs else {}

    def _read(self, run: Run) -> Cell:
        tags = run.data.tags
        head = json.loads(tags["churn.key"])
        key = CellKey(**{**head, "seeds": tuple(head["seeds"])})
        query = f"tags.`mlflow.parentRunId` = '{run.info.run_id}'"
        children = {int(r.data.params["train_seed"]): r for r in self._search([run.info.experiment_id], query)}
        tables: dict[str, list[pd.DataFrame]] = {}
        for seed in key.seeds:
            folder = Path(download_artifacts(artifact_uri=f"{children[seed].info.artifact_uri}/predictions"))
            for file in sorted(folder.glob("*.parquet")):
                tables.setdefault(file.stem, []).append(pd.read_parquet(file).assign(train_seed=seed))
        predictions = {name: from_table(pd.concat(parts)) for name, parts in tables.items()}
        seconds = run.data.metrics["fit_seconds"]
        about = json.loads(tags["churn.about"])
        return Cell(key, tags["churn.title"], predictions, seconds, about, run.info.run_id)


def _recorded(run: Run) -> int:
    """When a run was finished, or else started."""
    return int(run.info.end_time or run.info.start_time)


def summarise(predictions: Mapping[str, Predictions]) -> dict[str, float]:
    """The metrics of a cell: ``id/accuracy``, ``id/churn``, …, means over retrainings or over their pairs."""
    values = {}
    for evalset, p in predictions.items():
        for name, per_run in metrics.PER_RUN[p.task].items():
            values[f"{evalset}/{name}"] = float(per_run(p.values, p.y).mean())
        for name, pairwise in metrics.PAIRWISE[p.task].items():
            values[f"{evalset}/{name}"] = metrics.mean_over_pairs(pairwise(p.values))
    return values


def _one(p: Predictions, i: int) -> Predictions:
    return Predictions(p.seeds[i : i + 1], p.ids, p.y, p.values[i : i + 1], p.task)


def _against_others(predictions: Mapping[str, Predictions], i: int) -> dict[str, float]:
    """Of retraining i: its mean churn against each other retraining."""
    values = {}
    for evalset, p in predictions.items():
        if len(p.seeds) > 1:
            row = metrics.PAIRWISE[p.task]["churn"](p.values)[i]
            values[f"{evalset}/churn"] = float(row.sum() / (len(p.seeds) - 1))
    return values


def _run_name(cell: Cell) -> str:
    return f"{cell.title} · split {cell.key.canonical_seed}"


def _tags(cell: Cell) -> dict[str, str]:
    launched = {"churn.launched_by": os.environ["MLFLOW_RUN_ID"]} if "MLFLOW_RUN_ID" in os.environ else {}
    return launched | {
        "churn.kind": "cell",
        "churn.cell": cell.key.digest,
        "churn.dataset": cell.key.dataset,
        "churn.method": cell.key.method,
        "churn.problem": cell.key.problem,
        "churn.code": cell.key.code,
        "churn.title": cell.title,
        "churn.key": json.dumps(asdict(cell.key), default=dict),
        "churn.about": json.dumps(dict(cell.about)),
        "mlflow.source.git.commit": cell.about["git.commit"],
        "mlflow.source.name": "python -m benchmark",
        "mlflow.source.type": "LOCAL",
        **{name: value for name, value in cell.about.items() if not name.startswith(("recipe.", "rows"))},
    }


def _cell_params(cell: Cell) -> dict[str, Any]:
    recipe = {name: value for name, value in cell.about.items() if name.startswith("recipe.")}
    key = {"method": cell.key.method, "canonical_seed": cell.key.canonical_seed, "n_seeds": len(cell.key.seeds)}
    return {**key, **cell.key.params, **recipe, "rows": cell.about["rows"]}


def _cell_tags(cell: Cell, values: dict[str, float]) -> dict[str, str]:
    """The tags, with a description for the run's page."""
    names = list(dict.fromkeys(name.partition("/")[2] for name in values if "/" in name))
    rows = [
        f"| {name.replace('_', ' ')} | " + " | ".join(f"{values[f'{e}/{name}']:.4g}" for e in cell.predictions) + " |"
        for name in names
    ]
    note = "\n".join(
        [
            f"**{cell.title}** on **{cell.about['dataset.title']}**, canonical seed {cell.key.canonical_seed}, "
            f"{len(cell.key.seeds)} retrainings ({cell.about['rows']}).",
            "",
            "| | " + " | ".join(f"{e.upper()} test" for e in cell.predictions) + " |",
            "| --- |" + " --- |" * len(cell.predictions),
            *rows,
            "",
            f"Training one retraining took {cell.fit_seconds:.3g} CPU seconds. Run it again: `{cell.about['command']}`",
        ]
    )
    compute = {"compute_vs_erm": f"{values['compute_vs_erm']:.2f}"} if "compute_vs_erm" in values else {}
    return {**_tags(cell), **compute, "mlflow.note.content": note}
