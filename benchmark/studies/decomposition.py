"""Causes of flips: the data, the initialisation or the order of the batches. Beyond the paper.

A crossed design: retrainings of ERM that differ in one source alone, and retrainings that differ in all sources but
one, at several levels of the fixed sources. Churn is not a variance, so its parts need not add up. Both ends are shown,
like the first-order and total indices of a variance (Saltelli et al. 2010, doi:10.1016/j.cpc.2009.09.018).
"""

from itertools import combinations

import numpy as np
from pydantic import PositiveInt

from benchmark.data.spec import expand, load_spec
from benchmark.study.context import Context, GridStudy, classifications, study
from benchmark.study.report import Axis, Chart, Head, Point, Report, Sampled, Sheet, SheetRow
from benchmark.study.text import mean, percent

SOURCES = {"data": "data", "initialisation": "initialisation", "batches": "batch order"}
HELD = [*combinations(SOURCES, 2), *((source,) for source in SOURCES)]
"""Sources held fixed: all but one, or one."""
SHARE = Head("of all three", 1, 2)
HEADS = [Head("Alone (%)", 100, 1), SHARE, Head("All but it (%)", 100, 1), SHARE]


def fixed(sources: tuple[str, ...], level: int) -> str:
    """Return the method whose retrainings share ``sources``, drawn with the seed ``level``."""
    return ":".join(["erm_fixed", *(f"{source}={level}" for source in sources)])


@study("decomposition", title="Data, initialisation and batch order")
class Decomposition(GridStudy):
    levels: PositiveInt = 5
    """Draws of the fixed sources: the replicates of the intervals."""

    def report(self, context: Context) -> Report:
        datasets = classifications(expand(self.dataset))
        levels = range(1001, 1001 + self.levels)  # outside the train seeds, so that no draw has two roles
        grid = {held: [fixed(held, level) for level in levels] for held in HELD}
        cells = self.cells(context, ["erm", *(text for draws in grid.values() for text in draws)], datasets)
        where = (
            f"ERM, ID test, split {self.canonical_seed}; intervals over {self.levels} draws of the fixed sources, with "
            "the same retrainings throughout: they do not cover other retrainings."
        )
        names, axis = Axis("", names=list(SOURCES.values())), Axis("Churn (%)", 100)
        rows, charts, answer = list[SheetRow](), list[Chart](), list[str]()
        for d in datasets:
            title, every = load_spec(d).title, mean("churn", cells[d, "erm"])
            churn = {held: np.array([mean("churn", cells[d, text]) for text in draws]) for held, draws in grid.items()}
            alone = {source: churn[tuple(other for other in SOURCES if other != source)] for source in SOURCES}
            but = {source: churn[source,] for source in SOURCES}
            whole = every or np.nan  # without flips there are no shares
            for source, name in SOURCES.items():
                values = alone[source], alone[source] / whole, but[source], but[source] / whole
                rows.append([title, name, *map(Sampled, values)])
            rows.append([title, "all three", Sampled(np.array([every])), "–", "–", "–"])
            series = {
                name: [Point(i, Sampled(values)) for i, values in enumerate(draws.values())]
                for name, draws in {"alone": alone, "all but this": but}.items()
            }
            caption = f"{title}. {where}"
            key = f"sources-{len(charts) + 1}" if charts else "sources"
            charts.append(Chart(key, "Sources of churn", caption, names, axis, series))
            answer.append(
                f"{title}: retrainings that differ in data alone flip {percent(alone['data'].mean(), 1)} of the "
                "predictions; retrainings on the same data, which differ in initialisation and batch order, flip "
                f"{percent(but['data'].mean(), 1)}; retrainings that differ in all three flip {percent(every, 1)}."
            )
        caption = f"Churn where one source alone differs, and where all but that one differ. {where}"
        sheet = Sheet("sources", "Sources of churn", caption, ["Dataset", "Source", *HEADS], rows)
        return Report(answer, [sheet], charts)
