"""The paper's results from the predictions of the main grid, without further training: the case study, the heat map,
the stability of the top ten, and triage, which uses a few retrainings to find predictions that flip (paper, section
"Empirical evaluation" and appendices). Their tables and figures are those of the leaderboard.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from benchmark.data.spec import expand, load_spec
from benchmark.measure import triage
from benchmark.measure.basics import FLIPPING
from benchmark.measure.catalogue import TOP_JACCARD, example_flips
from benchmark.store.cell import Cell
from benchmark.study.context import Context, GridStudy, classifications, study
from benchmark.study.report import Report
from benchmark.study.text import mean, percent
from benchmark.types import Predictions

Cells = Mapping[str, Sequence[Cell]]
"""By method, one cell per split."""


@dataclass(frozen=True)
class FromPredictions(GridStudy, ABC):
    """A study of ERM and its rivals on the boards; it shows the tables ``shown``, and ``figures`` of each dataset."""

    for_boards: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = ("erm",)
    shown: ClassVar[tuple[str, ...]] = ()
    figures: ClassVar[tuple[str, ...]] = ()

    dataset: str = "bace,dili,cyp2d6_substrate,pgp_broccatelli,mof_thermal,bbb_martins,bbbp"
    """The paper's headline datasets except AMES, which takes hours, and TADF, which has to be downloaded
    by hand."""

    def report(self, context: Context) -> Report:
        datasets = classifications(expand(self.dataset))
        cells = self.cells(context, self.methods, datasets)
        shown = [*self.shown, *(f"{figure}-{load_spec(d).name}" for d in datasets for figure in self.figures)]
        findings = [(load_spec(d).title, self.finding({m: cells[d, m] for m in self.methods})) for d in datasets]
        return Report([f"{title}: {finding}." for title, finding in findings], shown=shown)

    @abstractmethod
    def finding(self, cells: Cells) -> str:
        """Return the finding on one dataset, as the rest of a sentence."""


def flips(cells: Sequence[Cell]) -> np.ndarray:
    """Return the share of pairs of retrainings in which each test example flips, with the splits concatenated."""
    return np.concatenate([example_flips(cell.predictions["id"]) for cell in cells])


@study("case-study", title="Molecules whose prediction flips")
class CaseStudy(FromPredictions):
    methods = ("erm", "twin")
    figures = ("cases",)

    def finding(self, cells: Cells) -> str:
        erm, twin = flips(cells["erm"]), flips(cells["twin"])
        often = erm >= FLIPPING
        return (
            f"{often.sum()} of {len(erm)} test examples flip in at least {percent(FLIPPING)} of the pairs of ERM's "
            f"retrainings; {(often & (twin == 0)).sum()} of them never flip with {cells['twin'][0].title}"
        )


@study("heat-map", title="Heat maps of predictions")
class HeatMap(FromPredictions):
    methods = ("erm", "twin")
    figures = ("heatmap",)

    def finding(self, cells: Cells) -> str:
        still = [
            f"{percent((flips(some) == 0).mean(), 1)} with {some[0].title} (churn {percent(mean('churn', some), 1)})"
            for some in cells.values()
        ]
        return f"the share of test examples that never flip is {', '.join(still)}"


@study("top-k", title="Stability of the top ten")
class TopK(FromPredictions):
    methods = ("erm", "bagging", "twin")
    shown = ("top-k",)

    def finding(self, cells: Cells) -> str:
        overlap = [
            f"{np.mean([TOP_JACCARD.mean(cell.predictions['id']) for cell in some]):.2f} with {some[0].title}"
            for some in cells.values()
        ]
        return f"the Jaccard overlap of two retrainings' ten most probable actives is {', '.join(overlap)}"


OF_TWO = partial(triage.by_churn, k=2)


def captured(cells: Sequence[Cell], share: float, curves: Callable[[Predictions], list[triage.Gain]] = OF_TWO) -> str:
    """Return the part of all flips among the first ``share`` of examples: mean over splits."""
    return percent(float(np.mean([triage.mean_recall(curves(c.predictions["id"]), share) for c in cells])), 1)


@study("triage", title="Triage by one extra retraining")
class Triage(FromPredictions):
    shown = ("triage",)
    figures = ("triage",)

    def finding(self, cells: Cells) -> str:
        tenth, third = (captured(cells["erm"], share) for share in (triage.DECILE, triage.REVIEWED))
        return (
            f"ranked by the churn of two retrainings, the top tenth of predictions contains {tenth} of all flips, and "
            f"the top {percent(triage.REVIEWED)} contain {third}"
        )


@study("convergence", title="How many retrainings suffice for triage")
class Convergence(FromPredictions):
    shown = ("triage",)

    def finding(self, cells: Cells) -> str:
        most = min(len(cell.key.seeds) for cell in cells["erm"])
        runs = [k for k in triage.RUNS if k <= max(2, most - 2)]  # leave two runs whose flips the score has not seen
        curves = {k: partial(triage.by_churn, k=k) for k in runs}
        shares = [f"{captured(cells['erm'], triage.REVIEWED, of)} ({k} retrainings)" for k, of in curves.items()]
        return (
            f"ranked by the churn of a few retrainings, the top {percent(triage.REVIEWED)} of predictions contain "
            f"{', '.join(shares)} of all flips"
        )


@study("entropy", title="Entropy or churn as a predictor of flips")
class Entropy(FromPredictions):
    shown = ("triage",)

    def finding(self, cells: Cells) -> str:
        churn, entropy = (captured(cells["erm"], triage.DECILE, curves) for curves in (OF_TWO, triage.by_entropy))
        return (
            f"the top tenth of predictions contains {churn} of all flips if ranked by the churn of two retrainings, "
            f"and {entropy} if ranked by entropy"
        )
