"""Show a cell in its run in MLflow: ten metrics, a table of all measures, the flips, and a note on the result."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmark.errors import number_of
from benchmark.measure.catalogue import ACCURACY, AUROC, BALANCED_ACCURACY, CATALOGUE, MAE, ORDER, QUALITY, R2, churn
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import Estimate, described
from benchmark.measure.measure import Measure
from benchmark.store.cell import Cell
from benchmark.types import REFERENCE, Sampling, Task

METRICS: Mapping[Task, Sequence[Measure]] = {
    "classification": (ORDER["classification"], churn("classification"), ACCURACY, BALANCED_ACCURACY, AUROC),
    "regression": (ORDER["regression"], churn("regression"), MAE, R2),
}
"""The measures that are metrics of a run, on the ID test; a table has all others."""
NOTE, WRITTEN = "mlflow.note.content", "churn.note"
"""Tags with the note, which its readers may edit in the UI, and with the digest of the note as the suite wrote it."""
LONGEST = 7_900
"""Characters of a note; MLflow refuses tags of more than 8,000."""
SAMPLED: Mapping[Sampling, str] = {
    "paper": "Sampling `paper`: a retraining may draw from the whole training pool.",
    "nested": "Sampling `nested`: a retraining sees one bootstrap of the training pool and nothing else.",
    "halves": "Sampling `halves`: two retrainings see the two halves of a random halving of the training pool, and "
    "only these two are compared.",
    "update": "Sampling `update`: a retraining sees every row of the training pool; retrainings differ by chance "
    "alone.",
}


UNKNOWN = Estimate(np.nan, np.nan, np.nan)
Measured = Mapping[tuple[str, Measure], tuple[Estimate, Estimate]]
"""Each measure on each test set, and its difference from ERM."""


@dataclass(frozen=True)
class Shown:
    """The content of a run: metrics by name, files by path, and the tags of its note."""

    metrics: Mapping[str, float]
    files: Mapping[str, bytes]
    tags: Mapping[str, str]


def show(cell: Cell, erm: Cell | None) -> Shown:
    """Return what the run of ``cell`` shows; ``erm`` is the reference's cell on the same data, if there is one."""
    if erm is not None and (cell.key.pipeline == REFERENCE or not {*cell.key.seeds} & {*erm.key.seeds}):
        erm = None
    task = cell.predictions["id"].task
    measures = [measure for measure in CATALOGUE if measure.task == task]
    measured = {(test, m): _estimates(cell, erm, test, m) for test in cell.predictions for m in measures}
    table = pd.DataFrame(_row(*place, *values) for place, values in measured.items())
    files = {"measures.csv": table.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()}
    if (flipped := flips(cell, erm)) is not None:
        content = io.BytesIO()
        flipped.to_parquet(content, index=False)
        files["flips.parquet"] = content.getvalue()
    values = {f"id/{measure.key}": measured["id", measure][0].value for measure in METRICS[task]}
    name, delta = f"id/delta_{ORDER[task].key}", measured["id", ORDER[task]][1]
    values |= {name: delta.value, f"{name}_low": delta.low, f"{name}_high": delta.high}
    if cell.key.pipeline == REFERENCE:
        values["compute_vs_erm"] = 1.0
    elif erm is not None and erm.fit_seconds > 0:
        values["compute_vs_erm"] = cell.fit_seconds / erm.fit_seconds
    metrics = {name: float(value) for name, value in values.items() if np.isfinite(value)}
    metrics["fit_seconds"] = cell.fit_seconds  # nan for a submission that does not say it
    return Shown(metrics, files, noted(_note(cell, measured, metrics)))


def noted(text: str) -> dict[str, str]:
    """Return the tags of a note."""
    text = text[:LONGEST]
    return {NOTE: text, WRITTEN: digest(text)}


def digest(text: str) -> str:
    """Return sixteen hex digits of a note, by which one that was edited is told."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def flips(cell: Cell, erm: Cell | None) -> pd.DataFrame | None:
    """Return the examples of the ID test that differ between retrainings, most fragile first; None if there is no pair.

    ``churn`` is the share of pairs of retrainings in which an example changes its class, or the mean difference between
    the values of two; ``churn_erm`` is ERM's.
    """
    p = cell.predictions["id"]
    of_examples = churn(p.task).of_examples
    assert of_examples is not None
    if len(p.seeds) < 2:
        return None
    table = pd.DataFrame({"example_id": p.ids.astype(object), "y_true": p.y, "churn": of_examples(p)})
    if erm is not None and np.array_equal(erm.predictions["id"].ids, p.ids) and len(erm.key.seeds) > 1:
        table["churn_erm"] = of_examples(erm.predictions["id"])
    return table[table["churn"] > 0].sort_values("churn", ascending=False, kind="stable")


def _estimates(cell: Cell, erm: Cell | None, test: str, measure: Measure) -> tuple[Estimate, Estimate]:
    """Return a measure of a cell on a test set, and its paired difference from ERM on the same samples."""
    with np.errstate(all="ignore"):
        own = estimate(measure, [(cell.predictions[test], None)])
        if erm is None or test not in erm.predictions or not measure.board:
            return own, UNKNOWN  # a measure off the boards may be over other examples of each cell
        shared = {*cell.key.seeds} & {*erm.key.seeds}
        return own, estimate(measure, [(cell.only(shared).predictions[test], erm.only(shared).predictions[test])])


def _row(test: str, measure: Measure, own: Estimate, delta: Estimate) -> dict[str, object]:
    row = {"value": own.value, "low": max(own.low, measure.least), "high": min(own.high, measure.most)}
    row |= {"delta": delta.value, "delta_low": delta.low, "delta_high": delta.high}
    return {"test": test, "measure": measure.key, **row}


def _note(cell: Cell, measured: Measured, metrics: Mapping[str, float]) -> str:
    """Return the note on a cell's run in Markdown; its first line says what the result is."""
    task, about = cell.predictions["id"].task, cell.facts.dataset
    rows = [" | ".join(["", *(f"{test.upper()} test | Δ" for test in cell.predictions)])]
    rows.append(" | ".join(["---"] * (1 + 2 * len(cell.predictions))))
    for measure in METRICS[task]:
        texts = [measure.title]
        for test in cell.predictions:
            own, delta = measured[test, measure]
            texts += [_spelled(own, measure), _spelled(delta, measure, delta=True)]
        rows.append(" | ".join(texts))
    dataset = _plain(about.title or cell.key.dataset)
    parts = [
        f"**{_plain(cell.title)}** on **{dataset}**: {_result(cell, measured, metrics)}",
        f"Repeat it: `{cell.facts.command}`",
        "\n".join(f"| {row} |" for row in rows),
        f"Δ: difference from ERM on the same samples. {described('runs', cell.key.sampling)} All measures are in "
        "`measures.csv`, and the examples that differ between retrainings in `flips.parquet`.",
        f"Canonical seed {cell.key.canonical_seed}, {number_of(len(cell.key.seeds), 'retraining')} "
        f"({cell.facts.spelled_rows}). "
        + SAMPLED[cell.key.sampling]
        + (f" One retraining took {cell.fit_seconds:.3g} CPU seconds." if np.isfinite(cell.fit_seconds) else ""),
    ]
    return "\n\n".join(parts)


def _result(cell: Cell, measured: Measured, metrics: Mapping[str, float]) -> str:
    """Say how much retrainings of a cell differ, and whether and at what cost that is another churn than ERM's."""
    p = cell.predictions["id"]
    measure, quality, ordered = churn(p.task), QUALITY[p.task], ORDER[p.task]
    own, delta = measured["id", measure][0], measured["id", ordered][1]
    unit = " " + cell.facts.dataset.unit if p.task == "regression" and cell.facts.dataset.unit else ""
    score = f"{quality.name} {_spelled(measured['id', quality][0], quality)}"
    if not np.isfinite(own.value):
        return f"a single retraining has no churn; {score}."
    verb = "disagree on" if p.task == "classification" else "differ by"
    share = f"{_spelled(own, measure)}{'' if p.task == 'regression' else ' % of the ID test'}{unit}"
    text = f"two retrainings {verb} {share}, {score}."
    if cell.key.pipeline == REFERENCE:
        return f"{text} This is ERM, the reference of all differences."
    if not np.isfinite(delta.value):
        command = f"churn run --method {REFERENCE} --dataset {cell.key.dataset}"
        return f"{text} There is no ERM with the same train seeds to compare it with: `{command}`"
    change = f"{_spelled(delta, ordered, delta=True)} pp"
    cost = f" at {metrics['compute_vs_erm']:.2g} times the cost" if "compute_vs_erm" in metrics else ""
    if delta.excludes_zero:
        return f"{text} Its {ordered.name} differs from ERM's by {change}{cost}."
    return f"{text} Its {ordered.name} is not shown to differ from ERM's ({change}){cost}."


def _spelled(value: Estimate, measure: Measure, delta: bool = False) -> str:
    """Return an estimate with its interval as the boards show it, such as ``7.5 [6.9, 8.1]``."""
    if not np.isfinite(value.value):
        return "–"
    scale, digits = measure.shown_delta[1:] if delta else (measure.scale, measure.digits)
    form = value.form(digits, scale)
    text = f"{value.value * scale:{'+' if delta else ''}{form}}"
    if np.isfinite(value.low):
        low, high = value.low, value.high
        if not delta:
            low, high = max(low, measure.least), min(high, measure.most)
        text += f" [{low * scale:{form}}, {high * scale:{form}}]"
    return text.replace("-", "−")


def _plain(text: str) -> str:
    """Return a title without what Markdown would read as markup."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>|" else c for c in text)
