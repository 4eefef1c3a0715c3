"""What the paper reads from the predictions of the main grid, without further training: here the case study, the heat
map and the stability of the top ten (paper, section "Empirical evaluation" and appendices). The tables and figures are
those that the leaderboard has of these cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmark.data.spec import expand, load_spec
from benchmark.lab.study import Lab, Report, classifications, mean, percent, retrainings, study
from benchmark.measure.basics import FLIPPING
from benchmark.measure.catalogue import TOP_JACCARD, example_flips
from benchmark.settings import parse_splits
from benchmark.store.cell import Cell

Cells = Mapping[str, Sequence[Cell]]
"""By method, one for each split."""


@dataclass(frozen=True)
class FromPredictions(ABC):
    """ERM and the methods that are compared with it, on boards; ``shown`` and ``figures`` of each dataset are shown."""

    for_boards: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = ("erm",)
    shown: ClassVar[tuple[str, ...]] = ()
    figures: ClassVar[tuple[str, ...]] = ()

    dataset: str = "bace,dili,cyp2d6_substrate,pgp_broccatelli,mof_thermal,bbb_martins,bbbp"
    """The paper's headline datasets, but AMES, which takes hours, and TADF, which cannot be downloaded."""
    canonical_seed: str = "99"
    seeds: str = "10"

    def report(self, lab: Lab) -> Report:
        datasets = classifications(expand(self.dataset))
        found = lab.cells(self.methods, datasets, parse_splits(self.canonical_seed), retrainings(self.seeds))
        shown = [*self.shown, *(f"{figure}-{load_spec(d).name}" for d in datasets for figure in self.figures)]
        findings = [(load_spec(d).title, self.finding({m: found[d, m] for m in self.methods})) for d in datasets]
        return Report([f"{title}: {finding}." for title, finding in findings], shown=shown)

    @abstractmethod
    def finding(self, cells: Cells) -> str:
        """What is found on one dataset, as the rest of a sentence."""


def flips(cells: Sequence[Cell]) -> np.ndarray:
    """The share of pairs of retrainings in which each test example flips, of one split after the other."""
    return np.concatenate([example_flips(cell.predictions["id"]) for cell in cells])


@study("case-study", title="Molecules whose prediction flips")
@dataclass(frozen=True)
class CaseStudy(FromPredictions):
    methods = ("erm", "twin")
    figures = ("cases",)

    def finding(self, cells: Cells) -> str:
        erm, twin = flips(cells["erm"]), flips(cells["twin"])
        often = erm >= FLIPPING
        return (
            f"of {len(erm)} test examples {often.sum()} flip in {percent(FLIPPING)} or more of the pairs of ERM's "
            f"retrainings; {(often & (twin == 0)).sum()} of these never flip with {cells['twin'][0].title}"
        )


@study("heat-map", title="Heat maps of predictions")
@dataclass(frozen=True)
class HeatMap(FromPredictions):
    methods = ("erm", "twin")
    figures = ("heatmap",)

    def finding(self, cells: Cells) -> str:
        still = [
            f"{percent((flips(some) == 0).mean(), 1)} with {some[0].title} (churn {percent(mean('churn', some), 1)})"
            for some in cells.values()
        ]
        return f"of the test examples never flip {', '.join(still)}"


@study("top-k", title="Stability of the top ten")
@dataclass(frozen=True)
class TopK(FromPredictions):
    methods = ("erm", "bagging", "twin")
    shown = ("top-k",)

    def finding(self, cells: Cells) -> str:
        overlap = []
        for some in cells.values():
            of_splits = [TOP_JACCARD.mean(cell.predictions["id"]) for cell in some]
            overlap.append(f"{np.mean(of_splits):.2f} with {some[0].title}")
        return f"the Jaccard overlap of two retrainings' ten most probable actives is {', '.join(overlap)}"
