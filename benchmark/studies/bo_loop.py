"""Do Bayesian-optimisation campaigns that differ in their bootstraps alone find the same molecules? (paper, appendix
"BO trajectory variance on regression").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmark.data.problem import load_problem
from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError, did_you_mean
from benchmark.lab.campaign import ACQUISITIONS, campaigns, outcomes
from benchmark.lab.study import (
    Axis,
    Chart,
    Content,
    Head,
    Lab,
    Point,
    Report,
    Sheet,
    SheetRow,
    Trainer,
    beside,
    percent,
    study,
)
from benchmark.measure.basics import mean_over_pairs
from benchmark.registry import make_method, spelled, title
from benchmark.settings import parse_splits
from benchmark.types import Method

STD = Head("std / range (%)", 100, 1)
HEADS = [Head("Final best", digits=2), Head("Its std"), STD, Head("Jaccard", digits=2)]


@study("bo-loop", title="Bayesian-optimisation trajectories")
@dataclass(frozen=True)
class BOLoop:
    dataset: str = "esol,freesolv,lipo"
    canonical_seed: str = "99"
    methods: str = "erm bagging twin"
    acquisitions: str = "greedy"
    """greedy, ucb, ei, thompson; all but the first for methods of several networks only. With blanks between."""
    trajectories: int = 20
    initial: int = 50
    budget: int = 10

    def __post_init__(self) -> None:
        if min(self.initial, self.budget) < 1:
            raise ValueError("initial and budget must be at least 1")
        if self.trajectories < 2:
            raise ValueError(f"trajectories={self.trajectories}: expected at least 2, which can differ")

    def report(self, lab: Lab) -> Report:
        contenders, splits = list(self._contenders()), parse_splits(self.canonical_seed)
        rows, series, answer = list[SheetRow](), dict[str, list[Point]](), []
        datasets = expand(self.dataset)
        for name in datasets:
            if load_spec(name).task != "regression":
                raise UserError(f"{name}: a campaign seeks the highest target; choose regressions, as esol")
        for name in datasets:
            for split in splits:
                where = load_spec(name).title + (f", split {split}" if len(splits) > 1 else "")
                said, place = [], len(series)
                for i, (made, acquire) in enumerate(contenders):
                    of = name, split, made, acquire
                    found = outcomes(lab.record(self.key(*of), name, split, run, *of, *self._sizes))
                    rows.append([where, title(made, "regression"), acquire, *found.values()])
                    std, jaccard = found["final_best_std_over_range"], found["acquired_jaccard"]
                    at = beside(i, place, len(datasets) * len(splits))
                    series.setdefault(where, []).append(Point(at, std))
                    spread, shared = percent(std.values.std(ddof=1), 1), mean_over_pairs(jaccard.values)
                    said.append(f"{spread} with {_label(made, acquire)} (Jaccard {shared:.2f})")
                answer.append(
                    f"{where}: over {self.trajectories} campaigns the best target found has a standard deviation, in "
                    f"shares of the pool's range, of {', '.join(said)}; in brackets, the overlap of what two acquire."
                )
        caption = (
            f"{self.trajectories} campaigns from the same {self.initial} molecules, {self.budget} acquisitions each, "
            "in the training pool. Final best: the highest target acquired; Jaccard: overlap of the molecules that two "
            "trajectories acquire. Intervals over trajectories."
        )
        sheet = Sheet("loop", "Trajectories", caption, ["Dataset", "Method", "Acquisition", *HEADS], rows)
        names = [_label(*contender) for contender in contenders]
        std_axis = Axis("Std of the final best / range (%)", STD.scale)
        chart = Chart("loop", "Trajectories", caption, Axis("", names=names), std_axis, series, joined=False)
        return Report(answer, [sheet], [chart])

    def _contenders(self) -> Iterator[tuple[Method, str]]:
        """Each method with each acquisition, but for those of a spread that one network has not."""
        for acquire in self.acquisitions.split():
            if acquire not in ACQUISITIONS:
                raise did_you_mean("acquisition", acquire, list(ACQUISITIONS))
        for made in (make_method(text, "regression") for text in self.methods.split()):
            for acquire in self.acquisitions.split():
                if acquire == "greedy" or made.name != "erm":
                    yield made, acquire

    def key(self, name: str, split: int, made: Method, acquire: str) -> str:
        """Of the record of all campaigns of a method on a dataset."""
        settings = f"{self.trajectories} trajectories, {self.initial} + {self.budget}"
        return f"{name}, split {split}, {spelled(made, 'regression')}, {acquire}, {settings}"

    @property
    def _sizes(self) -> tuple[int, int, int]:
        return self.trajectories, self.initial, self.budget


def run(
    trainer: Trainer, name: str, split: int, made: Method, acquire: str, trajectories: int, initial: int, budget: int
) -> Content:
    """All campaigns of a method on a dataset."""
    return campaigns(trainer, load_problem(name, split), made, acquire, trajectories, initial, budget)


def _label(made: Method, acquire: str) -> str:
    return title(made, "regression") + (f", {acquire}" if acquire != "greedy" else "")
