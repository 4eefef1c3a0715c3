"""Where a churn stands among the published results, and what those say about two runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.measure.catalogue import MAE, churn, example_flips
from benchmark.measure.triage import Gain, gain, subsets
from benchmark.types import REFERENCE, Predictions
from leaderboard.read import published
from leaderboard.read.results import Entry, Results, collect
from leaderboard.scoring.score import Score, margin_of, rank
from leaderboard.stats.intervals import Estimate
from leaderboard.tables.table import Table, Value

NONE = "No published results are there to compare with ({folder}): give a folder of exported ones with --store."


def known(folder: Path | None = None) -> Results | None:
    """The results in ``folder``, or those that come with the suite; None if there are none."""
    if folder is None:
        cells = published.shipped()
        return collect(cells, str(published.PUBLISHED)) if cells else None
    return collect(published.read(folder), str(folder)) if (folder / "manifest.json").is_file() else None


@dataclass(frozen=True)
class Standing:
    """A sentence or two, and a table of the published distribution for each method; or only why there is none."""

    sentences: tuple[str, ...]
    table: Table | None = None


def standing(score: Score, results: Results | None, folder: Path | None = None) -> Standing:
    """Where ``score`` stands. A regression is compared by churn as a share of the MAE, because units differ."""
    if results is None:
        return Standing((NONE.format(folder=folder or published.PUBLISHED),))
    task = score.runs.task
    datasets = results.of_task(task)
    if not datasets:
        return Standing((f"The published results have no {task}, so this churn cannot be placed.",))
    if task == "regression" and "mae" not in score.estimates:
        return Standing(
            ("To be placed among the published results, churn must be a share of the MAE: give the true values.",)
        )
    ours = score.churn.value / (score.estimates["mae"].value if task == "regression" else 1)
    what = "churn as % of MAE" if task == "regression" else "churn (%)"
    rows: list[tuple[str | Value, ...]] = []
    reference = np.array([])
    for title in results.methods():
        entries = [entry for dataset in datasets if (entry := dataset.entry(title)) is not None]
        if not entries:
            continue
        values = np.array([_churn(entry) for entry in entries])
        reference = values if entries[0].method == REFERENCE else reference
        numbers = (values.min(), *np.quantile(values, [0.25, 0.5, 0.75]), values.max(), (values < ours).sum())
        shown = [Value.of(Estimate(float(x), np.nan, np.nan), 100) for x in numbers[:5]]
        rows.append((title, *shown, f"{numbers[5]:.0f} of {len(values)}"))
    caption = f"Over {len(datasets)} datasets, of the published {what}; here it is {100 * ours:.1f}."
    header = ("Method", "Least", "Quarter", "Median", "Three quarters", "Most", "Datasets below yours")
    sentences = []
    if len(reference):
        below = int((reference < ours).sum())
        sentences.append(
            f"ERM, the plain way to train, has a {what.partition(' ')[0]} from {100 * reference.min():.1f} to "
            f"{100 * reference.max():.1f} % on {len(reference)} published datasets, median "
            f"{100 * np.median(reference):.1f} %; it is below yours ({100 * ours:.1f} %) on {below} of them."
        )
    sentences.append(
        "The published retrainings saw other bootstraps of the training set; runs that differ in their seed alone "
        "churn less, and other data has its own difficulty: this is a comparison of orders, no rank."
    )
    return Standing(tuple(sentences), Table("standing", "Among the published results", caption, header, tuple(rows)))


def _churn(entry: Entry) -> float:
    parts = [cell.predictions["id"] for cell in entry.cells.values()]
    churns = [churn(p.task).mean(p) for p in parts]
    if parts[0].task == "regression":
        churns = [c / MAE.mean(p) for c, p in zip(churns, parts, strict=True)]
    return float(np.mean(churns))


def captured(results: Results, share: float) -> dict[str, float]:
    """Share of the flips among further runs that lie in the first ``share`` of examples, ranked by two runs as
    ``score.rank`` does: by dataset, for ERM, the mean over up to 45 pairs of runs and over splits.

    Datasets whose cells have fewer than four runs, or no flip outside the two, are left out.
    """
    found = {}
    for dataset in results.of_task("classification"):
        cells = dataset.reference.cells.values() if dataset.reference else ()
        parts = [cell.predictions["id"] for cell in cells if len(cell.key.seeds) >= 4]
        values = [out_of_sample(p, lambda curve: float(curve.recall(share))) for p in parts]
        if values and np.isfinite(values).all():
            found[dataset.title] = float(np.mean(values))
    return found


def out_of_sample(p: Predictions, what: Callable[[Gain], float]) -> float:
    """The mean of ``what`` over pairs of runs that rank the examples, with the flips counted among the other runs."""
    found = []
    for pair in subsets(len(p.seeds), 2):
        seen, rest = p.only(pair), p.only([run for run in range(len(p.seeds)) if run not in pair])
        order = rank(example_flips(seen), margin_of(seen.values))
        place = np.empty(len(order))
        place[order] = -np.arange(len(order))
        flips = example_flips(rest)
        if flips.any():
            found.append(what(gain(place, flips)))
    return float(np.mean(found)) if found else float("nan")
