"""Every method keeps the contract, and every way of breaking it is detected."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass, replace

import numpy as np
import pytest

from benchmark import registry
from benchmark.files import CHECKOUT
from benchmark.registry import discover, make_method, method
from benchmark.run.check import check_method, synthetic
from benchmark.train import bootstrap, fit_stack, generator
from benchmark.types import SAMPLINGS, Fitted, Problem, Recipe, Sample, Task

METHODS, _ = discover()
TASKS: list[Task] = ["classification", "regression"]
FASTER = dict.fromkeys(
    ("random_forest", "extra_trees", "blend"), ("trees", int, 10)
)  # 500 trees keep the same contract, more slowly


@pytest.mark.slow
@pytest.mark.parametrize(("name", "task"), [(name, task) for name in METHODS for task in METHODS[name].tasks])
def test_the_method_keeps_the_contract(name, task):
    cls = METHODS[name]
    if name in FASTER:
        cls = make_dataclass(name, [FASTER[name]], bases=(cls,), frozen=True)
    assert check_method(cls, task) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_the_method_learns_a_signal(retrained, name):
    problem = replace(synthetic("classification", n=600), recipe=Recipe(epochs=15))
    method = make_method(name, "classification", {"trees": "50"})
    test = problem.evals["id"]
    (sampling,) = {"paper"} & set(getattr(type(method), "samplings", SAMPLINGS)) or {"update"}
    right = retrained(problem, method, [1, 2], sampling).predict(test.x).argmax(axis=2) == test.y
    majority = max(test.y.mean(), 1 - test.y.mean())
    assert right.mean() > majority + 0.1


@dataclass(frozen=True)
class Shaped:
    """The predictions of ``fitted`` after ``change``."""

    fitted: Fitted
    change: Callable[[np.ndarray], np.ndarray]

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.change(self.fitted.predict(x))


def keeps_the_contract(sample: Sample) -> Fitted:
    return fit_stack(sample, bootstrap(sample))


def ignores_the_seed(sample: Sample) -> Fitted:
    return keeps_the_contract(replace(sample, seed=0))


def ignores_the_seed_but_for_a_trace(sample: Sample) -> Fitted:
    def with_a_trace(values: np.ndarray) -> np.ndarray:
        trace = 1e-4 * sample.seed * (np.array([1.0, -1.0]) if values.shape[1] == 2 else 1.0)
        return np.asarray(values + trace * np.where(values[:, :1] > 0.5, -1, 1))

    return Shaped(ignores_the_seed(sample), with_a_trace)


def finds_the_pool(sample: Sample) -> Fitted:
    frames = (frame.frame.f_locals.values() for frame in inspect.stack())
    pool = next(value.train for values in frames for value in values if isinstance(value, Problem))
    return fit_stack(replace(sample, x=pool.x, y=pool.y), np.arange(len(pool))[None])


SEEDS_SO_FAR = [0]


def remembers_the_last_seed(sample: Sample) -> Fitted:
    SEEDS_SO_FAR.append(sample.seed)
    return fit_stack(sample, bootstrap(sample), initialisation=SEEDS_SO_FAR[-2])


def draws_from_the_clock(sample: Sample) -> Fitted:
    return fit_stack(sample, np.random.default_rng().integers(len(sample), size=(1, len(sample))))


def ignores_the_data(sample: Sample) -> Fitted:
    def noise(values: np.ndarray) -> np.ndarray:
        drawn = generator("forest", sample.seed).random(values.shape)
        return drawn / drawn.sum(axis=1, keepdims=True) if sample.task == "classification" else drawn

    return Shaped(keeps_the_contract(sample), noise)


def looks_at_the_test(sample: Sample) -> Fitted:
    return keeps_the_contract(replace(sample, x=sample.evals["id"].x))  # type: ignore[attr-defined]


def predicts_nan(sample: Sample) -> Fitted:
    def with_nan(values: np.ndarray) -> np.ndarray:
        values[7, 0] = np.nan
        return values

    fitted = keeps_the_contract(sample)
    return Shaped(fitted, with_nan) if sample.seed == 3 else fitted


def adds_an_axis_of_seeds(sample: Sample) -> Fitted:
    return Shaped(keeps_the_contract(sample), lambda values: values[None])


def predicts_logits(sample: Sample) -> Fitted:
    return Shaped(keeps_the_contract(sample), np.log)


def fails(sample: Sample) -> Fitted:
    raise RuntimeError("out of memory")


def is_no_stack(sample: Sample) -> Fitted:
    return Shaped(keeps_the_contract(sample), lambda values: values)


@pytest.fixture
def registered(monkeypatch):
    """A function that registers a method class around a ``fit`` for the duration of the test."""
    monkeypatch.setattr(registry, "_methods", dict(registry._methods))

    def register(fit: Callable[[Sample], Fitted], **attributes: object) -> type:
        namespace = {"fit": lambda self, sample: fit(sample), **attributes}
        cls = make_dataclass("Method", [], frozen=True, namespace=namespace)
        return method(fit.__name__, title="")(cls)

    return register


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("fit", "sentence"),
    [
        (
            ignores_the_seed,
            "different train seeds give the same predictions: train on sample.rows or bootstrap(sample)",
        ),
        (
            ignores_the_seed_but_for_a_trace,
            "different train seeds give the same predictions: train on sample.rows or bootstrap(sample)",
        ),
        (finds_the_pool, "predictions under halves depend on rows outside the half: fit on sample.x and sample.y"),
        (
            remembers_the_last_seed,
            "a seed's predictions depend on what was fitted before: keep nothing between calls of fit",
        ),
        (
            draws_from_the_clock,
            "fitting twice gives different predictions: take all randomness from benchmark.train.generator",
        ),
        (ignores_the_data, "predictions do not depend on the training data: fit on sample.x and sample.y"),
        (looks_at_the_test, "AttributeError: 'Sample' object has no attribute 'evals' ("),
        (
            predicts_nan,
            "ValueError: 1 of {size} predictions are not finite; the first is nan for train seed 3, example id7",
        ),
        (adds_an_axis_of_seeds, "ValueError: predictions must have shape (seeds, examples, "),
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


@pytest.mark.parametrize(("fit", "trains_networks"), [(keeps_the_contract, False), (is_no_stack, True)])
def test_a_method_that_is_wrong_about_training_networks_is_reported(registered, fit, trains_networks):
    message = "trains_networks is wrong: set it to True if fit returns the result of fit_stack, else to False"
    assert check_method(registered(fit, trains_networks=trains_networks), "classification") == [message]
    assert check_method(registered(fit, trains_networks=not trains_networks), "classification") == []


@pytest.mark.parametrize("task", TASKS)
def test_a_method_that_keeps_the_contract_has_no_errors(registered, task):
    assert check_method(registered(keeps_the_contract), task) == []
