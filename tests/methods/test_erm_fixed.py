"""ERM with randomness held fixed: each source alone, all together, and compared with ERM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.studies.decomposition import SOURCES, fixed
from benchmark.train import bootstrap, fit_stack
from benchmark.train.stack import Stack
from benchmark.types import Problem, Recipe

SEEDS = [1, 2, 3]


@pytest.fixture(scope="module")
def problem() -> Problem:
    return replace(synthetic("classification", n=100), recipe=Recipe(hidden=16, lr=0.01, epochs=3))


def stack(problem: Problem, text: str, seeds: list[int] = SEEDS) -> Stack:
    networks = make_method(text, "classification").fit(problem.without_tests(), seeds)
    assert isinstance(networks, Stack)
    return networks


def predicted(problem: Problem, text: str, seeds: list[int] = SEEDS) -> np.ndarray:
    return stack(problem, text, seeds).predict(problem.evals["id"].x)


def test_fixed_data_are_the_same_rows_for_all_retrainings_and_nothing_else_is(problem: Problem) -> None:
    networks = stack(problem, "erm_fixed:data=7")
    assert (networks.rows == bootstrap(problem, [7])).all()
    assert len(networks.rows) == 3
    assert len({group.keys for group in networks.groups()}) == len({group.orders for group in networks.groups()}) == 3


def test_fixed_initialisation_and_batches_are_those_of_one_seed_and_leave_the_data_alone(problem: Problem) -> None:
    weights, order = stack(problem, "erm_fixed:initialisation=7"), stack(problem, "erm_fixed:batches=7")
    assert [group.keys for group in weights.groups()] == [((7, 0),)] * 3
    assert [group.orders for group in weights.groups()] == [((seed, 0),) for seed in SEEDS]
    assert [group.keys for group in order.groups()] == [((seed, 0),) for seed in SEEDS]
    assert [group.orders for group in order.groups()] == [((7, 0),)] * 3
    assert (weights.rows == bootstrap(problem, SEEDS)).all()
    assert (order.rows == bootstrap(problem, SEEDS)).all()


def test_with_everything_fixed_nothing_differs(problem: Problem) -> None:
    values = predicted(problem, fixed(tuple(SOURCES), 5))
    assert (values == values[0]).all()
    assert (values[0] == predicted(problem, "erm", [5])[0]).all()


def test_with_nothing_fixed_it_is_erm_bit_for_bit(problem: Problem) -> None:
    assert (predicted(problem, "erm_fixed") == predicted(problem, "erm")).all()


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_fixed_at_a_retrainings_own_seed_changes_nothing_and_at_another_it_does(
    problem: Problem, source: str
) -> None:
    erm, other = predicted(problem, "erm"), predicted(problem, f"erm_fixed:{source}=2")
    assert (other[1] == erm[1]).all()
    assert (other[0] != erm[0]).any()
    assert (other[2] != erm[2]).any()


def test_batches_by_another_seed_are_only_another_order(problem: Problem) -> None:
    rows = bootstrap(problem, [1])
    own, same = fit_stack(problem, rows, [1]), fit_stack(problem, rows, [1], batches=[1])
    other = fit_stack(problem, rows, [1], batches=[2])
    x = problem.evals["id"].x
    assert (own.predict(x) == same.predict(x)).all()
    assert (own.predict(x) != other.predict(x)).any()
    whole = Recipe(hidden=16, lr=0.01, epochs=3, batch_size=100)
    alone = replace(problem, recipe=whole)  # one batch holds all rows: their order only affects rounding
    a, b = (fit_stack(alone, rows, [1], batches=[order]).predict(x) for order in (1, 2))
    np.testing.assert_allclose(a, b, atol=1e-5)
