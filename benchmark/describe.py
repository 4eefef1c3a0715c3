"""How a cell is shown in MLflow: names, metrics, parameters, tags and descriptions."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from benchmark import metrics
from benchmark.types import Cell, Predictions

VIEW = "churn"
"""The key of a view of an experiment: its cells, lowest churn first, with the columns that matter."""


def experiment_tags(cell: Cell) -> dict[str, str]:
    """The tags of the experiment of a cell's dataset: what it is, and how the UI opens it."""
    about = cell.about
    note = (
        f"Cross-sample churn on **{about['dataset.title']}** ({about['rows']} on the first split logged). "
        "One run per method and canonical split; open it for one nested run per retraining. "
        "`id/churn` compares two retrainings on the ID test: the share of predictions that differ, or for a "
        "regression the mean absolute difference."
    )
    task = cell.predictions["id"].task if cell.predictions else "classification"
    names = [
        f"{evalset}/{name}"
        for evalset in (cell.predictions or ("id", "ood"))
        for name in (*metrics.PAIRWISE[task], *metrics.PER_RUN[task])
    ]
    shown = ["compute_vs_erm", *(name for name in names if "log_loss" not in name)]
    columns = [f"metrics.`{name}`" for name in shown]
    view = {
        "searchFilter": "tags.`churn.kind` = 'cell'",
        "orderByKey": "metrics.`id/churn`",
        "orderByAsc": True,
        "selectedColumns": columns,
        "runsHiddenMode": "FIRST_10_RUNS",
    }
    return {
        "churn.dataset": cell.key.dataset,
        "mlflow.note.content": note,
        "mlflow.experimentKind": "custom_model_development",  # else the UI takes it for chat traces
        f"mlflow.sharedViewState.{VIEW}": json.dumps(view),
    }


def summarise(predictions: Mapping[str, Predictions]) -> dict[str, float]:
    """The metrics of a cell: ``id/accuracy``, ``id/churn``, …, means over retrainings or over their pairs."""
    values = {}
    for evalset, p in predictions.items():
        for name, per_run in metrics.PER_RUN[p.task].items():
            values[f"{evalset}/{name}"] = float(per_run(p.values, p.y).mean())
        for name, pairwise in metrics.PAIRWISE[p.task].items():
            values[f"{evalset}/{name}"] = metrics.mean_over_pairs(pairwise(p.values))
    return values


def against_others(predictions: Mapping[str, Predictions], i: int) -> dict[str, float]:
    """Of retraining i: its mean churn against each other retraining."""
    values = {}
    for evalset, p in predictions.items():
        if len(p.seeds) > 1:
            row = metrics.PAIRWISE[p.task]["churn"](p.values)[i]
            values[f"{evalset}/churn"] = float(row.sum() / (len(p.seeds) - 1))
    return values


def run_name(cell: Cell) -> str:
    return f"{cell.title} · split {cell.key.canonical_seed}"


def tags(cell: Cell) -> dict[str, str]:
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


def params(cell: Cell) -> dict[str, Any]:
    recipe = {name: value for name, value in cell.about.items() if name.startswith("recipe.")}
    key = {"method": cell.key.method, "canonical_seed": cell.key.canonical_seed, "n_seeds": len(cell.key.seeds)}
    return {**key, **cell.key.params, **recipe, "rows": cell.about["rows"]}


def finished_tags(cell: Cell, values: dict[str, float]) -> dict[str, str]:
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
    return {**tags(cell), **compute, "mlflow.note.content": note}
