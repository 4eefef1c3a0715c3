"""Scorecard of methods: what decisions rest on besides churn and accuracy, from the same predictions."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from benchmark.measure.basics import bad_flips, good_flips
from benchmark.measure.catalogue import SCORECARD, tolerance_of
from benchmark.measure.estimate import estimate, interval
from benchmark.measure.intervals import Estimate, IntervalKind, described
from benchmark.measure.measure import Measure
from benchmark.types import Predictions, Task
from leaderboard.read.results import Dataset, Entry, Results, once
from leaderboard.tables.columns import absolute, matched, pairs_of
from leaderboard.tables.layouts import Body, TableCell, averaged, fallback, listed
from leaderboard.tables.order import means_of, over_what
from leaderboard.tables.summary import complete_block
from leaderboard.tables.table import Table, Value

PARTS: Mapping[tuple[Task, str], str] = {
    ("classification", "decisions"): "what retraining changes in decisions",
    ("classification", "classes"): "classes",
    ("classification", "ranking"): "ranking",
    ("classification", "probabilities"): "probabilities",
    ("regression", "values"): "values",
    ("regression", "ranking"): "ranking of values",
}
"""The parts of the scorecard, in words."""
OF_FLIPS = (
    "Good and bad flips: share of the ID test that ERM gets wrong and the method right, or the reverse, at equal train "
    "seeds."
)
FLIPS = {"Good flips (%)": good_flips, "Bad flips (%)": bad_flips}
Change = Callable[[Predictions, Predictions], np.ndarray]


Card = Mapping[str, Mapping[str, Estimate | None]]
"""The scorecard of a dataset, by the title of a method and by the key of a measure or the title of flips."""


@once
def card(dataset: Dataset, kind: IntervalKind) -> Card:
    """Return the scorecard of each method on the ID test of a dataset."""
    shown = [measure for part in SCORECARD[dataset.task].values() for measure in part]
    changes = FLIPS if dataset.task == "classification" else {}
    return {
        entry.title: {measure.key: estimate(measure, [(p, None) for p in entry.tests], kind) for measure in shown}
        | {title: _changed(dataset, entry, flips, kind) for title, flips in changes.items()}
        for entry in dataset.entries
    }


def _changed(dataset: Dataset, entry: Entry, flips: Change, kind: IntervalKind) -> Estimate | None:
    """Return the share of examples that ``flips`` marks between ERM and a method; None for ERM itself.

    Under ``halves``, the unit that is left out is the halving, whose two runs share the data that they do not share.
    """
    pairs = matched(pairs_of(dataset, entry))
    splits = [flips(erm, own) for own, erm in pairs]  # (R, T) each
    by_run, by_example = ([marked.mean(axis=axis) for marked in splits] for axis in (1, 0))
    if dataset.sampling == "halves":
        by_run = [_by_halving(runs, own.seeds) for runs, (own, _) in zip(by_run, pairs, strict=True)]
    return interval(kind, lambda: by_run, lambda: by_example, sum(map(len, by_example))) if splits else None


def _by_halving(runs: np.ndarray, seeds: Sequence[int]) -> np.ndarray:
    """Average values (R,) over the runs of each halving, train seeds 2j − 1 and 2j: (J,)."""
    halvings = (np.asarray(seeds) + 1) // 2
    return np.array([runs[halvings == j].mean() for j in np.unique(halvings)])


def body(
    task: Task, part: str, datasets: Sequence[Dataset], titles: Sequence[str], kind: IntervalKind, units: bool = False
) -> Body:
    """Return a row per method with means over the families of ``datasets``, which all have all methods.

    Measures in the target's unit have no mean over regressions: they are there for a single dataset with ``units``.
    """
    shown = [m for m in SCORECARD[task][part] if units or task == "classification" or m.most < np.inf]
    columns = [absolute(measure) for measure in shown]
    changes = FLIPS if part == "decisions" and any(d.reference for d in datasets) else {}
    cards = [card(dataset, kind) for dataset in datasets]
    keys = [*(column.key for column in columns), *changes]
    each = {(title, key): [one.get(title, {}).get(key) for one in cards] for title in titles for key in keys}
    means = means_of(datasets, each, kind)
    rows: list[tuple[TableCell, ...]] = []
    for title in titles:
        own = [column.show(means.get((title, column.key))) for column in columns]
        rows.append((title, *own, *(Value.of(means.get((title, change)), 100, most=1) for change in changes)))
    notes = [f"{listed(titles)}: {help}." for help, titles in meanings(shown).items()]
    notes += [OF_FLIPS] * (part == "decisions")
    notes += fallback(kind, [(column.title, column.measure) for column in columns])
    header = ("Method", *(column.title for column in columns), *changes)
    return Body(header, tuple(rows), tuple(datasets), (*notes, *averaged(datasets)))


def meanings(measures: Sequence[Measure]) -> dict[str, list[str]]:
    """Return the titles of measures, without units, by what they mean."""
    alike: dict[str, list[str]] = {}
    for measure in measures:
        if measure.help:
            alike.setdefault(measure.help, []).append(measure.title.partition(" (")[0])
    return alike


def over_datasets(task: Task, part: str, results: Results, kind: IntervalKind) -> Body | None:
    """Return a part of the scorecard over the headline classifications, or over the regressions."""
    block, titles = complete_block(results.headline() if task == "classification" else results.regressions())
    if not block or not titles:
        return None
    made = body(task, part, block, titles, kind)
    names = listed([dataset.title for dataset in block])
    over = f"Mean over {names}; each family counts once. 95 % intervals over {over_what(block, kind)}."
    return Body(made.header, made.rows, made.datasets, (over, *made.notes))


def of_dataset(dataset: Dataset, kind: IntervalKind = "runs") -> Iterator[Table]:
    """Yield the parts of the scorecard of one dataset, with a row per method."""
    for part in SCORECARD[dataset.task]:
        titles = [entry.title for entry in dataset.entries]
        made = body(dataset.task, part, [dataset], titles, kind, units=True)
        units = f" MAE and churn are in {dataset.unit}." if part == "values" and dataset.unit else ""
        caption = f"ID test of {dataset.title}, sampling {dataset.sampling}.{units}{_limit(dataset, part)}"
        yield Table(
            f"scorecard-{part}-{dataset.name}",
            f"Scorecard of {dataset.title}: {PARTS[dataset.task, part]}",
            f"{caption} {described(kind, dataset.sampling)}",
            *(made.header, made.rows, made.notes, made.over, (dataset.name,), kind),
        )


def _limit(dataset: Dataset, part: str) -> str:
    """Say what the tolerance of a regression is in target units."""
    if part != "values":
        return ""
    tolerances = [tolerance_of(p) for p in dataset.entries[0].tests]
    return f" The tolerance is {np.mean(tolerances):.3g} {dataset.unit}".rstrip() + "."
