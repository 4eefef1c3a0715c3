"""Every method keeps the contract, and every way of breaking it is detected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, make_dataclass, replace

import numpy as np
import pytest

from benchmark import registry
from benchmark.files import CHECKOUT
from benchmark.registry import discover, make_method, method
from benchmark.run.check import check_method, synthetic
from benchmark.train import bootstrap, fit_stack, generator
from benchmark.types import Fitted, Problem, Recipe, Task

METHODS, _ = discover()
TASKS: list[Task] = ["classification", "regression"]
FASTER = dict.fromkeys(
    ("random_forest", "extra_trees"), ("trees", int, 10)
)  # 500 trees keep the same contract, more slowly


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", METHODS)
def test_the_method_keeps_the_contract(name, task):
    cls = METHODS[name]
    if name in FASTER:
        cls = make_dataclass(name, [FASTER[name]], bases=(cls,), frozen=True)
    assert check_method(cls, task) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_the_method_learns_a_signal(name):
    problem = replace(synthetic("classification", n=600), recipe=Recipe(epochs=15))
    method = make_method(name, "classification", {"trees": "50"})
    test = problem.evals["id"]
    right = method.fit(problem.without_tests(), [1, 2]).predict(test.x).argmax(axis=2) == test.y
    majority = max(test.y.mean(), 1 - test.y.mean())
    assert right.mean() > majority + 0.1


@dataclass(frozen=True)
class Shaped:
    """The predictions of ``fitted`` after ``change``."""

    fitted: Fitted
    change: Callable[[np.ndarray], np.ndarray]

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.change(self.fitted.predict(x))


def with_nan(values: np.ndarray) -> np.ndarray:
    values[2, 7, 0] = np.nan
    return values


def keeps_the_contract(problem: Problem, seeds: Sequence[int]) -> Fitted:
    return fit_stack(problem, bootstrap(problem, seeds), seeds)


def ignores_the_seed(problem: Problem, seeds: Sequence[int]) -> Fitted:
    return keeps_the_contract(problem, [0] * len(seeds))


def counts_the_seeds(problem: Problem, seeds: Sequence[int]) -> Fitted:
    return keeps_the_contract(problem, range(len(seeds)))


def draws_from_the_clock(problem: Problem, seeds: Sequence[int]) -> Fitted:
    rows = np.random.default_rng().integers(len(problem.train), size=(len(seeds), 1, len(problem.train)))
    return fit_stack(problem, rows, seeds)


def ignores_the_data(problem: Problem, seeds: Sequence[int]) -> Fitted:
    def noise(values: np.ndarray) -> np.ndarray:
        drawn = np.stack([generator("forest", seed).random(values.shape[1:]) for seed in seeds])
        return drawn / drawn.sum(axis=2, keepdims=True) if problem.task == "classification" else drawn

    return Shaped(keeps_the_contract(problem, seeds), noise)


def looks_at_the_test(problem: Problem, seeds: Sequence[int]) -> Fitted:
    return keeps_the_contract(replace(problem, train=problem.evals["id"]), seeds)


def predicts_nan(problem: Problem, seeds: Sequence[int]) -> Fitted:
    return Shaped(keeps_the_contract(problem, seeds), with_nan)


def forgets_the_seed_axis(problem: Problem, seeds: Sequence[int]) -> Fitted:
    return Shaped(keeps_the_contract(problem, seeds), lambda values: values[0])


def predicts_logits(problem: Problem, seeds: Sequence[int]) -> Fitted:
    return Shaped(keeps_the_contract(problem, seeds), np.log)


def fails(problem: Problem, seeds: Sequence[int]) -> Fitted:
    raise RuntimeError("out of memory")


@pytest.fixture
def registered(monkeypatch):
    """A function that registers a method class around a ``fit`` for the duration of the test."""
    monkeypatch.setattr(registry, "_methods", dict(registry._methods))

    def register(fit: Callable[[Problem, Sequence[int]], Fitted]) -> type:
        cls = make_dataclass("Method", [], frozen=True, namespace={"fit": lambda self, *given: fit(*given)})
        return method(fit.__name__, title="")(cls)

    return register


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("fit", "sentence"),
    [
        (ignores_the_seed, "different train seeds give identical predictions: train on bootstrap(problem, seeds)"),
        (
            counts_the_seeds,
            "a seed's predictions depend on which seeds are trained with it: key randomness by the seed alone",
        ),
        (
            draws_from_the_clock,
            "fitting twice gives different predictions: take all randomness from benchmark.train.generator",
        ),
        (ignores_the_data, "predictions do not depend on the training data: fit on problem.train"),
        (looks_at_the_test, "KeyError: 'id' ("),
        (
            predicts_nan,
            "ValueError: 1 of {size} predictions are not finite; the first is nan for train seed 3, example id7",
        ),
        (forgets_the_seed_axis, "ValueError: predictions must have shape (seeds, examples, "),
        (fails, f"RuntimeError: out of memory ({CHECKOUT / 'tests' / 'methods' / 'test_contract.py'}:"),
    ],
)
def test_a_broken_method_is_reported(registered, task, fit, sentence):
    errors = check_method(registered(fit), task)
    size = 3 * 50 * (2 if task == "classification" else 1)
    assert any(error.startswith(sentence.replace("{size}", str(size))) for error in errors), errors


def test_logits_are_rejected_as_probabilities(registered):
    (error,) = check_method(registered(predicts_logits), "classification")
    assert error.startswith("ValueError: class probabilities must be at least 0 and sum to 1; for train seed ")


@pytest.mark.parametrize("task", TASKS)
def test_a_method_that_keeps_the_contract_has_no_errors(registered, task):
    assert check_method(registered(keeps_the_contract), task) == []
