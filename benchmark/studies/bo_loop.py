"""Bayesian-optimisation campaigns that differ only in their bootstraps: do they find the same molecules? (paper,
appendix "BO trajectory variance on regression", Algorithm 2).

A campaign goes through a pool of molecules whose targets are hidden until acquired.
"""

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveInt

from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError
from benchmark.measure.basics import mean_over_pairs
from benchmark.pipeline import Pipeline
from benchmark.registry import make_method, spelled, title
from benchmark.settings import parse_splits
from benchmark.study.context import Content, Context, Trainer, study
from benchmark.study.report import Axis, Chart, Head, Point, Report, Sampled, Sheet, SheetRow
from benchmark.study.text import percent
from benchmark.train import sample_for
from benchmark.types import MLP, PAPER, Problem, Recipe

STD = Head("std / range (%)", 100, 1)
HEADS = [Head("Final best", digits=2), Head("Its std"), STD, Head("Jaccard", digits=2)]


@study("bo-loop", title="Bayesian-optimisation trajectories")
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
        methods = [make_method(text, "regression") for text in self.methods.split()]
        splits = parse_splits(self.canonical_seed)
        rows, series, answer = list[SheetRow](), dict[str, list[Point]](), []
        datasets, sizes = expand(self.dataset), (self.trajectories, self.initial, self.budget)
        for name in datasets:
            if load_spec(name).task != "regression":
                raise UserError(f"{name}: a campaign seeks the highest target; use a regression such as esol")
        for name in datasets:
            for split in splits:
                where = load_spec(name).title + (f", split {split}" if len(splits) > 1 else "")
                spreads = []
                for i, method in enumerate(methods):
                    key = self.key(name, split, method)
                    sampled = outcomes(context.record(key, name, split, campaigns, method, *sizes))
                    rows.append([where, title(method, "regression"), self.acquisitions, *sampled.values()])
                    std, jaccard = sampled["final_best_std_over_range"], sampled["acquired_jaccard"]
                    series.setdefault(where, []).append(Point(i, std))
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
        chart = Chart("loop", "Trajectories", caption, Axis("", names=names), std_axis, series)
        return Report(answer, [sheet], [chart])

    def key(self, name: str, split: int, method: Pipeline) -> str:
        """Return the key of the record of all campaigns of a method on a dataset."""
        settings = f"{self.trajectories} trajectories, {self.initial} + {self.budget}"
        return f"{name}, split {split}, {spelled(method, 'regression')}, {self.acquisitions}, {settings}"


RECIPE = Recipe(hidden=256, lr=1e-3, weight_decay=1e-4, batch_size=64, epochs=30)
"""The authors' settings in the loop, for all datasets."""


def trajectory(problem: Problem, method: Pipeline, k: int, initial: np.ndarray, budget: int) -> list[int]:
    """Return the rows of the pool that trajectory ``k`` acquires, in order (Algorithm 2)."""
    pool, rows = problem.train, initial.tolist()
    for t in range(1, budget + 1):
        seed, rest = k * 10**6 + t, np.setdiff1d(np.arange(len(pool)), rows)
        model: Any = method.fit(sample_for(replace(problem, train=pool.take(rows)), PAPER, seed)[0])
        asked = pool.inputs[rest]
        predicted = model.each(asked).mean(axis=0) if hasattr(model, "each") else model.predict(asked)
        rows.append(int(rest[predicted[:, 0].argmax()]))
    return rows[len(initial) :]


def campaigns(
    trainer: Trainer, problem: Problem, method: Pipeline, trajectories: int, initial: int, budget: int
) -> Content:
    """Run ``trajectories`` campaigns of a method in the training pool from the same ``initial`` molecules.

    The record holds the acquired rows, the best target of each campaign, and the range of the pool's targets. Raises
    UserError if the pool is too small, or if ``RECIPE`` is not for the problem's backbone.
    """
    name, y = problem.name, problem.train.y
    if problem.backbone != MLP:
        raise UserError(f"{name}: campaigns use the recipe of {MLP}: leave the other backbone out")
    if initial + budget > len(y):
        raise UserError(f"{name}: the training pool has {len(y)} molecules; initial + budget must not exceed that")
    start = np.random.default_rng(problem.canonical_seed).choice(len(y), initial, replace=False)
    same = replace(problem.without_tests(), recipe=RECIPE)
    items = [(same, method, k, start, budget) for k in range(1, trajectories + 1)]
    acquired = np.array(trainer.map(trajectory, items))
    best = y[acquired].max(axis=1).astype(float)
    return {"acquired": acquired.tolist(), "final_best": best.tolist(), "range": float(np.ptp(y))}


def overlaps(acquired: np.ndarray) -> np.ndarray:
    """Return the Jaccard overlap (R, R) of the sets (R, B) acquired by R trajectories, with zeros on the diagonal."""
    sets = [set(rows) for rows in acquired.tolist()]
    return np.array([[len(a & b) / len(a | b) if a is not b else 0.0 for b in sets] for a in sets])


def outcomes(record: Content) -> dict[str, Sampled]:
    """Summarise the campaigns of a record: their best targets, the spread of these, and the overlap of their sets."""
    best, acquired = np.array(record["final_best"]), np.array(record["acquired"])
    return {
        "final_best": Sampled(best),
        "final_best_std": Sampled(best, "std"),
        "final_best_std_over_range": Sampled(best / record["range"], "std"),
        "acquired_jaccard": Sampled(overlaps(acquired)),
    }
