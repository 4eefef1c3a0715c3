"""What makes predictions flip: the data, the initialisation or the order of the batches. Beyond the paper.

A crossed design: retrainings of ERM that differ in one source alone, and that differ in all but one, at several levels
of what is held fixed. Churn is no variance: the parts need not add up, and both ends are shown (as first-order and
total indices are of a variance; Saltelli et al. 2010, doi:10.1016/j.cpc.2009.09.018).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmark import metrics
from benchmark.data.spec import expand, load_spec
from benchmark.driver import parse_seeds, parse_splits
from benchmark.study import Axis, Chart, Head, Lab, Point, Report, Row, Sampled, Sheet, classifications, study

SOURCES = {"data": "data", "initialisation": "initialisation", "batches": "batch order"}


def fixed(sources: tuple[str, ...], level: int) -> str:
    """The method whose retrainings share these sources, drawn by the seed ``level``."""
    return ":".join(["erm_fixed", *(f"{source}={level}" for source in sources)])


@study("decomposition", title="Data, initialisation and batch order")
@dataclass(frozen=True)
class Decomposition:
    dataset: str = "bace"
    canonical_seed: str = "99"
    seeds: str = "10"
    levels: int = 5
    """How many draws of what is held fixed: the replicates of the intervals."""

    def __post_init__(self) -> None:
        if self.levels < 1:
            raise ValueError(f"levels={self.levels}: expected at least 1")

    def report(self, lab: Lab) -> Report:
        datasets = classifications(expand(self.dataset))
        splits, seeds = parse_splits(self.canonical_seed), parse_seeds(self.seeds)
        levels = range(1001, 1001 + self.levels)  # no train seed, so that no draw is in two roles
        kinds = [*combinations(SOURCES, 2), *((source,) for source in SOURCES)]
        grid = {(kind, level): fixed(kind, level) for kind in kinds for level in levels}
        found = lab.cells(["erm", *grid.values()], datasets, splits, seeds)

        def churn(dataset: str, text: str) -> float:
            tests = [cell.predictions["id"] for cell in found[dataset, text]]
            return float(np.mean([metrics.mean_over_pairs(metrics.churn(p.values)) for p in tests]))

        rows: list[Row] = []
        series: dict[str, list[Point]] = {"alone": [], "all but this": []}
        for dataset in datasets:
            every = churn(dataset, "erm") or np.nan  # of no flips at all there is no share
            for i, (source, name) in enumerate(SOURCES.items()):
                others = tuple(other for other in SOURCES if other != source)
                alone = np.array([churn(dataset, grid[others, level]) for level in levels])
                without = np.array([churn(dataset, grid[(source,), level]) for level in levels])
                rows.append(
                    [
                        load_spec(dataset).title,
                        name,
                        Sampled(alone),
                        Sampled(alone / every),
                        Sampled(without),
                        Sampled(without / every),
                    ]
                )
                if dataset == datasets[0]:
                    series["alone"].append(Point(i - 0.08, Sampled(alone)))
                    series["all but this"].append(Point(i + 0.08, Sampled(without)))
            rows.append(
                [load_spec(dataset).title, "all three", Sampled(np.array([churn(dataset, "erm")])), "–", "–", "–"]
            )
        where = f"ERM, ID test, split {self.canonical_seed}; intervals over {self.levels} draws of what is held fixed"
        return Report(
            [
                f"{load_spec(dataset).title}: retrainings on other data alone flip "
                f"{np.mean([churn(dataset, grid[('initialisation', 'batches'), level]) for level in levels]):.1%} of "
                f"the predictions; on the same data, by initialisation and batch order alone, "
                f"{np.mean([churn(dataset, grid[('data',), level]) for level in levels]):.1%}; by all three, "
                f"{churn(dataset, 'erm'):.1%}."
                for dataset in datasets
            ],
            [
                Sheet(
                    "sources",
                    "Sources of churn",
                    f"Churn where one source differs alone, and where all differ but it. {where}.",
                    [
                        "Dataset",
                        "Source",
                        Head("Alone (%)", 100, 1),
                        Head("of all three", 1, 2),
                        Head("All but it (%)", 100, 1),
                        Head("of all three", 1, 2),
                    ],
                    rows,
                )
            ],
            [
                Chart(
                    "sources",
                    "Sources of churn",
                    f"{load_spec(datasets[0]).title}. {where}.",
                    Axis("", names=list(SOURCES.values())),
                    Axis("Churn (%)", 100),
                    series,
                    joined=False,
                )
            ],
        )
