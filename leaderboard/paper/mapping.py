"""Our number for each published one."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from benchmark.measure.basics import positive_fraction
from benchmark.measure.catalogue import CHURN, find
from benchmark.measure.estimate import estimate as of_measure
from benchmark.measure.intervals import Estimate, Influence, influence, jackknife
from benchmark.registry import make_method
from benchmark.study.text import measure_of
from benchmark.types import TASKS, Predictions
from leaderboard.paper.read import Published
from leaderboard.read.results import Dataset, Entry, Results, with_studies
from leaderboard.stats.ranks import friedman, rank_intervals
from leaderboard.tables.builders.comparisons import estimates
from leaderboard.tables.columns import matched, pairs_of
from leaderboard.tables.studies import estimate

METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "erm": ("erm", {}),
    "swa": ("swa", {"start": 0.5}),
    "mc_dropout": ("mc_dropout", {"p": 0.2, "passes": 20}),
    "deep_ensemble_k5": ("deep_ensemble", {"k": 5}),
    "bagging_k2": ("bagging", {"k": 2}),
    "bagging_k5": ("bagging", {"k": 5}),
    **{f"twin_lam{lam}": ("twin", {"lam": float(lam), "members": 2}) for lam in (1, 3, 10, 30, 100, 300)},
    "codistillation_lam300": ("codistillation", {"lam": 300.0, "whole": True}),  # divides the pool, as the numbers show
    "twin_shared_lam300": ("twin_shared", {"lam": 300.0}),
}
"""Our method and hyperparameters by the published name of a method."""
MAJORITY = "majority"
"""The constant prediction of the largest class of the ID test; the paper reports its accuracy."""
RANKED = ("erm", "mc_dropout", "swa", "deep_ensemble_k5", "bagging_k2", "bagging_k5", "twin_lam300")
CAMPAIGNS = "bo_loop_regression"
"""The published table that corresponds to the study ``bo-loop``."""
TUNED = {"bo_vs_lam300": "twin_lam300", "bo_vs_erm": "erm"}
"""Published names of the differences of the twin with a tuned λ to another method."""
SAME = {"churn_abs": "churn", "delta_churn_vs_erm": "churn", "delta_sym_kl_vs_erm": "sym_kl"}
"""Catalogue keys of published metrics that have another name there, or that are differences to ERM."""
COUNTS: Mapping[str, Callable[[Dataset, Predictions], float]] = {
    "n_train": lambda dataset, p: dataset.n_train,
    "n_id_test": lambda dataset, p: len(p.ids),
    "positive_fraction": lambda dataset, p: positive_fraction(p),
}
"""Facts of a split, which must be equal to the published ones."""
TRIAGE = {
    "top10_recall_churn": "recall of churn, seen",
    "top10_recall_entropy": "recall of entropy, seen",
    "aupc_churn": "area of churn, seen",
    "aupc_entropy": "area of entropy, seen",
}
"""Keys of ``benchmark.measure.triage.measured`` that follow the paper's protocol, by published metric."""


@dataclass(frozen=True)
class Ours:
    """Our number as a fraction; ``wider``, if defined, computes its interval over retrainings and examples."""

    estimate: Estimate
    wider: Callable[[], Estimate] | None = None


class Missing(Exception):
    """The reason why we have no number for a row."""


def mapping(results: Results, rows: Sequence[Published]) -> Callable[[Published], Ours]:
    """Return what gives our number for each of the ``rows`` of a file. It raises Missing if there is none."""
    results = with_studies(results)
    ranked = dict.fromkeys(row.dataset for row in rows if row.table == "main")
    ranks = cache(lambda split: _ranks(results, ranked, split))
    triage = cache(lambda dataset, split: _triage(results, dataset, split))

    def ours(row: Published) -> Ours:
        if row.table == "friedman":
            return _item(ranks(row.canonical_seed), (row.metric, row.method))
        if row.table == CAMPAIGNS:
            return _campaigns(results, row)
        if row.method in TUNED:
            return _tuned(results, row)
        if row.metric in TRIAGE:
            return _item(triage(row.dataset, row.canonical_seed), TRIAGE[row.metric])
        return _ours(results, row)

    return ours


def _item(numbers: Mapping[Any, Ours], key: object) -> Ours:
    if key not in numbers:
        raise Missing(f"we compute no number called {key}")
    return numbers[key]


def _ours(results: Results, row: Published) -> Ours:
    constant = row.method == MAJORITY
    dataset, entry = _find(results, row.dataset, "erm" if constant else row.method, row.canonical_seed)
    p = entry.cells[row.canonical_seed].predictions["id"]
    measures = {task: measure for task in TASKS if (measure := find(SAME.get(row.metric, row.metric), task))}
    counted = constant or row.metric in COUNTS
    of_classes = constant or row.metric == "positive_fraction"
    tasks = TASKS[:1] if of_classes else TASKS if counted else (*measures,)
    if not tasks:
        raise Missing(f"we compute no measure called {row.metric}")
    if p.task not in tasks:
        what = MAJORITY if constant else row.metric
        raise Missing(f"{what} applies to {tasks[0]} only; {row.dataset} is a {p.task}")
    if counted:
        count = float(np.bincount(p.y).max() / len(p.y)) if constant else COUNTS[row.metric](dataset, p)
        return Ours(Estimate(count, count, count))
    measure = measures[p.task]
    versus = row.metric.endswith("_vs_erm")
    splits = matched(pairs_of(dataset, entry)) if versus else [(p, None)]
    if not splits:
        raise Missing(f"ERM has not been run on {row.dataset}, split {row.canonical_seed}")
    wider = partial(of_measure, measure, splits, "both") if measure.of_examples else None
    return Ours(of_measure(measure, splits), wider)


def _tuned(results: Results, row: Published) -> Ours:
    """Return the λ that the study tuned, or the effect of tuning against a method at equal bootstraps."""
    from benchmark.studies.bayes_lambda import BayesLambda, tuned

    split = row.canonical_seed
    where = f"{row.dataset}, split {split}"
    record = next((r for r in results.records if r.study == BayesLambda.name and r.key.startswith(f"{where},")), None)  # type: ignore[attr-defined]
    if record is None:
        raise Missing(f"λ has not been tuned on {where}")
    best, lam = tuned(record.content)
    if row.metric == "mean_lambda":
        return Ours(jackknife([best]))
    asked = re.fullmatch("delta_(id|ood)_(accuracy|churn)", row.metric)
    if asked is None:
        raise Missing(f"we compute no measure called {row.metric}")
    dataset, other = _find(results, row.dataset, TUNED[row.method], split)
    twins = [e.cells[split] for e in dataset.entries if e.method == "twin" and split in e.cells]
    cell = next((c for c in twins if c.key.params == {"lam": lam, "members": 2}), None)
    if cell is None:
        raise Missing(f"the twin at λ = {lam:g} has not been run on {where}")
    evalset, measure = asked[1], measure_of(asked[2], "classification")
    if evalset not in cell.predictions:
        raise Missing(f"{row.dataset} has no {evalset.upper()} test")
    pairs = matched([(cell, other.cells[split])], evalset)
    return Ours(of_measure(measure, pairs), partial(of_measure, measure, pairs, "both"))


def _campaigns(results: Results, row: Published) -> Ours:
    """Return a result of the study of campaigns with the paper's settings, with its interval over campaigns."""
    from benchmark.studies.bo_loop import BOLoop, outcomes

    if row.method not in METHODS:
        raise Missing(f"no method of ours is called {row.method}")
    name, params = METHODS[row.method]
    method = make_method(":".join([name, *(f"{key}={value}" for key, value in params.items())]), "regression")
    key = BOLoop().key(row.dataset, row.canonical_seed, method)
    record = next((r for r in results.records if r.study == BOLoop.name and r.key == key), None)  # type: ignore[attr-defined]
    if record is None:
        raise Missing(f"no campaigns of {row.method} have been run on {row.dataset}, split {row.canonical_seed}")
    sampled = outcomes(record.content)
    if row.metric not in sampled:
        raise Missing(f"we compute no measure called {row.metric}")
    return Ours(estimate(sampled[row.metric]))


def _find(results: Results, name: str, method: str, split: int) -> tuple[Dataset, Entry]:
    """Return the dataset and the entry, reduced to its cell of that split. Raises Missing with the reason."""
    if method not in METHODS:
        raise Missing(f"no method of ours is called {method}")
    name = re.sub(r"@(\d+)$", r"@train=\1", name)
    dataset = results.dataset(name)
    if dataset is None:
        raise Missing(f"{name} has not been run")
    for entry in dataset.entries:
        key = next(iter(entry.cells.values())).key
        if (key.pipeline, dict(key.params)) == METHODS[method] and split in entry.cells:
            return dataset, replace(entry, cells={split: entry.cells[split]})
    raise Missing(f"{method} has not been run on {name}, split {split}")


def _triage(results: Results, dataset: str, split: int) -> Mapping[str, Ours]:
    p = _find(results, dataset, "erm", split)[1].cells[split].predictions["id"]
    if p.task == "regression":
        raise Missing(f"triage applies to classification only; {dataset} is a regression")
    return {key: Ours(estimate) for key, estimate in estimates([p]).items()}


def _ranks(results: Results, names: Collection[str], split: int) -> Mapping[tuple[str, str], Ours]:
    """Return the ranks of the paper's methods on one split, by metric and method.

    Each dataset counts, as in the paper, though two of them are one family.
    """
    if not names:
        raise Missing("the file has no rows of the table main, which name the datasets to rank over")
    missing, churns = [], list[list[Influence]]()
    for name in names:
        churns.append([])
        for method in RANKED:
            try:
                cell = _find(results, name, method, split)[1].cells[split]
                churns[-1].append(influence([CHURN.of_runs(cell.predictions["id"])]))
            except Missing as reason:
                missing.append(reason)
    if missing:
        raise Missing(f"{len(missing)} of {len(names) * len(RANKED)} cells are missing: {missing[0]}")
    values = np.array([[value for value, _ in row] for row in churns])
    ranking = friedman(values, RANKED, list(names))
    ranks = {("mean_rank", m): Ours(e) for m, e in zip(RANKED, rank_intervals(churns), strict=True)}
    ranks["chi2", ""] = Ours(Estimate(ranking.chi2, np.nan, np.nan))
    difference = ranking.critical_difference
    ranks["nemenyi_cd", ""] = Ours(Estimate(difference, difference, difference))
    return ranks
