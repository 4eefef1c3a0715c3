"""One rule for every method's hyperparameter, against cases worked out by hand."""

import numpy as np
import pytest

from benchmark.registry import make_method
from benchmark.store.cell import Cell
from benchmark.studies import knobs
from benchmark.types import TASKS, Task

from .conftest import retrained


def made(right: float, flips: float, runs: int = 4, seed: int = 0) -> list[Cell]:
    """Retrainings on 1,000 examples of class 0: the two of a halving differ on a share ``flips`` of them."""
    rng = np.random.default_rng(seed)
    said = np.zeros((runs, 1000), dtype=int)
    for first in range(0, runs, 2):
        said[first : first + 2] = rng.random(1000) > right
        said[first + 1] ^= rng.random(1000) < flips
    return [retrained(np.eye(2)[said], sampling="halves")]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (0.20, 0.30),  # between the settings of losses 0.1 and 0.3
        (0.10, 0.40),  # a setting itself
        (0.05, np.nan),  # no setting is as accurate
        (0.50, 0.15),  # all are at least as accurate: the calmest
        (0.35, 0.18),  # a mixture of the last two is calmer than a setting at 0.2
    ],
)
def test_churn_at_a_loss_is_the_lowest_on_the_line_through_the_settings(at: float, expected: float) -> None:
    losses, churns = np.array([0.1, 0.3, 0.425]), np.array([0.4, 0.2, 0.15])
    np.testing.assert_allclose(knobs.churn_at(at, losses, churns), expected)


def test_the_calmest_setting_within_the_tolerance_is_selected_and_none_if_all_cost_more() -> None:
    erm = made(0.80, 0.2)
    tried = {1.0: made(0.80, 0.15), 2.0: made(0.79, 0.10), 3.0: made(0.70, 0.01)}
    assert knobs.selected(tried, erm, 0.02) == 2
    assert knobs.selected({3.0: tried[3.0]}, erm, 0.02) is None


def test_the_churn_at_the_accuracy_of_erm_is_estimated_with_a_jackknife_over_halvings() -> None:
    erm, tried = made(0.8, 0.05, 8, 1), [made(0.95, 0.1, 8, 2), made(0.6, 0.02, 8, 3)]
    found = knobs.equal_accuracy(tried, erm)

    def by_hand(kept: list[int]) -> float:
        def loss_and_churn(cells: list[Cell]) -> tuple[float, float]:
            said = cells[0].predictions["id"].values[:, :, 1][kept]
            return float(said.mean()), float((said[::2] != said[1::2]).mean())

        (a, c), (b, d) = map(loss_and_churn, tried)
        at = loss_and_churn(erm)[0]
        assert a < at < b
        return c + (d - c) * (at - a) / (b - a)

    whole = by_hand(list(range(8)))
    left_out = [by_hand([i for i in range(8) if i // 2 != j]) for j in range(4)]
    np.testing.assert_allclose(found, [4 * whole - 3 * one for one in left_out])


@pytest.mark.parametrize("task", TASKS)
def test_every_hyperparameter_is_one_of_its_method_and_its_default_is_among_the_values(task: Task) -> None:
    for knob in knobs.knobs_of(task):
        assert list(knob.values) == sorted(set(knob.values))
        for value in knob.values:
            assert getattr(make_method(knob.text(value), task).head, knob.name) == value
        usual = make_method(knob.method, task, sampling="halves")
        assert (usual.name, getattr(usual.head, knob.name) in (*knob.values, None)) == (knob.method, True), knob
