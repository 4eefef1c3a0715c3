"""The planned cost of a grid matches the training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.registry import make_method
from benchmark.run import plan, runner
from benchmark.run.check import synthetic
from benchmark.run.plan import costs
from benchmark.run.runner import Planned
from benchmark.train import bank
from benchmark.types import Recipe, Sample

NETWORKS = ["erm", "swa", "bagging:k=2", "bagging:k=5", "deep_ensemble:k=3", "twin", "mc_dropout"]
METHODS = [*NETWORKS, "random_forest:trees=2"]


def grid(texts: list[str], seeds: list[int]) -> list[Planned]:
    problem = replace(synthetic("classification"), recipe=Recipe(hidden=16, epochs=1))
    return [runner.plan(problem, make_method(text, problem.task), seeds) for text in texts]


def test_a_plan_counts_the_networks_that_are_trained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path))
    cells = grid(METHODS, [1, 2, 3])
    (cost,) = costs(cells)
    trained = 0
    train = bank.train

    def counted(*args: object, **kwargs: object) -> Iterator[object]:
        nonlocal trained
        for part in train(*args, **kwargs):  # type: ignore[arg-type]
            trained += sum(len(group.keys) for group in part.groups)
            yield part

    monkeypatch.setattr(bank, "train", counted)
    list(runner.run(cells, jobs=1))
    assert cost.networks == trained == 3 * (5 + 2 + 2 + 1)
    assert cost.unshared == 3 * (1 + 1 + 2 + 5 + 3 + 2 + 1)
    assert (cost.cells, cost.retrainings) == (8, 24)


@pytest.mark.parametrize("power", [1, 2])
def test_the_time_of_a_method_without_networks_is_extrapolated_from_few_rows(
    power: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock:
        now = 0.0

        def fit(self, sample: Sample) -> Clock:
            self.now += 1e-3 * len(sample.rows) ** power
            return self

        def predict(self, x: np.ndarray) -> np.ndarray:
            return np.full((len(x), 2), 0.5)

    problem = synthetic("classification")
    wide = Sample(
        1,
        "paper",
        "classification",
        2,
        *(np.zeros((1000, 3)) for _ in range(3)),
        *[np.arange(1000)] * 2,
        Recipe(),
        "mlp",
    )
    clock = Clock()
    monkeypatch.setattr(plan.time, "process_time", lambda: clock.now)
    assert plan.seconds_per_fit(clock, wide, problem) == pytest.approx(1e-3 * 1000**power)  # type: ignore[arg-type]
    few = replace(wide, rows=np.arange(90))
    assert plan.seconds_per_fit(clock, few, problem) == pytest.approx(1e-3 * 90**power)  # type: ignore[arg-type]


def test_cost_grows_linearly_with_seeds() -> None:
    (few,), (many,) = costs(grid(METHODS, [1, 2])), costs(grid(METHODS, list(range(1, 21))))
    assert many.networks == 10 * few.networks
    assert many.bytes == 10 * few.bytes
    assert few.seconds > 0
