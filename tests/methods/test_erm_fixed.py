"""ERM with randomness held fixed: each source alone, all together, and compared with ERM."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmark.studies.decomposition import SOURCES, fixed
from benchmark.train import bootstrap
from benchmark.train.learner import NetworkLearner
from tests.plain import predicted, problem_of, sample_of

SEEDS = [1, 2, 3]


PROBLEM = problem_of("classification")


@pytest.mark.parametrize("source", SOURCES)
def test_a_fixed_source_is_that_of_one_seed_and_the_others_are_those_of_each_retraining(retrained, monkeypatch, source):
    monkeypatch.setattr(NetworkLearner, "fit", lambda self, sample: SimpleNamespace(sample=sample, predict=None))
    for model, seed in zip(retrained(PROBLEM, f"erm_fixed:{source}=7", SEEDS).models, SEEDS, strict=True):
        drawn = dict.fromkeys(SOURCES, seed) | {source: 7}
        assert (model.sample.seed, model.sample.batches) == (drawn["initialisation"], drawn["batches"])
        np.testing.assert_array_equal(model.sample.rows, bootstrap(sample_of(PROBLEM, drawn["data"]))[0])


def test_with_everything_fixed_nothing_differs() -> None:
    values = predicted(PROBLEM, fixed(tuple(SOURCES), 5), SEEDS)
    assert (values == values[0]).all()
    assert (values[0] == predicted(PROBLEM, "erm", [5])[0]).all()
