"""Check of the contract of a method on a small synthetic problem."""

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.errors import UserError
from benchmark.pipeline import Part, Pipeline, Reading
from benchmark.registry import find, load_file, make_method
from benchmark.run.runner import fit
from benchmark.train import sample_for
from benchmark.train.learner import NetworkLearner
from benchmark.tuning import Tuned, grid_of
from benchmark.types import TASKS, Examples, Model, Predictions, Problem, Recipe, Sampling, Task

SEEDS = (1, 2, 3)
SAME = 0.01
"""Difference of predictions, in standard deviations over the examples, that is too small for other training data."""


@dataclass(frozen=True)
class Checked:
    """The outcome of a check: name and tasks of the method, how it reads a dataset, and a line for each failure."""

    name: str
    tasks: tuple[str, ...]
    reading: Reading
    failures: tuple[str, ...]


def named(method: str) -> tuple[type[Part], list[str]]:
    """Return the method that a name or the path of a file ending in .py stands for, and its settings.

    Raises UserError.
    """
    return (load_file(Path(method)), []) if method.endswith(".py") else find(method)


def checked(cls: type[Part], settings: list[str], only: Iterable[str] = TASKS) -> Checked:
    """Check the contract of a method in this process, on those of the tasks ``only`` that it can learn.

    Raises UserError for settings.
    """
    if settings:
        raise UserError(f"{cls.name}:{':'.join(settings)}: the check uses the defaults: leave out {':'.join(settings)}")
    tasks = tuple(task for task in cls.tasks if task in only)
    failures = tuple(f"{task}: {failure}" for task in tasks for failure in check_method(cls, task))
    return Checked(cls.name, tasks, make_method(cls.name, cls.tasks[0]).reading, failures)


def synthetic(task: Task, n: int = 160, features: int = 32) -> Problem:
    """Return a problem with a noisy linear signal that any method learns within a second."""
    rng = np.random.default_rng(0)

    def examples(rows: int, name: str) -> Examples:
        x = (rng.random((rows, features)) < 0.3).astype(np.float32)
        score = x[:, :8].sum(axis=1) - x[:, 8:16].sum(axis=1) + rng.normal(size=rows)
        y = (score > 0).astype(np.int64) if task == "classification" else score.astype(np.float32)
        return Examples(x, y, np.array([f"{name}{i}" for i in range(rows)]), _molecules(x))

    tests = {"id": examples(50, "id"), "ood": examples(40, "ood")}
    n_outputs = 2 if task == "classification" else 1
    train, known = examples(n, "train"), np.arange(0, n, 2)
    return Problem(f"synthetic_{task}", task, n_outputs, train, tests, recipe=Recipe(epochs=4), earlier_rows=known)


def _molecules(x: np.ndarray) -> np.ndarray:
    """Return a chain molecule for each row of bits (N, D), with an atom for each of the first sixteen."""
    atoms = [["NOS"[j % 3] if bit else "C" for j, bit in enumerate(row[:16])] for row in x]
    return np.array([f"C{''.join(of_one)}C" for of_one in atoms])


def recipe_of(method: Pipeline, problem: Problem) -> Recipe:
    """Return the recipe of a pipeline on the synthetic problem, with its few epochs."""
    learner = method.learner
    if not isinstance(learner, NetworkLearner):
        return problem.recipe
    return learner.recipe.model_copy(update={"epochs": problem.recipe.epochs})


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """Return the mean difference between predictions (T, C) of two models, in standard deviations over the examples.

    >>> apart(np.array([[0.0], [2.0]]), np.array([[0.5], [2.5]]))
    0.5
    """
    spread = float(np.mean([a.std(axis=0, dtype=np.float64), b.std(axis=0, dtype=np.float64)]))
    difference = float(np.abs(a.astype(np.float64) - b).mean())
    if spread == 0:
        return float("inf") if difference else 0.0
    return difference / spread


def _unlabelled(problem: Problem) -> Problem:
    """Return the problem with test labels of 0, so that a method that finds them has found nothing."""
    tests = {name: replace(test, y=np.zeros_like(test.y)) for name, test in problem.evals.items()}
    return replace(problem, evals=tests)


def check_method(cls: type[Part], task: Task) -> list[str]:
    """Return a sentence with the remedy for each violation of the contract by a method."""
    problem = _unlabelled(synthetic(task))
    method = make_method(cls.name, task)
    problem = replace(problem, recipe=recipe_of(method, problem))
    granted: tuple[Sampling, ...] = cls.samplings
    samplings = sorted(granted, key=lambda one: one != "update")  # retrainings under update may all be alike: first
    test = problem.evals["id"].inputs

    def fit_at(seed: int, on: Problem = problem, sampling: Sampling = samplings[-1]) -> Model:
        return fit(method, sample_for(on, sampling, seed)[0])

    def predict(*seeds: int, on: Problem = problem) -> np.ndarray:
        return np.stack([fit_at(seed, on).predict(test) for seed in seeds])

    def choose(on: Problem) -> np.ndarray:
        return np.asarray(fit(_tuned(method, task), sample_for(on, "halves", 1)[0]).predict(test))

    tuned = "halves" in samplings and bool(grid_of(cls, task))
    try:
        chosen = choose(problem) if tuned else np.empty(0)  # first, as it must not depend on what was fitted before
        values = predict(*SEEDS)
        Predictions.of(problem, "id", SEEDS, values)
        for sampling in samplings[:-1]:
            Predictions.of(problem, "id", (1,), np.asarray(fit_at(1, sampling=sampling).predict(test))[None])
    except Exception as error:
        return [located(error)]

    shuffled = np.roll(np.arange(len(problem.train)), 7)
    train = problem.train
    moved = replace(problem, train=Examples(train.x[shuffled], train.y[shuffled], train.ids, train.smiles))

    outside = np.ones(len(train), dtype=bool)
    outside[sample_for(problem, "halves", 1)[1]] = False
    y = np.where(outside, 1 - train.y, train.y)
    elsewhere = replace(problem, train=replace(train, x=np.where(outside[:, None], 1 - train.x, train.x), y=y))

    def sees_its_half() -> bool:
        ours, theirs = (fit_at(1, on, "halves").predict(test) for on in (problem, elsewhere))
        return np.array_equal(ours, theirs)

    contract: dict[str, Callable[[], bool]] = {
        "fitting twice gives different predictions: take all randomness from benchmark.train.generator": lambda: (
            np.array_equal(values, predict(*SEEDS))
        ),
        "a seed's predictions depend on what was fitted before: keep nothing between calls of fit": lambda: (
            np.array_equal(values[::-1], predict(*SEEDS[::-1]))
        ),
        "different train seeds give the same predictions: train on sample.rows or bootstrap(sample)": lambda: (
            min(apart(values[0], values[1]), apart(values[1], values[2])) > SAME
        ),
        "predictions do not depend on the training data: fit on sample.x and sample.y": lambda: (
            apart(values[0], predict(SEEDS[0], on=moved)[0]) > SAME
        ),
        "predictions under halves depend on rows outside the half: fit on sample.x and sample.y": lambda: (
            "halves" not in samplings or sees_its_half()
        ),
        "with --tune best, the setting depends on what was fitted before: keep nothing between calls of fit": lambda: (
            not tuned or np.array_equal(chosen, choose(problem))
        ),
        "with --tune best, the setting depends on rows outside the half: fit on sample.x and sample.y": lambda: (
            not tuned or np.array_equal(chosen, choose(elsewhere))
        ),
    }
    try:
        return [violation for violation, holds in contract.items() if not holds()]
    except Exception as error:
        return [f"fitting again, on other seeds or rows: {located(error)}"]


def _tuned(method: Pipeline, task: Task) -> Pipeline:
    """Return a pipeline that chooses between the ends of its grid: more would take minutes."""

    def short(part: Any) -> Any:
        grid = grid_of(type(part), task)
        ends = {"grid": (*grid[:1], *grid[-1:]), "regression_grid": ()}
        return type(type(part).__name__, (type(part),), ends)(**{f.name: getattr(part, f.name) for f in fields(part)})

    return Tuned(short(method.remedy), short(method.learner), method.chosen, method.features, "best")


def located(error: BaseException) -> str:
    """Describe an error with its innermost place."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
