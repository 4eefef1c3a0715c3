"""Does weight decay alone reduce churn? (paper, appendix "Weight-decay ablation")"""

from __future__ import annotations

from dataclasses import dataclass

from benchmark.data.spec import expand, load_spec
from benchmark.driver import parse_seeds, parse_splits
from benchmark.study import (
    COMPARED,
    Axis,
    Chart,
    Lab,
    Measured,
    Point,
    Report,
    Row,
    Sheet,
    classifications,
    compared,
    study,
)

DECAYS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


@study("weight-decay", title="Weight decay and churn")
@dataclass(frozen=True)
class WeightDecay:
    dataset: str = "bace,bbbp"
    canonical_seed: str = "99"
    seeds: str = "10"

    def report(self, lab: Lab) -> Report:
        datasets = classifications(expand(self.dataset))
        named = {(d, decay): f"{d}@weight_decay={decay:g}" for d in datasets for decay in DECAYS}
        splits, seeds = parse_splits(self.canonical_seed), parse_seeds(self.seeds)
        found = lab.cells(["erm"], [*datasets, *named.values()], splits, seeds)
        rows: list[Row] = []
        series = {}
        for dataset in datasets:
            title, usual = load_spec(dataset).title, found[dataset, "erm"]
            points = []
            for decay in DECAYS:
                cells = found[named[dataset, decay], "erm"]
                rows.append([title, f"{decay:g}", *compared(cells, usual)])
                points.append(Point(decay, Measured("churn", cells, usual)))
            series[title] = points
        where = f"ERM, ID test, split {self.canonical_seed}; Δ to the recipe's own weight decay at equal bootstraps"
        return Report(
            [f"Churn of ERM at weight decays from {DECAYS[0]:g} to {DECAYS[-1]:g}, against the recipe's own."],
            [
                Sheet(
                    "decays",
                    "Weight decay and churn",
                    f"{where}.",
                    ["Dataset", "Weight decay", *COMPARED["classification"]],
                    rows,
                )
            ],
            [
                Chart(
                    "decays",
                    "Weight decay and churn",
                    f"{where}.",
                    Axis("Weight decay", log=True),
                    Axis("Δ churn (pp)", 100),
                    series,
                )
            ],
        )
