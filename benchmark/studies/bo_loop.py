"""Do Bayesian-optimisation campaigns that differ in their bootstraps alone find the same molecules? (paper, appendix
"BO trajectory variance on regression", Algorithm 2). The highest target is sought in the training pool, whose labels
are held back until a molecule is acquired. Beyond the paper: acquisitions that use the spread of an ensemble.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.stats import norm

from benchmark.data.problem import load_problem
from benchmark.data.spec import Recipe, expand, load_spec
from benchmark.driver import parse_splits
from benchmark.errors import UserError, did_you_mean
from benchmark.registry import make_method, spelled, title
from benchmark.study import Content, Head, Lab, Report, Row, Sampled, Sheet, Trainer, study
from benchmark.train import generator
from benchmark.train.stack import Stack
from benchmark.types import Examples, Method, Problem

RECIPE = Recipe(hidden=256, lr=1e-3, weight_decay=1e-4, batch_size=64, epochs=30)
"""The authors' settings in the loop, for all datasets."""
Scores = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]
"""From predictions (K, T) of K networks and the best target known, the value (T,) of acquiring each molecule."""


def ei(predicted: np.ndarray, best: float, rng: np.random.Generator) -> np.ndarray:
    """Expected improvement over ``best``, of a normal with the networks' mean and spread."""
    mean, spread = predicted.mean(axis=0), np.maximum(predicted.std(axis=0, ddof=1), 1e-9)
    z = (mean - best) / spread
    return np.asarray((mean - best) * norm.cdf(z) + spread * norm.pdf(z))


ACQUISITIONS: dict[str, Scores] = {
    "greedy": lambda predicted, best, rng: predicted.mean(axis=0),
    "ucb": lambda predicted, best, rng: predicted.mean(axis=0) + predicted.std(axis=0, ddof=1),
    "ei": ei,
    "thompson": lambda predicted, best, rng: predicted[rng.integers(len(predicted))],
}


def trajectory(problem: Problem, method: Method, acquire: str, k: int, initial: np.ndarray, budget: int) -> list[int]:
    """The rows of the pool that trajectory ``k`` acquires, in order (Algorithm 2)."""
    labelled = initial.tolist()
    for t in range(1, budget + 1):
        seed, rest = k * 10**6 + t, np.setdiff1d(np.arange(len(problem.train)), labelled)
        pool, rows = problem.train, np.array(labelled)
        known = Examples(pool.x[rows], pool.y[rows], pool.ids[rows], pool.smiles[rows])
        fitted = method.fit(replace(problem, train=known, evals={}), [seed])
        each = fitted.each(pool.x[rest])[0] if isinstance(fitted, Stack) else fitted.predict(pool.x[rest])
        predicted = each[:, :, 0]
        if acquire != "greedy" and len(predicted) == 1:
            raise UserError(f"{method.name}: {acquire} needs the spread of several networks; give it bagging or twin")
        value = ACQUISITIONS[acquire](predicted, float(known.y.max()), generator("other", seed))
        labelled.append(int(rest[value.argmax()]))
    return labelled[len(initial) :]


def overlaps(acquired: np.ndarray) -> np.ndarray:
    """Jaccard overlap (R, R) of the sets that R trajectories acquired, (R, B)."""
    sets = [set(some) for some in acquired.tolist()]
    return np.array([[len(a & b) / len(a | b) if a is not b else 0.0 for b in sets] for a in sets])


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
        if min(self.trajectories, self.initial, self.budget) < 1:
            raise ValueError("trajectories, initial and budget must be at least 1")

    def report(self, lab: Lab) -> Report:
        rows: list[Row] = []
        for name in expand(self.dataset):
            spec = load_spec(name)
            if spec.task != "regression":
                raise UserError(f"{name}: a campaign seeks the highest target; choose regressions, as esol")
            for text in self.methods.split():
                made = make_method(text, "regression")
                for acquire in self.acquisitions.split():
                    if acquire not in ACQUISITIONS:
                        raise did_you_mean("acquisition", acquire, list(ACQUISITIONS))
                    if acquire != "greedy" and made.name == "erm":
                        continue  # one network has no spread
                    for split in parse_splits(self.canonical_seed):
                        settings = f"{self.trajectories} trajectories, {self.initial} + {self.budget}"
                        key = f"{name}, split {split}, {spelled(made, 'regression')}, {acquire}, {settings}"
                        found = lab.record(key, partial(self._run, name, split, made, acquire))
                        best, jaccard = np.array(found["final_best"]), overlaps(np.array(found["acquired"]))
                        spread = Sampled(best, "std"), Sampled(best / found["range"], "std")
                        shown: Row = [spec.title, title(made, "regression"), acquire, Sampled(best), *spread]
                        rows.append([*shown, Sampled(jaccard)])
        heads = [
            Head("Final best", digits=2),
            Head("Its std"),
            Head("std / range (%)", 100, 1),
            Head("Jaccard", digits=2),
        ]
        caption = (
            f"{self.trajectories} campaigns from the same {self.initial} molecules, {self.budget} acquisitions each, "
            "in the training pool. Final best: the highest target acquired; Jaccard: overlap of the molecules that two "
            "trajectories acquire. Intervals over trajectories."
        )
        sheet = Sheet("loop", "Trajectories", caption, ["Dataset", "Method", "Acquisition", *heads], rows)
        return Report([f"{self.trajectories} campaigns per method, which differ in their bootstraps alone."], [sheet])

    def _run(self, name: str, split: int, made: Method, acquire: str, trainer: Trainer) -> Content:
        problem = load_problem(name, split)
        problem = replace(problem.without_tests(), spec=problem.spec.model_copy(update={"recipe": RECIPE}))
        y = problem.train.y
        if self.initial + self.budget > len(y):
            raise UserError(f"{name}: the training pool has {len(y)} molecules, initial + budget must be fewer")
        initial = np.random.default_rng(split).choice(len(y), self.initial, replace=False)
        items = [(problem, made, acquire, k, initial, self.budget) for k in range(1, self.trajectories + 1)]
        acquired = np.array(trainer.map(trajectory, items))
        return {
            "acquired": acquired.tolist(),
            "final_best": y[acquired].max(axis=1).astype(float).tolist(),
            "range": float(np.ptp(y)),
        }
