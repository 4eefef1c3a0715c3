"""The planned cost of a grid matches the training."""

from dataclasses import replace

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.pipeline import Pipeline
from benchmark.registry import make_method
from benchmark.run import cost, runner
from benchmark.run.check import synthetic
from benchmark.run.cost import costs
from benchmark.run.runner import Planned
from benchmark.types import Inputs, Recipe, Sample


def grid(texts: list[str], seeds: list[int]) -> list[Planned]:
    problem = replace(synthetic("classification"), recipe=Recipe(hidden=16, epochs=1))
    return [runner.plan(problem, make_method(text, problem.task), seeds) for text in texts]


def test_a_plan_counts_the_cells_and_retrainings_of_each_split() -> None:
    cells = grid(["erm", "twin", "random_forest:trees=2"], [1, 2, 3])
    cells += [runner.plan(replace(cells[0].problem, canonical_seed=7), cells[0].method, [1, 2])]
    first, second = costs(cells)
    one, other = ((cost.dataset, cost.canonical_seed, cost.cells, cost.retrainings) for cost in (first, second))
    assert one == ("synthetic_classification", 0, 3, 9)
    assert other == ("synthetic_classification", 7, 1, 2)
    tests = sum(len(test) for test in cells[0].problem.evals.values())
    assert first.bytes / 9 == second.bytes / 2 == 4 * tests * 2 + cost.RUN_BYTES


@pytest.mark.parametrize("power", [0.5, 1, 2])
def test_the_time_of_a_method_without_networks_is_extrapolated_from_few_rows(power, monkeypatch):
    class Clock:
        now = 0.0
        remedy = learner = None

        def fit(self, sample: Sample) -> "Clock":
            self.now += 1e-3 * len(sample.rows) ** power
            return self

        def predict(self, inputs: Inputs) -> np.ndarray:
            return np.full((len(inputs), 2), 0.5)

    problem = synthetic("classification")
    wide = Sample(
        1, "paper", "classification", 2, *(np.zeros((1000, 3)) for _ in range(3)), *[np.arange(1000)] * 2, Recipe()
    )
    clock = Clock()
    monkeypatch.setattr(cost.time, "process_time", lambda: clock.now)
    assert cost.seconds_per_fit(clock, wide, problem) == pytest.approx(1e-3 * 1000**power)
    few = replace(wide, rows=np.arange(90))
    assert cost.seconds_per_fit(clock, few, problem) == pytest.approx(1e-3 * 90**power)


@pytest.mark.parametrize("error", [ValueError("one class"), SystemExit(3)])
def test_a_method_that_fails_in_a_plan_is_an_error_with_its_title(error, monkeypatch) -> None:
    def fails(*given: object) -> float:
        raise error

    monkeypatch.setattr(cost, "seconds_per_fit", fails)
    with pytest.raises(UserError, match=rf"^SVM on synthetic_classification, .*{type(error).__name__}: {error} \("):
        next(costs(grid(["svm"], [1])))


def test_the_choice_of_a_network_s_settings_is_timed_once_and_that_of_others_on_each_dataset(monkeypatch) -> None:
    tuned = []

    def seconds(method: Pipeline, *given: object) -> float:
        if method.tune:
            tuned.append(method.name)
        return 12.0 if method.tune else 1.0

    monkeypatch.setattr(cost, "timed", seconds)
    problems = [replace(synthetic("classification"), name=name) for name in "abc"]
    cells = [
        runner.plan(problem, make_method(name, problem.task, tune="best"), [1])
        for name in ("erm", "svm")
        for problem in problems
    ]
    assert [each.seconds for each in costs(cells)] == pytest.approx(3 * [2 * (12.0 + cost.RUN_SECONDS)])
    assert tuned.count("erm") == 1
    assert tuned.count("svm") >= 3
