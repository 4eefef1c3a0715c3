"""ERM with randomness held fixed: each source alone, all together, and compared with ERM."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from benchmark.run.check import synthetic
from benchmark.studies.decomposition import SOURCES, fixed
from benchmark.train import bootstrap
from benchmark.train.learner import NetworkLearner
from benchmark.types import Problem, Recipe
from tests.plain import predicted, sample_of

SEEDS = [1, 2, 3]


@pytest.fixture(scope="module")
def problem() -> Problem:
    return replace(synthetic("classification", n=100), recipe=Recipe(hidden=16, lr=0.01, epochs=3))


@pytest.mark.parametrize("source", SOURCES)
def test_a_fixed_source_is_that_of_one_seed_and_the_others_are_those_of_each_retraining(
    problem, retrained, monkeypatch, source
):
    monkeypatch.setattr(NetworkLearner, "fit", lambda self, sample: SimpleNamespace(sample=sample, predict=None))
    for model, seed in zip(retrained(problem, f"erm_fixed:{source}=7", SEEDS).models, SEEDS, strict=True):
        drawn = dict.fromkeys(SOURCES, seed) | {source: 7}
        assert (model.sample.seed, model.sample.batches) == (drawn["initialisation"], drawn["batches"])
        np.testing.assert_array_equal(model.sample.rows, bootstrap(sample_of(problem, drawn["data"]))[0])


def test_with_everything_fixed_nothing_differs(problem: Problem) -> None:
    values = predicted(problem, fixed(tuple(SOURCES), 5), SEEDS)
    assert (values == values[0]).all()
    assert (values[0] == predicted(problem, "erm", [5])[0]).all()
