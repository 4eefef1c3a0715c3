"""Check of the contract of a method on a small synthetic problem."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from benchmark.errors import UserError, located
from benchmark.pipeline import Part, Pipeline, Reading
from benchmark.registry import make_method
from benchmark.run.runner import plan
from benchmark.train import sample_for
from benchmark.tuning import Tuned, grid_of
from benchmark.types import TASKS, Examples, Model, Predictions, Problem, Recipe, Sampling, Task

SEEDS = (1, 2, 3)
_BEFORE = "what was fitted before: keep nothing between calls of fit"
SAME = 0.01
"""Difference of predictions, in standard deviations over the examples, that is too small for other training data."""

FAR = 0.5
"""Difference, in the same unit, too large for chance that a model such as MC dropout draws at prediction."""


@dataclass(frozen=True)
class Checked:
    """The outcome of a check: name and tasks of the method, how it reads a dataset, and a line for each failure."""

    name: str
    tasks: tuple[str, ...]
    reading: Reading
    failures: tuple[str, ...]


def checked(cls: type[Part], settings: list[str], only: Iterable[str] = TASKS) -> Checked:
    """Check the contract of a method in this process, on those of the tasks ``only`` that it can learn.

    Raises UserError for settings.
    """
    if settings:
        raise UserError(f"{cls.name}:{':'.join(settings)}: the check uses the defaults: leave out {':'.join(settings)}")
    tasks = tuple(task for task in cls.tasks if task in only)
    failures = [f"{task}: {failure}" for task in tasks for failure in check_method(cls, task, tuning=task == tasks[0])]
    return Checked(cls.name, tasks, make_method(cls.name, cls.tasks[0]).reading, tuple(failures))


def synthetic(task: Task, n: int = 160, features: int = 32) -> Problem:
    """Return a problem with a noisy linear signal that any method learns within a second."""
    rng = np.random.default_rng(0)

    def examples(rows: int, name: str) -> Examples:
        x = (rng.random((rows, features)) < 0.3).astype(np.float32)
        score = x[:, :8].sum(axis=1) - x[:, 8:16].sum(axis=1) + rng.normal(size=rows)
        y = (score > 0).astype(np.int64) if task == "classification" else score.astype(np.float32)
        # a chain molecule for each row, with an atom for each of its first sixteen bits
        chains = ["".join("NOS"[j % 3] if bit else "C" for j, bit in enumerate(row[:16])) for row in x]
        return Examples(x, y, np.array([f"{name}{i}" for i in range(rows)]), np.array([f"C{c}C" for c in chains]))

    tests = {"id": examples(50, "id"), "ood": examples(40, "ood")}
    n_outputs = 2 if task == "classification" else 1
    train, known = examples(n, "train"), np.arange(0, n, 2)
    return Problem(f"synthetic_{task}", task, n_outputs, train, tests, recipe=Recipe(epochs=4), earlier_rows=known)


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


@dataclass(frozen=True)
class _Trial:
    """A method with the synthetic problem, without test labels, on which its contract is checked."""

    method: Pipeline
    problem: Problem
    samplings: Sequence[Sampling]

    def fitted(self, *seeds: int, on: Problem | None = None, sampling: Sampling | None = None) -> Iterator[Model]:
        """Fit a new model for each seed in turn."""
        for seed in seeds:
            yield self.method.fit(sample_for(on or self.problem, sampling or self.samplings[-1], seed)[0])

    def predict(self, *seeds: int, on: Problem | None = None, sampling: Sampling | None = None) -> np.ndarray:
        """Return what a new model for each seed predicts for the ID test: (S, T, C)."""
        return self.predicted(self.fitted(*seeds, on=on, sampling=sampling))

    def predicted(self, models: Iterable[Model]) -> np.ndarray:
        return np.stack([model.predict(self.problem.evals["id"].inputs) for model in models])

    def violations(self) -> Iterator[str]:
        """Yield a sentence with the remedy for each rule that the method breaks. Raises whatever it raises."""
        models = list(self.fitted(*SEEDS))
        values = self.predicted(models)
        Predictions.of(self.problem, "id", SEEDS, values)
        first = {self.samplings[-1]: values[:1]}
        for sampling in self.samplings[:-1]:
            first[sampling] = self.predict(SEEDS[0], sampling=sampling)
            Predictions.of(self.problem, "id", SEEDS[:1], first[sampling])
        if not np.array_equal(values, self.predict(*SEEDS[::-1])[::-1]):
            first, second = (self.predict(*SEEDS)[-1] for _ in range(2))
            if np.array_equal(first, second):
                yield f"a seed's predictions depend on {_BEFORE}"
            else:
                yield "fitting twice gives different predictions: take all randomness from benchmark.train.generator"
        if min(apart(values[0], values[1]), apart(values[1], values[2])) <= SAME:
            yield "different train seeds give the same predictions: train on sample.rows or bootstrap(sample)"
        higher = np.argsort(values[0, :, -1])[len(values[0]) // 2 :]  # a rank or centred value differs most among these
        if apart(values[0], self.predict(SEEDS[0], on=self.moved())[0]) <= SAME:
            yield "predictions do not depend on the training data: fit on sample.x and sample.y"
        elif apart(values[0][higher], np.asarray(models[0].predict(self.problem.evals["id"].inputs[higher]))) > FAR:
            yield "predictions depend on which rows are predicted together: predict each by itself, in the order given"
        if "halves" in first:
            theirs = self.predict(SEEDS[0], on=self.outside(), sampling="halves")
            if not np.array_equal(first["halves"], theirs):
                yield "predictions under halves depend on rows outside the half: fit on sample.x and sample.y"
        yield from self.soft()

    def soft(self) -> Iterator[str]:
        """Yield a sentence with the remedy if a learner does not learn the soft labels that it offers to learn."""
        sample, learner = sample_for(self.problem, self.samplings[-1], SEEDS[0])[0], self.method.learner
        if self.method.head is not learner or "targets" not in learner.offers:
            return
        others = sample.towards(replace(sample, y=np.roll(sample.y, 7)).labels)
        usual, reason = learner.fit(sample).predict(self.problem.evals["id"].inputs), "change nothing"
        try:
            if apart(usual, learner.fit(others).predict(self.problem.evals["id"].inputs)) > SAME:
                return
        except Exception as error:
            reason = f"fail with {located(error)}"
        remedy = "train on data.weighted() or sample.targets, or set offers = frozenset() in the class"
        yield f"soft labels, which its offers include, {reason}: {remedy}"

    def moved(self) -> Problem:
        """Return the problem with features and labels of other rows."""
        train, shuffled = self.problem.train, np.roll(np.arange(len(self.problem.train)), 7)
        return replace(self.problem, train=replace(train, x=train.x[shuffled], y=train.y[shuffled]))

    def outside(self) -> Problem:
        """Return the problem with features and labels changed outside the half of seed 1."""
        train, outside = self.problem.train, np.ones(len(self.problem.train), dtype=bool)
        outside[sample_for(self.problem, "halves", 1)[1]] = False
        x, y = np.where(outside[:, None], 1 - train.x, train.x), np.where(outside, 1 - train.y, train.y)
        return replace(self.problem, train=replace(train, x=x, y=y))


def check_method(cls: type[Part], task: Task, tuning: bool = True) -> list[str]:
    """Return a sentence with the remedy for each violation of the contract by a method, also with ``--tune best``.

    Raises UserError for a method that no run could record.
    """
    problem, method = synthetic(task), make_method(cls.name, task)
    plan(problem, method, SEEDS)
    tests = {name: replace(test, y=np.zeros_like(test.y)) for name, test in problem.evals.items()}  # nothing to find
    recipe = (method.reading.recipe or problem.recipe).model_copy(update={"epochs": problem.recipe.epochs})
    problem = replace(problem, recipe=recipe, evals=tests)
    samplings = sorted(cls.samplings, key=lambda one: one != "update")  # its retrainings may all be alike: first
    plain, tuned = _Trial(method, problem, samplings), _Trial(_tuned(method, task), problem, ["halves"])
    tuning = tuning and "halves" in samplings and bool(grid_of(cls, task))
    violations: list[str] = []
    try:
        chosen = tuned.predict(1) if tuning else np.empty(0)  # first, as it must not depend on what was fitted before
        violations += plain.violations()
        if tuning and not np.array_equal(chosen, tuned.predict(1, on=tuned.outside())):
            alike = np.array_equal(chosen, tuned.predict(1))
            reason = "rows outside the half: fit on sample.x and sample.y" if alike else _BEFORE
            violations.append(f"with --tune best, the setting depends on {reason}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        violations.append(located(error))
    return violations


def _tuned(method: Pipeline, task: Task) -> Pipeline:
    """Return a pipeline that chooses between the ends of its grid: more would take minutes."""

    def short(part: Any) -> Any:
        grid = grid_of(type(part), task)
        ends = {"grid": (*grid[:1], *grid[-1:]), "regression_grid": ()}
        return type(type(part).__name__, (type(part),), ends)(**{f.name: getattr(part, f.name) for f in fields(part)})

    return Tuned(short(method.remedy), short(method.learner), method.chosen, method.features, "best")
