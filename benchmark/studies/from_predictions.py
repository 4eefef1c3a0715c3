"""What the paper reads from the predictions of the main grid, without further training: triage, its convergence and
entropy as its rival, the case study, the heat map and the stability of the top ten (paper, section "Empirical
evaluation" and appendices). The tables and figures are those that the leaderboard has of these cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from benchmark.data.spec import expand, load_spec
from benchmark.driver import parse_seeds, parse_splits
from benchmark.study import Lab, Report, study


@dataclass(frozen=True)
class FromPredictions:
    """ERM and the methods that are compared with it, on boards; ``shown`` and ``figures`` of each dataset are shown."""

    for_boards: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = ("erm",)
    shown: ClassVar[tuple[str, ...]] = ()
    figures: ClassVar[tuple[str, ...]] = ()
    answer: ClassVar[str] = ""

    dataset: str = "bace,dili,cyp2d6_substrate,pgp_broccatelli,mof_thermal,bbb_martins,bbbp"
    """The paper's headline datasets, but AMES, which takes hours, and TADF, which cannot be downloaded."""
    canonical_seed: str = "99"
    seeds: str = "10"

    def report(self, lab: Lab) -> Report:
        datasets = expand(self.dataset)
        lab.cells(self.methods, datasets, parse_splits(self.canonical_seed), parse_seeds(self.seeds))
        shown = [*self.shown, *(f"{figure}-{load_spec(d).name}" for d in datasets for figure in self.figures)]
        return Report([self.answer], shown=shown)


@study("triage", title="Triage by one extra retraining")
@dataclass(frozen=True)
class Triage(FromPredictions):
    shown = ("triage",)
    figures = ("triage",)
    answer = "How many of all flips are among the predictions that a few retrainings disagree on most."


@study("convergence", title="How many retrainings suffice for triage")
@dataclass(frozen=True)
class Convergence(FromPredictions):
    shown = ("triage",)
    answer = "The share of flips found by reviewing a part, against the number of retrainings behind the score."


@study("entropy", title="Entropy or churn as a predictor of flips")
@dataclass(frozen=True)
class Entropy(FromPredictions):
    shown = ("triage",)
    answer = "Whether the entropy of one model's predictions tells which of them flip as well as churn does."


@study("case-study", title="Molecules whose prediction flips")
@dataclass(frozen=True)
class CaseStudy(FromPredictions):
    methods = ("erm", "twin")
    figures = ("cases",)
    answer = "Molecules that ERM calls otherwise from retraining to retraining, and the calmest method never does."


@study("heat-map", title="Heat maps of predictions")
@dataclass(frozen=True)
class HeatMap(FromPredictions):
    methods = ("erm", "twin")
    figures = ("heatmap",)
    answer = "Molecules by retrainings: the predicted class, under ERM and under the calmest method."


@study("top-k", title="Stability of the top ten")
@dataclass(frozen=True)
class TopK(FromPredictions):
    methods = ("erm", "bagging", "twin")
    shown = ("top-k",)
    answer = "How many of the ten molecules with the highest predicted probability two retrainings have in common."
