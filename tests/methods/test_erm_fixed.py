"""ERM with randomness held fixed: each source alone, all together, and compared with ERM."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest

from benchmark.run.check import synthetic
from benchmark.studies.decomposition import SOURCES, fixed
from benchmark.train import bootstrap
from benchmark.train.learner import NetworkLearner
from benchmark.types import Problem, Recipe, Sample
from tests.plain import predicted, sample_of

SEEDS = [1, 2, 3]


@pytest.fixture(scope="module")
def problem() -> Problem:
    return replace(synthetic("classification", n=100), recipe=Recipe(hidden=16, lr=0.01, epochs=3))


@pytest.fixture
def trained(problem: Problem, retrained, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Sequence[Sample]]:
    """The sample that the network of each retraining is trained on, by the method's name."""
    monkeypatch.setattr(NetworkLearner, "fit", lambda self, sample: SimpleNamespace(sample=sample, predict=None))
    return lambda text: [model.sample for model in retrained(problem, text, SEEDS).models]


def test_fixed_data_are_the_same_rows_for_all_retrainings_and_nothing_else_is(problem: Problem, trained) -> None:
    samples = trained("erm_fixed:data=7")
    assert all((sample.rows == bootstrap(sample_of(problem, 7))).all() for sample in samples)
    assert [(sample.seed, sample.batches) for sample in samples] == [(seed, seed) for seed in SEEDS]


def test_fixed_initialisation_and_batches_are_those_of_one_seed_and_leave_the_data_alone(problem, trained):
    weights, order = trained("erm_fixed:initialisation=7"), trained("erm_fixed:batches=7")
    assert [(sample.seed, sample.batches) for sample in weights] == [(7, seed) for seed in SEEDS]
    assert [(sample.seed, sample.batches) for sample in order] == [(seed, 7) for seed in SEEDS]
    for one, other, seed in zip(weights, order, SEEDS, strict=True):
        assert (one.rows == bootstrap(sample_of(problem, seed))).all()
        assert (other.rows == bootstrap(sample_of(problem, seed))).all()


def test_with_everything_fixed_nothing_differs(problem: Problem) -> None:
    values = predicted(problem, fixed(tuple(SOURCES), 5), SEEDS)
    assert (values == values[0]).all()
    assert (values[0] == predicted(problem, "erm", [5])[0]).all()
