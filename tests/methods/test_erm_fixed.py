"""ERM with randomness held fixed: each source alone, all together, and compared with ERM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.run.runner import retrain
from benchmark.studies.decomposition import SOURCES, fixed
from benchmark.train import bootstrap, draw, fit_stack
from benchmark.train.group import Group
from benchmark.types import PAPER, Problem, Recipe, Sample

SEEDS = [1, 2, 3]


@pytest.fixture(scope="module")
def problem() -> Problem:
    return replace(synthetic("classification", n=100), recipe=Recipe(hidden=16, lr=0.01, epochs=3))


def sample_of(problem: Problem, seed: int) -> Sample:
    return draw(problem, PAPER, seed)[0]


@pytest.fixture
def groups(problem: Problem, retrained) -> Callable[[str], list[Group]]:
    """The network of each retraining, by the method's name."""
    return lambda text: [group for stack in retrained(problem, text, SEEDS).fitted for group in stack.groups()]


def predicted(problem: Problem, text: str, seeds: list[int] = SEEDS) -> np.ndarray:
    return retrain(make_method(text, "classification"), problem, seeds)["id"].values


def test_fixed_data_are_the_same_rows_for_all_retrainings_and_nothing_else_is(problem: Problem, groups) -> None:
    networks = groups("erm_fixed:data=7")
    assert all((group.data_rows == bootstrap(sample_of(problem, 7))).all() for group in networks)
    assert len(networks) == 3
    assert len({group.keys for group in networks}) == len({group.orders for group in networks}) == 3


def test_fixed_initialisation_and_batches_are_those_of_one_seed_and_leave_the_data_alone(
    problem: Problem, groups
) -> None:
    weights, order = groups("erm_fixed:initialisation=7"), groups("erm_fixed:batches=7")
    assert [group.keys for group in weights] == [((7, 0),)] * 3
    assert [group.orders for group in weights] == [((seed, 0),) for seed in SEEDS]
    assert [group.keys for group in order] == [((seed, 0),) for seed in SEEDS]
    assert [group.orders for group in order] == [((7, 0),)] * 3
    for one, other, seed in zip(weights, order, SEEDS, strict=True):
        assert (one.data_rows == bootstrap(sample_of(problem, seed))).all()
        assert (other.data_rows == bootstrap(sample_of(problem, seed))).all()


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
    sample = sample_of(problem, 1)
    own, same = fit_stack(sample, sample.rows[None]), fit_stack(sample, sample.rows[None], batches=1)
    other = fit_stack(sample, sample.rows[None], batches=2)
    x = problem.evals["id"].x
    assert (own.predict(x) == same.predict(x)).all()
    assert (own.predict(x) != other.predict(x)).any()
    whole = Recipe(hidden=16, lr=0.01, epochs=3, batch_size=100)
    alone = replace(sample, recipe=whole)  # one batch holds all rows: their order only affects rounding
    a, b = (fit_stack(alone, sample.rows[None], batches=order).predict(x) for order in (1, 2))
    np.testing.assert_allclose(a, b, atol=1e-5)
