"""What a method's accuracy and churn become if it abstains where its retrainings disagree."""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmark.measure.abstention import CONSISTENCIES, FEWEST, curve
from benchmark.measure.intervals import FEWEST_EXAMPLES, Estimate, IntervalKind, jackknife, weighted
from benchmark.types import Predictions
from leaderboard.read.results import Dataset, Entry, Results, unit_weights
from leaderboard.tables.layouts import Body, TableCell, averaged, listed
from leaderboard.tables.summary import complete_block
from leaderboard.tables.table import Value

QUANTITIES = ("coverage", "accuracy", "churn")


Levels = list[list[Estimate]]
"""Coverage, accuracy and churn (columns) at each of ``CONSISTENCIES`` (rows)."""


def estimates(dataset: Dataset) -> Mapping[str, Levels]:
    """Return the levels of each method, mean over splits. They are computed once for a dataset.

    Intervals are over retrainings, from pseudo-values: all retrainings decide together what is kept.
    """
    return dataset.once("abstention", lambda: {entry.title: _levels(entry) for entry in dataset.entries})


def keep_estimates(dataset: Dataset, levels: Mapping[str, Levels]) -> None:
    """Make ``levels`` those that are returned for ``dataset``."""
    dataset.computed["abstention"] = levels


def _levels(entry: Entry) -> Levels:
    parts = [_pseudo(cell.predictions["id"]) for cell in entry.cells.values()]
    few = sum(len(cell.predictions["id"].ids) for cell in entry.cells.values()) < FEWEST_EXAMPLES
    found = [
        [jackknife([part[:, level, q] for part in parts]) for q in range(len(QUANTITIES))]
        for level in range(len(CONSISTENCIES))
    ]
    return [[e.bare() for e in row] for row in found] if few else found


def _pseudo(p: Predictions) -> np.ndarray:
    """Return the pseudo-values (R, 4, 3) of the curve; the curve alone, (1, 4, 3), if a run cannot be left out."""
    r, whole = len(p.seeds), curve(p)
    if r <= FEWEST:
        return whole[None]
    without = np.stack([curve(p.only([i for i in range(r) if i != out])) for out in range(r)])
    return whole + (r - 1) * (without.mean(axis=0) - without)


def curves(results: Results) -> tuple[list[Dataset], dict[str, Levels]]:
    """Return the headline datasets and, by method, the mean over families at each self-consistency.

    Under halves there are none: a halving has two retrainings, and none is left to decide.
    """
    if results.sampling == "halves":
        return [], {}
    block, titles = complete_block(results.headline())
    if not block:
        return [], {}
    weights = unit_weights(block)
    return block, {title: _over(block, title, weights) for title in titles}


def _over(block: Sequence[Dataset], title: str, weights: np.ndarray) -> Levels:
    each = [estimates(dataset)[title] for dataset in block]
    levels = range(len(CONSISTENCIES))
    return [[weighted([of[k][q] for of in each], weights) for q in range(len(QUANTITIES))] for k in levels]


def unanimous(results: Results, kind: IntervalKind) -> Body | None:
    """Return a row per method: accuracy and churn of all predictions, and of those on which the others agree."""
    block, found = curves(results)
    rows: list[tuple[TableCell, ...]] = []
    for title, levels in found.items():
        if np.isnan(levels[0][0].value):
            continue
        (_, accuracy, churn), (coverage, kept, churn_kept) = levels[0], levels[-1]
        of_all = (Value.of(accuracy, digits=3, most=1), Value.of(churn, 100, most=1))
        of_kept = (Value.of(coverage, 100, most=1), Value.of(kept, digits=3, most=1), Value.of(churn_kept, 100, most=1))
        rows.append((title, *of_all, *of_kept))
    if not rows:
        return None
    header = ("Method", "Accuracy", "Churn (%)", "Coverage (%)", "Accuracy", "Churn (%)")
    notes = (
        f"Mean over {listed([dataset.title for dataset in block])}; each family counts once. For each pair of "
        "retrainings the others decide which predictions are made, so that none is judged by itself.",
        *(("The intervals are over retrainings.",) if kind != "runs" else ()),
        *averaged(block),
    )
    return Body(header, tuple(rows), tuple(block), notes, (("", 1), ("All predictions", 2), ("All others agree", 3)))
