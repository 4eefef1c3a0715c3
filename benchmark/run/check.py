"""Check of the contract of a method on a small synthetic problem."""

import traceback
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmark.registry import build, trains_networks
from benchmark.run.runner import fit
from benchmark.train import draw
from benchmark.train.stack import Stack
from benchmark.types import SAMPLINGS, Examples, Fitted, Predictions, Problem, Recipe, Sampling, Task

SEEDS = (1, 2, 3)


def synthetic(task: Task, n: int = 160, features: int = 32) -> Problem:
    """Return a problem with a noisy linear signal that any method learns within a second."""
    rng = np.random.default_rng(0)

    def examples(rows: int, name: str) -> Examples:
        x = (rng.random((rows, features)) < 0.3).astype(np.float32)
        score = x[:, :8].sum(axis=1) - x[:, 8:16].sum(axis=1) + rng.normal(size=rows)
        y = (score > 0).astype(np.int64) if task == "classification" else score.astype(np.float32)
        return Examples(x, y, np.array([f"{name}{i}" for i in range(rows)]), np.full(rows, "C"))

    tests = {"id": examples(50, "id"), "ood": examples(40, "ood")}
    n_outputs = 2 if task == "classification" else 1
    return Problem(f"synthetic_{task}", task, n_outputs, examples(n, "train"), tests, recipe=Recipe(epochs=4))


def check_method(cls: type, task: Task) -> list[str]:
    """Return a sentence with the remedy for each violation of the contract by a method."""
    problem = synthetic(task)
    method = build(cls, task, {})
    samplings: tuple[Sampling, ...] = getattr(cls, "samplings", SAMPLINGS)
    test = problem.evals["id"].x

    def fit_at(seed: int, on: Problem = problem, sampling: Sampling = samplings[-1]) -> Fitted:
        return fit(method, draw(on, sampling, seed)[0])

    def predict(*seeds: int, on: Problem = problem) -> np.ndarray:
        return np.stack([fit_at(seed, on).predict(test) for seed in seeds])

    try:
        values = predict(*SEEDS)
        Predictions.of(problem, "id", SEEDS, values)
        for sampling in samplings[:-1]:
            Predictions.of(problem, "id", (1,), np.asarray(fit_at(1, sampling=sampling).predict(test))[None])
        networks = isinstance(fit_at(1), Stack)
    except Exception as error:
        return [_located(error)]

    shuffled = np.roll(np.arange(len(problem.train)), 7)
    train = problem.train
    moved = replace(problem, train=Examples(train.x[shuffled], train.y[shuffled], train.ids, train.smiles))
    contract: dict[str, Callable[[], bool]] = {
        "fitting twice gives different predictions: take all randomness from benchmark.train.generator": lambda: (
            np.array_equal(values, predict(*SEEDS))
        ),
        "a seed's predictions depend on what was fitted before: keep nothing between calls of fit": lambda: (
            np.array_equal(values[::-1], predict(*SEEDS[::-1]))
        ),
        "different train seeds give identical predictions: train on sample.rows or bootstrap(sample)": lambda: (
            not np.array_equal(values[0], values[1]) and not np.array_equal(values[1], values[2])
        ),
        "predictions do not depend on the training data: fit on sample.x and sample.y": lambda: (
            not np.allclose(values, predict(*SEEDS, on=moved))
        ),
        "trains_networks is wrong: set it to whether fit returns what fit_stack gives": lambda: (
            networks == trains_networks(cls)
        ),
    }
    try:
        return [violation for violation, holds in contract.items() if not holds()]
    except Exception as error:
        return [f"fitting again, on other seeds or rows: {_located(error)}"]


def _located(error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
