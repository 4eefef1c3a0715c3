"""Bayesian-optimisation campaigns in a pool of molecules whose targets are hidden until acquired (paper, appendix "BO
trajectory variance on regression", Algorithm 2).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.pipeline import Pipeline
from benchmark.study.context import Content, Trainer
from benchmark.study.report import Sampled
from benchmark.train import sample_for
from benchmark.types import MLP, PAPER, Problem, Recipe

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
    trainer: Trainer,
    name: str,
    split: int,
    method: Pipeline,
    trajectories: int,
    initial: int,
    budget: int,
) -> Content:
    """Run ``trajectories`` campaigns of a method on a dataset from the same ``initial`` molecules.

    The record holds the acquired rows, the best target of each campaign, and the range of the pool's targets. Raises
    UserError if the pool is too small, or if ``RECIPE`` is not for the problem's backbone.
    """
    problem = load_problem(name, split)
    y = problem.train.y
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
