"""Triage: using a few retrainings to find predictions that flip; how many it takes, and how entropy compares (paper,
section "Empirical evaluation" and appendices).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmark.measure import triage
from benchmark.store.cell import Cell
from benchmark.studies.from_predictions import Cells, FromPredictions
from benchmark.study.context import study
from benchmark.study.text import percent
from benchmark.types import Predictions


def captured(cells: Sequence[Cell], curves: Callable[[Predictions], list[triage.Gain]], share: float) -> str:
    """Return the part of all flips among the first ``share`` of examples: mean over splits."""
    recalls = [triage.average(curves(c.predictions["id"]), lambda curve: float(curve.recall(share))) for c in cells]
    return percent(float(np.mean(recalls)), 1)


@study("triage", title="Triage by one extra retraining")
@dataclass(frozen=True)
class Triage(FromPredictions):
    shown = ("triage",)
    figures = ("triage",)

    def finding(self, cells: Cells) -> str:
        tenth = captured(cells["erm"], partial(triage.by_churn, k=2), triage.DECILE)
        third = captured(cells["erm"], partial(triage.by_churn, k=2), triage.REVIEWED)
        return (
            f"ranked by the churn of two retrainings, the top tenth of predictions contains {tenth} of all flips, and "
            f"the top {percent(triage.REVIEWED)} contain {third}"
        )


@study("convergence", title="How many retrainings suffice for triage")
@dataclass(frozen=True)
class Convergence(FromPredictions):
    shown = ("triage",)

    def finding(self, cells: Cells) -> str:
        most = min(len(cell.key.seeds) for cell in cells["erm"])
        runs = [k for k in triage.RUNS if k <= max(2, most - 2)]  # leave two runs whose flips the score has not seen
        shares = [
            f"{captured(cells['erm'], partial(triage.by_churn, k=k), triage.REVIEWED)} ({k} retrainings)" for k in runs
        ]
        return (
            f"ranked by the churn of a few retrainings, the top {percent(triage.REVIEWED)} of predictions contain "
            f"{', '.join(shares)} of all flips"
        )


@study("entropy", title="Entropy or churn as a predictor of flips")
@dataclass(frozen=True)
class Entropy(FromPredictions):
    shown = ("triage",)

    def finding(self, cells: Cells) -> str:
        churn = captured(cells["erm"], partial(triage.by_churn, k=2), triage.DECILE)
        entropy = captured(cells["erm"], triage.by_entropy, triage.DECILE)
        return (
            f"the top tenth of predictions contains {churn} of all flips if ranked by the churn of two retrainings, "
            f"and {entropy} if ranked by entropy"
        )
