"""What makes predictions flip: the data, the initialisation or the order of the batches. Beyond the paper.

A crossed design: retrainings of ERM that differ in one source alone, and that differ in all but one, at several levels
of what is held fixed. Churn is no variance: the parts need not add up, and both ends are shown (as first-order and
total indices are of a variance; Saltelli et al. 2010, doi:10.1016/j.cpc.2009.09.018).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmark.data.spec import expand, load_spec
from benchmark.lab.study import (
    Axis,
    Chart,
    Head,
    Lab,
    Point,
    Report,
    Sampled,
    Sheet,
    SheetRow,
    beside,
    classifications,
    mean,
    percent,
    retrainings,
    study,
)
from benchmark.settings import parse_splits

SOURCES = {"data": "data", "initialisation": "initialisation", "batches": "batch order"}
HELD = [*combinations(SOURCES, 2), *((source,) for source in SOURCES)]
"""What is held fixed: all but one source, or one."""
SHARE = Head("of all three", 1, 2)
HEADS = [Head("Alone (%)", 100, 1), SHARE, Head("All but it (%)", 100, 1), SHARE]


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
        levels = range(1001, 1001 + self.levels)  # no train seed, so that no draw is in two roles
        grid = {held: [fixed(held, level) for level in levels] for held in HELD}
        texts = ["erm", *(text for some in grid.values() for text in some)]
        found = lab.cells(texts, datasets, parse_splits(self.canonical_seed), retrainings(self.seeds))
        rows: list[SheetRow] = []
        charts, answer = [], []
        for d in datasets:
            title, every = load_spec(d).title, mean("churn", found[d, "erm"])
            churn = {held: np.array([mean("churn", found[d, text]) for text in some]) for held, some in grid.items()}
            alone = {source: churn[tuple(other for other in SOURCES if other != source)] for source in SOURCES}
            rows += self._rows(title, every, alone, churn)
            charts.append(self._chart(title, alone, churn))
            answer.append(
                f"{title}: retrainings on other data alone flip {percent(alone['data'].mean(), 1)} of the predictions; "
                "on the same data, by initialisation and batch order alone, "
                f"{percent(churn['data',].mean(), 1)}; by all three, {percent(every, 1)}."
            )
        caption = f"Churn where one source differs alone, and where all differ but it. {self._where}"
        sheet = Sheet("sources", "Sources of churn", caption, ["Dataset", "Source", *HEADS], rows)
        return Report(answer, [sheet], charts[:1])

    def _rows(
        self, title: str, every: float, alone: Mapping[str, np.ndarray], churn: Mapping[tuple[str, ...], np.ndarray]
    ) -> list[SheetRow]:
        whole = every or np.nan  # of no flips at all there is no share
        rows: list[SheetRow] = []
        for source, name in SOURCES.items():
            values = alone[source], alone[source] / whole, churn[source,], churn[source,] / whole
            rows.append([title, name, *map(Sampled, values)])
        return [*rows, [title, "all three", Sampled(np.array([every])), "–", "–", "–"]]

    def _chart(self, title: str, alone: Mapping[str, np.ndarray], churn: Mapping[tuple[str, ...], np.ndarray]) -> Chart:
        series = {
            "alone": [Point(beside(i, 0, 2), Sampled(alone[source])) for i, source in enumerate(SOURCES)],
            "all but this": [Point(beside(i, 1, 2), Sampled(churn[source,])) for i, source in enumerate(SOURCES)],
        }
        names = Axis("", names=list(SOURCES.values()))
        caption = f"{title}. {self._where}"
        return Chart("sources", "Sources of churn", caption, names, Axis("Churn (%)", 100), series, joined=False)

    @property
    def _where(self) -> str:
        levels = f"intervals over {self.levels} draws of what is held fixed, all with the same retrainings"
        return f"ERM, ID test, split {self.canonical_seed}; {levels}: with others all would differ further."
