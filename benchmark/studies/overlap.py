"""How much the training data of the two coupled networks should overlap (paper, appendix "Overlap spectrum").

Codistillation divides one bootstrap between them (0 %), twin-bootstrap gives each its own (about 40 % of the pool in
both), twin-shared gives both the same (100 %). Beyond the paper: a knob that goes through all overlaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmark import metrics
from benchmark.data.spec import expand, load_spec
from benchmark.driver import parse_seeds, parse_splits
from benchmark.study import (
    DELTA_CHURN,
    Axis,
    Chart,
    Head,
    Lab,
    Measured,
    Point,
    Report,
    Row,
    Sheet,
    classifications,
    mean,
    study,
)
from benchmark.types import Cell

POINTS = {"codistillation": "Codistillation 0 %", "twin": "Twin-bootstrap ≈ 40 %", "twin_shared": "Twin-shared 100 %"}
SHARES = (0, 0.25, 0.5, 0.75, 1)
COLLAPSE = 0.05
"""A loss of accuracy that † marks."""


@study("overlap", title="Overlap of the networks' training data")
@dataclass(frozen=True)
class Overlap:
    dataset: str = "skin_reaction,dili,hia_hou,herg,pgp_broccatelli,bace,mof_thermal,bbb_martins,bbbp"
    canonical_seed: str = "99"
    seeds: str = "10"
    knob: str = "bace"
    """The datasets on which the knob is turned."""

    def report(self, lab: Lab) -> Report:
        splits, seeds = parse_splits(self.canonical_seed), parse_seeds(self.seeds)
        datasets, turned = classifications(expand(self.dataset)), classifications(expand(self.knob))
        found = lab.cells(["erm", *POINTS], datasets, splits, seeds)
        knob = lab.cells(["erm", *(f"twin_overlap:share={share:g}" for share in SHARES)], turned, splits, seeds)

        def delta(cells: Mapping[tuple[str, str], Sequence[Cell]], text: str, dataset: str) -> Measured:
            erm, some = cells[dataset, "erm"], cells[dataset, text]
            collapsed = mean(metrics.accuracy, some) < mean(metrics.accuracy, erm) - COLLAPSE
            return Measured("churn", some, erm, flags="†" if collapsed else "")

        rows: list[Row] = [[load_spec(d).title, *(delta(found, text, d) for text in POINTS)] for d in datasets]
        columns = [Head(text, DELTA_CHURN.scale, DELTA_CHURN.digits, signed=True) for text in POINTS.values()]
        turns: list[Row] = []
        series = {}
        for d in turned:
            texts = [f"twin_overlap:share={share:g}" for share in SHARES]
            for share, text in zip(SHARES, texts, strict=True):
                accuracy = Measured("accuracy", knob[d, text], knob[d, "erm"])
                turns.append([load_spec(d).title, f"{share:g}", accuracy, delta(knob, text, d)])
            series[load_spec(d).title] = [
                Point(share, delta(knob, text, d)) for share, text in zip(SHARES, texts, strict=True)
            ]
        harmless = [name for text, name in POINTS.items() if not any(delta(found, text, d).flags for d in datasets)]
        where = f"ID test, split {self.canonical_seed}"
        dagger = "† accuracy more than 5 pp below ERM's."
        return Report(
            [
                "Without a loss of accuracy of more than 5 pp on any dataset: "
                f"{', '.join(harmless) or 'none of the three'}."
            ],
            [
                Sheet(
                    "points",
                    "Three points of overlap",
                    f"Difference of churn to ERM's in percentage points at equal bootstraps, {where}.",
                    ["Dataset", *columns],
                    rows,
                    [dagger],
                ),
                Sheet(
                    "knob",
                    "Overlap as a knob",
                    f"Share of draws that both networks have in common; differences to ERM, {where}.",
                    ["Dataset", "Share", Head("Δ accuracy (pp)", 100, 1, signed=True), DELTA_CHURN],
                    turns,
                    [dagger],
                ),
            ],
            [
                Chart(
                    "knob",
                    "Overlap as a knob",
                    f"Difference of churn to ERM's, {where}.",
                    Axis("Share of draws in common"),
                    Axis("Δ churn (pp)", 100),
                    series,
                )
            ],
        )
