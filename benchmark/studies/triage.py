"""How a few retrainings find the predictions that flip, against how many of them, and against entropy (paper, section
"Empirical evaluation" and appendices).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.lab.study import percent, study
from benchmark.measure import triage
from benchmark.store.cell import Cell
from benchmark.studies.from_predictions import Cells, FromPredictions
from benchmark.types import Predictions


def captured(cells: Sequence[Cell], curves: Callable[[Predictions], list[triage.Gain]], share: float) -> str:
    """Of all flips, the part among the first ``share`` of examples: mean over splits."""
    recalls = [triage.average(curves(c.predictions["id"]), lambda curve: float(curve.recall(share))) for c in cells]
    return percent(float(np.mean(recalls)), 1)


def by_churn(runs: int) -> Callable[[Predictions], list[triage.Gain]]:
    return lambda p: triage.by_churn(p, runs)


@study("triage", title="Triage by one extra retraining")
@dataclass(frozen=True)
class Triage(FromPredictions):
    shown = ("triage",)
    figures = ("triage",)

    def finding(self, cells: Cells) -> str:
        tenth = captured(cells["erm"], by_churn(2), triage.DECILE)
        third = captured(cells["erm"], by_churn(2), triage.REVIEWED)
        return (
            f"of all flips {tenth} are among the tenth of predictions that two retrainings disagree on first, {third} "
            f"among the first {percent(triage.REVIEWED)}"
        )


@study("convergence", title="How many retrainings suffice for triage")
@dataclass(frozen=True)
class Convergence(FromPredictions):
    shown = ("triage",)

    def finding(self, cells: Cells) -> str:
        most = min(len(cell.key.seeds) for cell in cells["erm"])
        runs = [k for k in triage.RUNS if k <= max(2, most - 2)]  # two are left, whose flips the score has not seen
        found = [f"{captured(cells['erm'], by_churn(k), triage.REVIEWED)} with {k}" for k in runs]
        return (
            f"the {percent(triage.REVIEWED)} of predictions that a few retrainings disagree on first hold of all flips "
            f"{', '.join(found)} retrainings"
        )


@study("entropy", title="Entropy or churn as a predictor of flips")
@dataclass(frozen=True)
class Entropy(FromPredictions):
    shown = ("triage",)

    def finding(self, cells: Cells) -> str:
        churn = captured(cells["erm"], by_churn(2), triage.DECILE)
        entropy = captured(cells["erm"], triage.by_entropy, triage.DECILE)
        return (
            f"the first tenth of predictions by the churn of two runs holds {churn} of all flips, by entropy {entropy}"
        )
