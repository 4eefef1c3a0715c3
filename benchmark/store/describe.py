"""Presentation of cells in MLflow: names, metrics, parameters, tags and descriptions."""

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from benchmark.measure.catalogue import churn, tracked
from benchmark.store import views
from benchmark.store.cell import Cell, CellKey, Facts, encode
from benchmark.types import PAPER, Predictions, Sampling

STUDY = "study"
"""Tag with the name of the study, on cells that no run has requested."""
SAMPLED: Mapping[Sampling, str] = {
    "paper": "Sampling `paper`: a retraining may draw from the whole training pool.",
    "nested": "Sampling `nested`: a retraining sees one bootstrap of the training pool and nothing else.",
    "halves": "Sampling `halves`: two retrainings see the two halves of a random halving of the training pool, and "
    "only these two are compared.",
    "update": "Sampling `update`: a retraining sees every row of the training pool; retrainings differ by chance "
    "alone.",
}
NOTE = "mlflow.note.content"
"""Tag with the description of a run or an experiment in Markdown, which its readers may edit in the UI."""
KIND, MODELS = "mlflow.experimentKind", "custom_model_development"
"""Tag of an experiment, and its value for one of models: the UI otherwise opens a page for chat traces."""
EXPLAINED = "churn.explained"
"""Tag of a run or an experiment with what its explanation was made from, and with digests of what was written."""


def experiment_tags(cell: Cell) -> dict[str, str]:
    """Return the tags of a dataset's experiment: its description and default view in the UI."""
    facts = cell.facts
    note = (
        f"Cross-sample churn on **{facts.dataset.title}** ({facts.spelled_rows} on the first split logged). "
        "One run per method and canonical split; open it for one nested run per retraining. "
        f"{SAMPLED[cell.key.sampling]} `id/churn` compares two retrainings on the ID test: the share of predictions "
        "that differ, or for a regression the mean absolute difference."
    )
    task = cell.predictions["id"].task if cell.predictions else "classification"
    return {
        "churn.dataset": cell.key.dataset,
        **described(note),
        KIND: MODELS,
        **views.of_cells(task, [*cell.predictions] or ["id", "ood"]),
    }


def summarise(predictions: Mapping[str, Predictions]) -> dict[str, float]:
    """Return the metrics of a cell, ``id/accuracy``, ``id/churn``, …: means over retrainings or their pairs."""
    return {
        f"{evalset}/{measure.key}": measure.mean(p) for evalset, p in predictions.items() for measure in tracked(p.task)
    }


def against_others(predictions: Mapping[str, Predictions], i: int) -> dict[str, float]:
    """Return the mean churn of retraining i against the others; under ``halves``, against the other half."""
    metrics: dict[str, float] = {}
    for evalset, p in predictions.items():
        if p.sampling == "halves":
            pairs = [pair for pair in p.halvings() if p.seeds[i] in pair.seeds]
            metrics |= {f"{evalset}/churn": churn(p.task).mean(pair) for pair in pairs}
        elif len(p.seeds) > 1:
            metrics[f"{evalset}/churn"] = float(churn(p.task).of_runs(p)[i].sum() / (len(p.seeds) - 1))
    return metrics


def experiment_name(key: CellKey) -> str:
    """Return the name of the experiment of a cell, ``churn/bace`` or ``churn/bace/halves``; a server may be shared."""
    return f"churn/{key.dataset}" + (f"/{key.sampling}" if key.sampling != PAPER else "")


def run_name(cell: Cell) -> str:
    """Return the name of a cell's run."""
    return f"{cell.title} · split {cell.key.canonical_seed}"


def tags(cell: Cell) -> dict[str, str]:
    """Return the tags of a cell's run: everything but predictions, for the suite and again for people."""
    content = encode(cell)
    launched = {"churn.launched_by": os.environ["MLFLOW_RUN_ID"]} if "MLFLOW_RUN_ID" in os.environ else {}
    return launched | {
        "churn.kind": "cell",
        "churn.cell": cell.key.digest,
        "churn.dataset": cell.key.dataset,
        "churn.method": cell.key.method,
        "churn.sampling": cell.key.sampling,
        "churn.problem": cell.key.problem,
        "churn.code": cell.key.code,
        "churn.title": cell.title,
        "churn.key": json.dumps(content["key"]),
        "churn.facts": json.dumps(content["facts"]),
        "mlflow.source.git.commit": cell.facts.commit,
        "mlflow.source.name": "python -m benchmark",
        "mlflow.source.type": "LOCAL",
        **legible(cell.facts),
    }


def legible(facts: Facts) -> dict[str, str]:
    """Return facts as single tags for reading and searching: ``dataset.title``, ``version.torch``, ``study``."""
    dataset = facts.dataset.model_dump() | {"features": ", ".join(facts.dataset.features)}
    groups = {
        "dataset": dataset,
        "fingerprint": facts.fingerprints,
        "version": facts.versions,
        "git": {"commit": facts.commit, "dirty": "unknown" if facts.modified is None else str(facts.modified).lower()},
        "submission": facts.submission.model_dump() if facts.submission else {},
    }
    tags = {f"{group}.{name}": value for group, values in groups.items() for name, value in values.items()}
    tags |= {"command": facts.command, "device": facts.device, "backbone": facts.backbone, "status": facts.status}
    return tags | ({STUDY: facts.study} if facts.study else {})


def params(cell: Cell) -> dict[str, Any]:
    """Return the parameters of a cell's run."""
    recipe = {f"recipe.{name}": value for name, value in cell.facts.recipe.model_dump().items()}
    key = {
        "method": cell.key.method,
        "canonical_seed": cell.key.canonical_seed,
        "n_seeds": len(cell.key.seeds),
        "sampling": cell.key.sampling,
    }
    return {**key, **_chosen(cell.key), **cell.key.params, **recipe, "rows": cell.facts.spelled_rows}


def params_of_seed(cell: Cell, seed: int) -> dict[str, Any]:
    """Return the parameters of one retraining's run, by which the UI can group and filter them."""
    own = {"canonical_seed": cell.key.canonical_seed, "train_seed": seed, "sampling": cell.key.sampling}
    return {"method": cell.key.method, **_chosen(cell.key), **cell.key.params, **own}


def _chosen(key: CellKey) -> dict[str, str]:
    """Return the learner and the features of a row where they are not the dataset's."""
    return {name: text for name, text in (("learner", key.learner), ("features", key.features)) if text}


def finished_tags(cell: Cell, values: dict[str, float]) -> dict[str, str]:
    """Return the tags of a finished cell's run, with a description for its page."""
    names = list(dict.fromkeys(name.partition("/")[2] for name in values if "/" in name))
    rows = [["", *(f"{evalset.upper()} test" for evalset in cell.predictions)], ["---"] * (len(cell.predictions) + 1)]
    rows += [[name.replace("_", " "), *(f"{values[f'{e}/{name}']:.4g}" for e in cell.predictions)] for name in names]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    note = (
        f"**{cell.title}** on **{cell.facts.dataset.title}**, canonical seed {cell.key.canonical_seed}, "
        f"{len(cell.key.seeds)} retrainings ({cell.facts.spelled_rows}).\n\n{table}\n\n"
        f"One retraining took {cell.fit_seconds:.3g} CPU seconds. Run it again: `{cell.facts.command}`"
    )
    compute = {"compute_vs_erm": f"{values['compute_vs_erm']:.2f}"} if "compute_vs_erm" in values else {}
    return {**tags(cell), **compute, **described(note)}


def described(note: str) -> dict[str, str]:
    """Return the tags of a description, with its digest, by which one that was edited is told."""
    return {NOTE: note, EXPLAINED: json.dumps({"note": digest(note.encode())})}


def digest(content: bytes) -> str:
    """Return sixteen hex digits of a description or a file."""
    return hashlib.sha256(content).hexdigest()[:16]
