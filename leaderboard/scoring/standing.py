"""Place of a churn among the published results, and how well two runs rank the examples that flip there."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmark.measure.catalogue import MAE, churn, example_flips
from benchmark.measure.triage import gain, subsets
from benchmark.types import REFERENCE, Predictions, Sampling
from leaderboard.read import published
from leaderboard.read.results import Entry, Results, collect
from leaderboard.scoring.score import Score, margin_of, rank
from leaderboard.tables.table import Table, Value

TRAINED_ON: Mapping[Sampling, str] = {
    "halves": "were compared in pairs that saw disjoint halves of the training pool",
    "nested": "used different bootstraps of the training set",
    "paper": "used different bootstraps of the training set",
    "update": "were trained on the same rows",
}


def published_results(leading: bool = False, reference: bool = False) -> Results | None:
    """Return the results shipped with the suite, or some of them, as ``contents`` does; None if there are none."""
    cells = published.shipped(leading, reference=reference)
    return collect(cells, str(published.PUBLISHED)) if cells else None


@dataclass(frozen=True)
class Standing:
    """A comparison in a few sentences, with a table of the published distribution by method if there is one."""

    sentences: tuple[str, ...]
    table: Table | None = None


def standing(score: Score, results: Results | None) -> Standing:
    """Compare ``score`` with ``results``; a regression by churn as a share of the MAE, because units differ."""
    if results is None:
        return Standing((f"No published results to compare with ({published.PUBLISHED}).",))
    task = score.runs.task
    results = next(part for part in results.leading() if part.of_task(task))
    datasets = results.of_task(task)
    if task == "regression" and "mae" not in score.estimates:
        return Standing(
            ("Published regressions are compared by churn as a share of the MAE: provide the true values.",)
        )
    ours = score.churn.value / (score.estimates["mae"].value if task == "regression" else 1)
    unit = "churn as % of MAE" if task == "regression" else "churn (%)"
    rows: list[tuple[str | Value, ...]] = []
    reference = np.array([])
    for title in results.methods():
        entries = [entry for dataset in datasets if (entry := dataset.entry(title)) is not None]
        if not entries:
            continue
        values = np.array([_churn(entry) for entry in entries])
        reference = values if entries[0].method == REFERENCE else reference
        cells = [Value.of(float(x), 100) for x in np.quantile(values, [0, 0.25, 0.5, 0.75, 1])]
        rows.append((title, *cells, f"{(values < ours).sum()} of {len(values)}"))
    caption = f"Published {unit} over {len(datasets)} datasets; yours is {100 * ours:.1f}."
    header = ("Method", "Minimum", "1st quartile", "Median", "3rd quartile", "Maximum", "Datasets below yours")
    sentences = (
        f"ERM, plain training, has a churn of {100 * reference.min():.1f} to {100 * reference.max():.1f} %"
        f"{' of the MAE' if task == 'regression' else ''} on {len(reference)} published datasets, median "
        f"{100 * np.median(reference):.1f} %; it is below yours ({100 * ours:.1f} %) on {(reference < ours).sum()} "
        "of them.",
        f"The published retrainings {TRAINED_ON[results.sampling]}; runs that differ only in their seed churn less, "
        "and every dataset has its own difficulty: compare orders of magnitude, not ranks.",
    )
    return Standing(sentences, Table("standing", "Among the published results", caption, header, tuple(rows)))


def _churn(entry: Entry) -> float:
    parts = entry.tests
    scales = [MAE.mean(p) if p.task == "regression" else 1.0 for p in parts]
    return float(np.mean([churn(p.task).mean(p) / scale for p, scale in zip(parts, scales, strict=True)]))


def captured(results: Results, share: float) -> dict[str, float]:
    """Return, for each dataset, the fraction of ERM's flips in held-out runs that the first ``share`` of examples has.

    Examples are ranked by two runs with ``score.rank``; the fraction is the mean over splits of ``out_of_sample``.
    Datasets with fewer than four runs, or without a flip outside the two, are left out.
    """
    shares = {}
    for dataset in results.of_task("classification"):
        parts = [p for p in (dataset.reference.tests if dataset.reference else ()) if len(p.seeds) >= 4]
        values = [out_of_sample(p, share) for p in parts]
        if values and np.isfinite(values).all():
            shares[dataset.title] = float(np.mean(values))
    return shares


def out_of_sample(p: Predictions, share: float) -> float:
    """Return the fraction of flips in the first ``share`` of examples, as two runs rank them, among the other runs.

    It is the mean over up to 45 pairs of runs; nan if no others flip.
    """
    values = []
    for pair in subsets(len(p.seeds), 2):
        seen, rest = p.only(pair), p.only([run for run in range(len(p.seeds)) if run not in pair])
        place = np.argsort(rank(example_flips(seen), margin_of(seen.values)))
        flips = example_flips(rest)
        if flips.any():
            values.append(gain(-place, flips).recall(share))
    return float(np.mean(values)) if values else float("nan")
