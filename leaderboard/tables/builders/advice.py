"""Builders of the tables of advice: does it serve anybody to choose by the kind of data, rather than take the first?"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from benchmark.measure.catalogue import ORDER
from benchmark.measure.intervals import IntervalKind, jackknife
from benchmark.types import Task
from leaderboard.read.properties import of_datasets
from leaderboard.read.results import Dataset, Results, units
from leaderboard.tables.builders.churn_to_expect import shown
from leaderboard.tables.layouts import Body
from leaderboard.tables.order import REHEARSED, of_units, resampled
from leaderboard.tables.summary import summaries
from leaderboard.tables.table import MISSING, Value

NEAREST = 8
"""Number of families, the most similar ones, that one of the rules chooses by."""
FIRST, HINDSIGHT = "nothing: the first of all", "hindsight"
SIMILAR = f"all of these: the {NEAREST} most similar families"


def advice(task: Task, results: Results, kind: IntervalKind) -> Body | None:
    """Return rules to choose a method by, each tested on the families that it has not seen."""
    summary = next((one for one in summaries(results, kind) if one.task == task and one.reference), None)
    if summary is None or summary.changes is None or len(set(units(summary.datasets))) < REHEARSED:
        return None
    titles, block = [*summary.values], summary.datasets
    values, changes = of_units(block, np.column_stack([*summary.values.values()]), summary.changes)
    of_rules = choices(values, changes, _known(block), task)
    every = np.arange(len(values))
    first = [of[every, of_rules[FIRST]] for of in (values, changes)]
    rows = []
    for rule, chosen in of_rules.items():
        reached = [of[every, chosen] for of in (values, changes)]
        gains = [
            MISSING if rule == FIRST else Value.of(jackknife([mine - theirs]), 100, signed=True)
            for mine, theirs in zip(reached, first, strict=True)
        ]
        counts = Counter(titles[i] for i in chosen).most_common()
        taken = "; ".join([*(f"{title} ({n})" for title, n in counts[:3]), *["others"] * (len(counts) > 3)])
        rows.append((rule, Value.of(jackknife([reached[0]]), 100), *gains, taken))
    quality = (
        "Matched accuracy, less the first's (pp)" if task == "classification" else "MAE, less the first's (% of ERM's)"
    )
    header = ("Choose by", ORDER[task].title, "Less the first's (pp)", quality)
    return Body((*header, "Chosen (families)"), tuple(rows), block)


def choices(
    values: np.ndarray, changes: np.ndarray, properties: Mapping[str, np.ndarray], task: Task
) -> dict[str, np.ndarray]:
    """Return the number of the method (F,) that each rule chooses for each of F families, from the others.

    Of the methods that have a place on the other families (``resampled``), it is that with the least mean of ``values``
    (F, M): on all of them; on those on the same side of the median of one of ``properties`` (F,); or on those most
    similar in all properties. ``changes`` (F, M) are in what a place asks for. In hindsight, it is the least on the
    family itself, which nobody can know.
    """
    n = len(values)
    others = 1.0 - np.eye(n)
    placed = np.isfinite(resampled(values, changes, others, task))

    def least(weights: np.ndarray) -> np.ndarray:
        means = weights @ values / weights.sum(axis=1, keepdims=True)
        return np.asarray(np.where(placed, means, np.inf).argmin(axis=1))

    def alike(of: np.ndarray) -> np.ndarray:
        medians = np.array([np.median(np.delete(of, i)) for i in range(n)])
        same = others * ((of > medians[:, None]) == (of > medians)[:, None])
        return np.where(same.any(axis=1, keepdims=True), same, others)

    found = {FIRST: least(others)}
    found |= {name: least(alike(of)) for name, of in properties.items()}
    if properties:
        scaled = np.column_stack([(of - of.mean()) / (of.std() or 1) for of in properties.values()])
        distances = np.square(scaled[:, None] - scaled).sum(axis=-1) + np.diag(np.full(n, np.inf))
        found[SIMILAR] = least(others * (distances.argsort(axis=1).argsort(axis=1) < NEAREST))
    return found | {HINDSIGHT: least(np.eye(n))}


def _known(block: Sequence[Dataset]) -> dict[str, np.ndarray]:
    """Return the properties (F,) known before training, by name, those that all families have."""
    found = of_datasets(block)
    kinds = [kind for kind in shown(block[0].task) if kind.name != "quality"]
    each = [[getattr(found[dataset.name], kind.name, None) for kind in kinds] for dataset in block]
    (values,) = of_units(block, np.array(each, float))
    return {
        kind.title.partition(" (")[0].lower().replace("k-nn", "k-NN"): np.log(of) if kind.log else of
        for kind, of in zip(kinds, values.T, strict=True)
        if not np.isnan(of).any()
    }
