"""Bayesian-optimisation campaigns that differ only in their bootstraps: do they find the same molecules? (paper,
appendix "BO trajectory variance on regression").
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError
from benchmark.measure.basics import mean_over_pairs
from benchmark.pipeline import Pipeline
from benchmark.registry import make_method, spelled, title
from benchmark.settings import parse_splits
from benchmark.study.campaign import campaigns, outcomes
from benchmark.study.context import Context, study
from benchmark.study.report import Axis, Chart, Head, Point, Report, Sheet, SheetRow, beside
from benchmark.study.text import percent

STD = Head("std / range (%)", 100, 1)
HEADS = [Head("Final best", digits=2), Head("Its std"), STD, Head("Jaccard", digits=2)]


@study("bo-loop", title="Bayesian-optimisation trajectories")
@dataclass(frozen=True)
class BOLoop:
    dataset: str = "esol,freesolv,lipo"
    canonical_seed: str = "99"
    methods: str = "erm bagging twin"
    acquisitions: Literal["greedy"] = "greedy"
    """The molecule with the highest prediction is acquired."""
    trajectories: Annotated[int, Field(ge=2)] = 20
    initial: PositiveInt = 50
    budget: PositiveInt = 10

    def report(self, context: Context) -> Report:
        methods, splits = (
            [make_method(text, "regression") for text in self.methods.split()],
            parse_splits(self.canonical_seed),
        )
        rows, series, answer = list[SheetRow](), dict[str, list[Point]](), []
        datasets, sizes = expand(self.dataset), (self.trajectories, self.initial, self.budget)
        for name in datasets:
            if load_spec(name).task != "regression":
                raise UserError(f"{name}: a campaign seeks the highest target; use a regression such as esol")
        for name in datasets:
            for split in splits:
                where = load_spec(name).title + (f", split {split}" if len(splits) > 1 else "")
                spreads, place = [], len(series)
                for i, method in enumerate(methods):
                    given = name, split, method
                    sampled = outcomes(context.record(self.key(*given), name, split, campaigns, *given, *sizes))
                    rows.append([where, title(method, "regression"), self.acquisitions, *sampled.values()])
                    std, jaccard = sampled["final_best_std_over_range"], sampled["acquired_jaccard"]
                    at = beside(i, place, len(datasets) * len(splits))
                    series.setdefault(where, []).append(Point(at, std))
                    spread, shared = percent(std.values.std(ddof=1), 1), mean_over_pairs(jaccard.values)
                    spreads.append(f"{spread} with {title(method, 'regression')} (Jaccard {shared:.2f})")
                answer.append(
                    f"{where}: over {self.trajectories} campaigns, the standard deviation of the best target, as a "
                    f"share of the pool's range, is {', '.join(spreads)}; in brackets, the mean overlap of the "
                    "molecules that two campaigns acquire."
                )
        caption = (
            f"{self.trajectories} campaigns in the training pool, each with {self.budget} acquisitions from the same "
            f"{self.initial} molecules. Final best: the highest target acquired. Jaccard: overlap of the molecules "
            "acquired by two campaigns. Intervals over campaigns."
        )
        sheet = Sheet("loop", "Trajectories", caption, ["Dataset", "Method", "Acquisition", *HEADS], rows)
        names = [title(method, "regression") for method in methods]
        std_axis = Axis("Std of the final best / range (%)", STD.scale)
        chart = Chart("loop", "Trajectories", caption, Axis("", names=names), std_axis, series, joined=False)
        return Report(answer, [sheet], [chart])

    def key(self, name: str, split: int, method: Pipeline) -> str:
        """Return the key of the record of all campaigns of a method on a dataset."""
        settings = f"{self.trajectories} trajectories, {self.initial} + {self.budget}"
        return f"{name}, split {split}, {spelled(method, 'regression')}, {self.acquisitions}, {settings}"
