"""Presentation of cells in MLflow: names, parameters and tags; ``note`` has the rest."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from benchmark.store import note
from benchmark.store.cell import OPTIONAL, Cell, CellKey
from benchmark.types import PAPER, Predictions

STUDY = "study"
"""Tag with the name of the study, on cells that no run has requested."""
KIND, MODELS = "mlflow.experimentKind", "custom_model_development"
"""Tag of an experiment, and its value for one of models: the UI otherwise opens a page for chat traces."""
MODE = "workflowType=machine_learning"
"""Part of every address, for the same reason."""
CALMEST = "searchFilter=tags.%60churn.kind%60%20%3D%20%27cell%27&orderByKey=metrics.%60id%2Fchurn%60&orderByAsc=true"
"""Part of the address of the cells of an experiment, those with the least churn first."""


def address(experiment: str, run: str = "") -> str:
    """Return the path in the MLflow UI, after the host, of a run or of the cells of an experiment."""
    return f"#/experiments/{experiment}/runs" + (f"/{run}?{MODE}" if run else f"?{MODE}&{CALMEST}")


def experiment_tags(cell: Cell) -> dict[str, str]:
    """Return the tags of a dataset's experiment: its description and default view in the UI."""
    facts = cell.facts
    text = (
        f"Cross-sample churn on **{facts.dataset.title}** ({facts.spelled_rows} on the first split logged). "
        "One run per method and canonical split; open it for one nested run per retraining. "
        f"{note.SAMPLED[cell.key.sampling]} `id/churn` compares two retrainings on the ID test: the share of "
        "predictions that differ, or for a regression the mean absolute difference. `id/matched_churn` is churn at "
        "equally many positives, and `id/one_minus_icc` the share of the variance of values that is retraining."
    )
    return {"churn.dataset": cell.key.dataset, KIND: MODELS, **note.noted(text)}


def metrics_of_seed(predictions: Mapping[str, Predictions], i: int) -> dict[str, float]:
    """Return the metrics of retraining i: its mean churn against the others, or the other half, and its quality."""
    p = predictions["id"]
    values = {}
    for measure in note.METRICS[p.task]:
        if measure.per_pair is None:
            values[f"id/{measure.key}"] = measure.mean(replace(p.only([i]), sampling=PAPER))
        elif p.sampling == "halves":
            values[f"id/{measure.key}"] = next(measure.mean(two) for two in p.halvings() if p.seeds[i] in two.seeds)
        elif len(p.seeds) > 1:
            values[f"id/{measure.key}"] = float(measure.of_runs(p)[i].sum() / (len(p.seeds) - 1))
    return {name: value for name, value in values.items() if np.isfinite(value)}


def experiment_name(key: CellKey) -> str:
    """Return the name of the experiment of a cell, ``churn/bace`` or ``churn/bace/halves``; a server may be shared."""
    return f"churn/{key.dataset}" + (f"/{key.sampling}" if key.sampling != PAPER else "")


def run_name(cell: Cell) -> str:
    return f"{cell.title} · split {cell.key.canonical_seed}"


def tags(cell: Cell) -> dict[str, str]:
    """Return the tags of a cell's run, by which the suite and people find it; its folder has everything."""
    given = {
        "churn.launched_by": os.environ.get("MLFLOW_RUN_ID", ""),
        "churn.kind": "cell",
        "churn.cell": cell.key.digest,
        "churn.dataset": cell.key.dataset,
        "churn.method": cell.key.method,
        "churn.sampling": cell.key.sampling,
        "churn.problem": cell.key.problem,
        "churn.code": cell.key.code,
        "mlflow.source.git.commit": cell.facts.commit,
        "mlflow.source.name": "churn",
        "mlflow.source.type": "LOCAL",
        "command": cell.facts.command,
        "status": cell.facts.status,
        STUDY: cell.facts.study,
    }
    return {name: text for name, text in given.items() if text}


def params(cell: Cell) -> dict[str, Any]:
    recipe = {f"recipe.{name}": value for name, value in cell.facts.recipe.model_dump().items()}
    recipe = recipe if " trainer@" in cell.key.code else {}  # a forest has no learning rate
    return of_key(cell.key) | {"n_seeds": len(cell.key.seeds), **recipe, "rows": cell.facts.spelled_rows}


def of_key(key: CellKey) -> dict[str, Any]:
    """Return method, split, sampling and hyperparameters, with learner, features and tuning where they are chosen."""
    chosen = {name: text for name in OPTIONAL if (text := getattr(key, name))}
    about = {"method": key.method, "canonical_seed": key.canonical_seed, "sampling": key.sampling}
    return {**about, **chosen, **key.params}
