"""Our number for each published one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np

from benchmark.measure.basics import positive_fraction
from benchmark.measure.catalogue import ACCURACY, CHURN, find
from benchmark.registry import make_method
from benchmark.types import TASKS, Predictions
from leaderboard.paper.read import Published
from leaderboard.read.results import Dataset, Entry, Results, with_studies
from leaderboard.stats.intervals import Estimate, jackknife, leave_one_out
from leaderboard.stats.ranks import friedman, rank_intervals
from leaderboard.tables.columns import estimate as of_measure
from leaderboard.tables.columns import matched, pairs_of
from leaderboard.tables.studies import estimate
from leaderboard.tables.triage import estimates

K = TypeVar("K")
METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "erm": ("erm", {}),
    "swa": ("swa", {"start": 0.5}),
    "mc_dropout": ("mc_dropout", {"p": 0.2, "passes": 20}),
    "deep_ensemble_k5": ("deep_ensemble", {"k": 5}),
    "bagging_k2": ("bagging", {"k": 2}),
    "bagging_k5": ("bagging", {"k": 5}),
    **{f"twin_lam{lam}": ("twin", {"lam": float(lam), "members": 2}) for lam in (1, 3, 10, 30, 100, 300)},
    "codistillation_lam300": ("codistillation", {"lam": 300.0}),
    "twin_shared_lam300": ("twin_shared", {"lam": 300.0}),
}
"""Published names of methods, as our method and hyperparameters."""
MAJORITY = "majority"
"""The constant that predicts the largest class of the ID test; the paper gives its accuracy."""
RANKED = ("erm", "mc_dropout", "swa", "deep_ensemble_k5", "bagging_k2", "bagging_k5", "twin_lam300")
CAMPAIGNS = "bo_loop_regression"
"""The published table of what the study ``bo-loop`` finds."""
TUNED = {"bo_vs_lam300": "twin_lam300", "bo_vs_erm": "erm"}
"""Published names of the twin at a λ tuned on its dataset, less this method."""
SAME = {"churn_abs": "churn", "delta_churn_vs_erm": "churn", "delta_sym_kl_vs_erm": "sym_kl"}
"""Published metrics that the catalogue of measures has under another key, or that are differences to ERM."""
COUNTS: Mapping[str, Callable[[Dataset, Predictions], float]] = {
    "n_train": lambda dataset, p: dataset.n_train,
    "n_id_test": lambda dataset, p: len(p.ids),
    "positive_fraction": lambda dataset, p: positive_fraction(p),
}
"""Facts of a split: these must be equal."""
OF_TUNED = {
    "delta_id_accuracy": (ACCURACY, "id"),
    "delta_ood_accuracy": (ACCURACY, "ood"),
    "delta_id_churn": (CHURN, "id"),
    "delta_ood_churn": (CHURN, "ood"),
}
"""By published metric of ``TUNED``: our measure, and the test set."""
TRIAGE = {
    "top10_recall_churn": "recall of churn, seen",
    "top10_recall_entropy": "recall of entropy, seen",
    "aupc_churn": "area of churn, seen",
    "aupc_entropy": "area of entropy, seen",
}
"""The numbers of ``benchmark.measure.triage.measured`` that are made in the paper's way."""


@dataclass(frozen=True)
class Ours:
    """Our number as a fraction; ``wider`` gives it with the interval over retrainings and examples, if defined."""

    estimate: Estimate
    wider: Callable[[], Estimate] | None = None


class Counterparts:
    """Our numbers for the rows of one file, ``rows``."""

    def __init__(self, results: Results, rows: Sequence[Published]) -> None:
        self.results = with_studies(results)
        ranked = dict.fromkeys(row.dataset for row in rows if row.table == "main")
        self.ranks = cache(lambda split: _ranks(self.results, ranked, split))
        self.triage = cache(lambda dataset, split: _triage(self.results, dataset, split))

    def of(self, row: Published) -> Ours | str:
        """Our number for a row, or why there is none."""
        if row.table == "friedman":
            return _item(self.ranks(row.canonical_seed), (row.metric, row.method))
        if row.table == CAMPAIGNS:
            return _campaigns(self.results, row)
        if row.method in TUNED:
            return _tuned(self.results, row)
        if row.metric in TRIAGE:
            return _item(self.triage(row.dataset, row.canonical_seed), TRIAGE[row.metric])
        return _ours(self.results, row)


def _item(found: Mapping[K, Ours] | str, key: K) -> Ours | str:
    return found if isinstance(found, str) else found.get(key, f"no number of ours is called {key}")


def _ours(results: Results, row: Published) -> Ours | str:
    """Our number for a row, or why there is none."""
    constant = row.method == MAJORITY
    found = _find(results, row.dataset, "erm" if constant else row.method, row.canonical_seed)
    if isinstance(found, str):
        return found
    dataset, entry = found
    p = entry.cells[row.canonical_seed].predictions["id"]
    of_classes, of_values = (find(SAME.get(row.metric, row.metric), task) for task in TASKS)
    if p.task == "regression" and (constant or row.metric == "positive_fraction" or (of_classes and not of_values)):
        return f"{MAJORITY if constant else row.metric} is of classes, but {row.dataset} is a regression"
    if p.task == "classification" and of_values and not of_classes:
        return f"{row.metric} is of values, but {row.dataset} is a classification"
    if constant or row.metric in COUNTS:
        count = float(np.bincount(p.y).max() / len(p.y)) if constant else COUNTS[row.metric](dataset, p)
        return Ours(Estimate(count, count, count))
    measure = of_classes if p.task == "classification" else of_values
    if measure is None:
        return f"no measure of ours is called {row.metric}"
    versus = row.metric.endswith("_vs_erm")
    splits = matched(pairs_of(dataset, entry)) if versus else [(p, None)]
    if not splits:
        return f"ERM has not been run on {row.dataset}, split {row.canonical_seed}"
    wider = partial(of_measure, measure, splits, "both") if measure.of_examples else None
    return Ours(of_measure(measure, splits), wider)


def _tuned(results: Results, row: Published) -> Ours | str:
    """The λ that the study tuned, or what it changes against a method at equal bootstraps."""
    from benchmark.studies.bayes_lambda import BayesLambda, tuned

    start = f"{row.dataset}, split {row.canonical_seed},"
    record = next((r for r in results.records if r.study == BayesLambda.name and r.key.startswith(start)), None)  # type: ignore[attr-defined]
    if record is None:
        return f"λ has not been tuned on {row.dataset}, split {row.canonical_seed}"
    best, lam = tuned(record.content)
    if row.metric == "mean_lambda":
        return Ours(jackknife([best]))
    if row.metric not in OF_TUNED:
        return f"no measure of ours is called {row.metric}"
    against = _find(results, row.dataset, TUNED[row.method], row.canonical_seed)
    if isinstance(against, str):
        return against
    dataset, other = against
    twins = [e for e in dataset.entries if e.method == "twin" and row.canonical_seed in e.cells]
    cell = next((c for e in twins if (c := e.cells[row.canonical_seed]).key.params == {"lam": lam, "members": 2}), None)
    if cell is None:
        return f"the twin at λ = {lam:g} has not been run on {row.dataset}, split {row.canonical_seed}"
    measure, evalset = OF_TUNED[row.metric]
    if evalset not in cell.predictions:
        return f"{row.dataset} has no {evalset.upper()} test"
    pairs = matched([(cell, other.cells[row.canonical_seed])], evalset)
    return Ours(of_measure(measure, pairs), partial(of_measure, measure, pairs, "both"))


def _campaigns(results: Results, row: Published) -> Ours | str:
    """What the study of campaigns found with the paper's settings, with its intervals over campaigns."""
    from benchmark.lab.campaign import outcomes
    from benchmark.studies.bo_loop import BOLoop

    if row.method not in METHODS:
        return f"no method of ours is called {row.method}"
    name, params = METHODS[row.method]
    made = make_method(":".join([name, *(f"{key}={value}" for key, value in params.items())]), "regression")
    key = BOLoop().key(row.dataset, row.canonical_seed, made, "greedy")
    record = next((r for r in results.records if r.study == BOLoop.name and r.key == key), None)  # type: ignore[attr-defined]
    if record is None:
        return f"no campaigns of {row.method} have been run on {row.dataset}, split {row.canonical_seed}"
    found = outcomes(record.content)
    return Ours(estimate(found[row.metric])) if row.metric in found else f"no measure of ours is called {row.metric}"


def _find(results: Results, dataset: str, method: str, split: int) -> tuple[Dataset, Entry] | str:
    """The entry with its cell of that split only, or why there is none."""
    if method not in METHODS:
        return f"no method of ours is called {method}"
    dataset = re.sub(r"@(\d+)$", r"@train=\1", dataset)
    found = results.dataset(dataset)
    if found is None:
        return f"{dataset} has not been run"
    entry = _entry(found, method)
    if entry is None or split not in entry.cells:
        return f"{method} has not been run on {dataset}, split {split}"
    return found, replace(entry, cells={split: entry.cells[split]})


def _entry(dataset: Dataset, method: str) -> Entry | None:
    name, params = METHODS[method]
    for entry in dataset.entries:
        key = next(iter(entry.cells.values())).key
        if key.method == name and dict(key.params) == dict(params):
            return entry
    return None


def _triage(results: Results, dataset: str, split: int) -> Mapping[str, Ours] | str:
    found = _find(results, dataset, "erm", split)
    if isinstance(found, str):
        return found
    p = found[1].cells[split].predictions["id"]
    if p.task == "regression":
        return f"triage is of classes, but {dataset} is a regression"
    made = estimates([p])
    return {key: Ours(estimate) for key, estimate in made.items()}


def _ranks(results: Results, names: Collection[str], split: int) -> Mapping[tuple[str, str], Ours] | str:
    """The ranks of the paper's methods on one split, by metric and method, or why there are none.

    Each dataset counts, as in the paper, though two of them are one family.
    """
    if not names:
        return "the file has no rows of the table main, whose datasets the ranks are over"
    found = {(name, method): _find(results, name, method, split) for name in names for method in RANKED}
    missing = [reason for reason in found.values() if isinstance(reason, str)]
    if missing:
        return f"{len(missing)} of {len(found)} cells are missing: {missing[0]}"
    churns = [[[_churn(found[name, method], split)] for method in RANKED] for name in names]
    values = np.array([[leave_one_out(of)[0] for (of,) in row] for row in churns])
    ranking = friedman(values, RANKED, list(names))
    shown = {("mean_rank", m): Ours(e) for m, e in zip(RANKED, rank_intervals(churns).estimates, strict=True)}
    shown["chi2", ""] = Ours(Estimate(ranking.chi2, np.nan, np.nan))
    difference = ranking.critical_difference
    shown["nemenyi_cd", ""] = Ours(Estimate(difference, difference, difference))
    return shown


def _churn(found: tuple[Dataset, Entry] | str, split: int) -> np.ndarray:
    assert not isinstance(found, str)
    return CHURN.of_runs(found[1].cells[split].predictions["id"])
