"""The part of a method's gain that comes from seeing more of the training pool. Beyond the paper.

Under the sampling paper, the members of bagging and of a twin draw their bootstraps from the whole pool, so their
retrainings share more molecules than those of ERM. Under nested every retraining sees the one bootstrap that ERM
sees, and ERM is the same in both. The gain under paper is therefore the gain under nested plus the difference
between the two.
"""

import re
from collections.abc import Sequence

from benchmark.data.spec import expand, load_spec
from benchmark.errors import number_of
from benchmark.study.context import Context, GridStudy, classifications, one_per_family, study
from benchmark.study.report import Axis, Chart, Head, Measured, Point, Report, Sheet, SheetRow
from benchmark.study.text import mean, over, points

HEADS = ["Under paper", "At equal information", "From seeing more"]


@study("access", title="Gains from seeing more of the training pool")
class Access(GridStudy):
    dataset: str = "dili,cyp2d6_substrate,pgp_broccatelli,bace,bbb_martins,bbbp,mof_thermal,ames"
    """By default the headline datasets except TADF, which has to be downloaded by hand."""
    methods: str = "bagging twin:lam=300 twin_shared:lam=300 codistillation:lam=300:whole=true"
    """Methods, separated by spaces, with λ if they have one: it must be the same under both samplings."""

    def report(self, context: Context) -> Report:
        datasets = classifications(expand(self.dataset))
        methods = self.methods.split()
        paper, nested = (self.cells(context, ["erm", *methods], datasets, s) for s in ("paper", "nested"))
        once = one_per_family(datasets)
        titles = {method: paper[datasets[0], method][0].title for method in methods}

        def gains(method: str, names: Sequence[str]) -> list[Measured]:
            grids = (paper, method), (paper, "erm"), (nested, method), (nested, "erm")
            shared, erm, alone, erm_alone = ([c for d in names for c in grid[d, text]] for grid, text in grids)
            pairs = (shared, erm), (alone, erm_alone), (shared, alone)
            return [Measured("churn", cells, reference) for cells, reference in pairs]

        rows, answer = list[SheetRow](), []
        series: dict[str, list[Point]] = {HEADS[0]: [], HEADS[1]: []}
        for i, (method, title) in enumerate(titles.items()):
            rows += [[title, load_spec(d).title, *gains(method, [d])] for d in datasets]
            overall = gains(method, once)
            if len(once) > 1:
                rows.append([title, f"mean of {len(once)} families", *overall])
            for drawn, gain in zip(series.values(), overall, strict=False):
                drawn.append(Point(i, gain))
            seen, equal = (mean("churn", m.cells) - mean("churn", m.versus) for m in overall[:2])
            answer.append(
                f"{title} changes churn by {points(seen)} under paper and by {points(equal)} at equal information; the "
                f"rest, {points(seen - equal)}, comes from seeing more of the pool."
            )
        where = f"ID test, {over(self.canonical_seed)}, change of churn relative to ERM on the same bootstraps"
        header: list[str | Head] = ["Method", "Dataset", *(Head(f"{h} (pp)", 100, 1, signed=True) for h in HEADS)]
        names = Axis("", names=[re.sub("[ -]", "\\g<0>\n", title.partition(" λ=")[0]) for title in titles.values()])
        caption = f"Mean over {number_of(len(once), 'dataset')}; {where}."
        chart = Chart("access", "Gains at equal information", caption, names, Axis("Δ churn (pp)", 100), series)
        return Report(answer, [Sheet("access", "Gains at equal information", f"{where}.", header, rows)], [chart])
