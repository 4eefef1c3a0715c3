"""What the tables show: one entry a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark import metrics
from benchmark.types import Cell, Predictions, Task
from leaderboard.stats.intervals import Estimate, difference, jackknife

Pair = tuple[Cell, Cell | None]
"""A method's cell on one canonical split, and the reference's there, cut to the train seeds of both."""


@dataclass(frozen=True)
class Column:
    """One column. ``better`` says which way is good, ``scale`` and ``digits`` how the number is written."""

    key: str
    title: str
    task: Task
    value: Callable[[Sequence[Pair], str], Estimate | None]
    better: int
    """+1: higher is better; −1: lower is better."""
    scale: float = 1
    digits: int = 3
    signed: bool = False
    help: str = ""

    def text(self, estimate: Estimate | None) -> str:
        """``16.1 [13.9, 18.3]``, or a dash where there is nothing to say."""
        if estimate is None or np.isnan(estimate.value):
            return "–"
        sign = "+" if self.signed else ""
        number, low, high = (
            f"{x * self.scale:{sign}.{self.digits}f}" for x in (estimate.value, estimate.low, estimate.high)
        )
        return number if np.isnan(estimate.low) else f"{number} [{low}, {high}]"


Quantity = Callable[[Predictions], np.ndarray]


def absolute(quantity: Quantity) -> Callable[[Sequence[Pair], str], Estimate | None]:
    """The method's own value, with the jackknife over its runs."""
    return lambda pairs, evalset: jackknife([quantity(cell.predictions[evalset]) for cell, _ in pairs])


def versus_reference(quantity: Quantity) -> Callable[[Sequence[Pair], str], Estimate | None]:
    """The method minus ERM at equal train seeds, over the splits that have both; nothing for ERM itself."""

    def value(pairs: Sequence[Pair], evalset: str) -> Estimate | None:
        differences = [
            difference(
                quantity(common(cell, erm).predictions[evalset]), quantity(common(erm, cell).predictions[evalset])
            )
            for cell, erm in pairs
            if erm is not None and erm is not cell
        ]
        return jackknife(differences) if differences else None

    return value


def common(cell: Cell, other: Cell) -> Cell:
    """``cell`` with only the train seeds that ``other`` has too, in ascending order."""
    keep = sorted(set(cell.key.seeds) & set(other.key.seeds))
    index = [cell.key.seeds.index(seed) for seed in keep]
    predictions = {
        evalset: Predictions(tuple(keep), p.ids, p.y, p.values[index], p.task)
        for evalset, p in cell.predictions.items()
    }
    return Cell(cell.key, cell.title, predictions, cell.fit_seconds, cell.about, cell.run_id)


def compute(pairs: Sequence[Pair], evalset: str) -> Estimate | None:
    """CPU time of one training in multiples of ERM's, averaged over splits."""
    ratios = [cell.fit_seconds / erm.fit_seconds for cell, erm in pairs if erm is not None and erm.fit_seconds > 0]
    return Estimate(float(np.mean(ratios)), np.nan, np.nan) if ratios else None


def accuracy(p: Predictions) -> np.ndarray:
    return metrics.accuracy(p.values, p.y)


def churn(p: Predictions) -> np.ndarray:
    return metrics.PAIRWISE[p.task]["churn"](p.values)


def sym_kl(p: Predictions) -> np.ndarray:
    return metrics.sym_kl(p.values)


def mae(p: Predictions) -> np.ndarray:
    return metrics.mae(p.values, p.y)


COMPUTE_HELP = "measured CPU time of one retraining, in multiples of ERM's"
FLIP_HELP = "share of test predictions whose class differs between two retrainings, mean over all pairs"
COLUMNS = (
    Column("accuracy", "Accuracy", "classification", absolute(accuracy), +1),
    Column("delta_accuracy", "Δ accuracy (pp)", "classification", versus_reference(accuracy), +1, 100, 1, True),
    Column("churn", "Churn (%)", "classification", absolute(churn), -1, 100, 1, help=FLIP_HELP),
    Column("delta_churn", "Δ churn (pp)", "classification", versus_reference(churn), -1, 100, 1, True),
    Column("sym_kl", "Sym-KL (nats)", "classification", absolute(sym_kl), -1, digits=3),
    Column("compute", "Compute (× ERM)", "classification", compute, -1, digits=1, help=COMPUTE_HELP),
    Column("mae", "MAE", "regression", absolute(mae), -1),
    Column("delta_mae", "Δ MAE", "regression", versus_reference(mae), -1, signed=True),
    Column(
        "churn", "Churn |f − f′|", "regression", absolute(churn), -1, help="mean absolute difference of two retrainings"
    ),
    Column("delta_churn", "Δ churn", "regression", versus_reference(churn), -1, signed=True),
    Column("compute", "Compute (× ERM)", "regression", compute, -1, digits=1, help=COMPUTE_HELP),
)
