"""A method cannot reach a row outside its sample, which it can divide among members and give soft labels."""

import gc
from collections.abc import Iterator
from dataclasses import fields, replace
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.run.runner import retrain
from benchmark.train import sample_for
from benchmark.types import SAMPLINGS, Examples, Problem, Sample

REAL = "b3db_measured@epochs=3@train=200"
SEEDS = [1, 2]
CODE = (type, ModuleType, FunctionType, BuiltinFunctionType)
"""What every program can reach, with or without a sample."""


def distinct() -> Problem:
    """Return a problem in which no value occurs twice, so that each tells which molecule it is from."""
    rng = np.random.default_rng(0)

    def examples(name: str, n: int) -> Examples:
        names = [np.array([f"{name} {kind} {i}" for i in range(n)]) for kind in ("id", "smiles")]
        return Examples(rng.random((n, 5)), rng.random(n), *names)

    return Problem("distinct", "regression", 1, examples("pool", 61), {"id": examples("test", 40)})


def reachable(sample: Sample, depth: int = 6) -> list[Any]:
    """Everything that a sample refers to, through so many references; arrays are followed to what they are views of."""
    seen, layer = {id(sample): sample}, [sample]
    for _ in range(depth):
        arrays = [thing for thing in layer if isinstance(thing, np.ndarray)]
        inside = [array.base for array in arrays] + [x for a in arrays if a.dtype == object for x in a.flat]
        layer = [x for x in [*gc.get_referents(*layer), *inside] if id(x) not in seen and not isinstance(x, CODE)]
        seen |= {id(x): x for x in layer}
    return list(seen.values())


def texts_of(things: list[Any]) -> Iterator[str]:
    for thing in things:
        if isinstance(thing, str):
            yield thing
        elif isinstance(thing, np.ndarray) and thing.dtype.kind in "SU":
            yield from map(str, thing.flat)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_no_array_that_leads_from_a_sample_holds_a_molecule_outside_it(sampling, seed):
    problem = distinct()
    sample, places = sample_for(problem, sampling, seed)
    things = reachable(sample)
    arrays = [thing for thing in things if isinstance(thing, np.ndarray)]
    named = [getattr(sample, name) for name in ("x", "y", "smiles", "rows", "bootstrap_pool")]
    assert {*map(id, named)} <= {*map(id, arrays)}
    assert not any(isinstance(thing, bytes | bytearray | memoryview | Examples | Problem) for thing in things)
    texts, numbers = set(texts_of(things)), [array for array in arrays if array.dtype.kind not in "SU"]

    outside = np.setdiff1d(np.arange(len(problem.train)), places)
    assert (len(outside) == 0) == (sampling in ("paper", "update"))
    for examples, hidden in ((problem.train, outside), (problem.evals["id"], np.arange(40))):
        for field in fields(examples):
            name, values = field.name, getattr(examples, field.name)
            if values.dtype.kind == "U":
                assert not texts & set(values[hidden])
            else:
                assert not any(np.isin(array, values[hidden]).any() for array in numbers), name
    assert texts >= set(sample.smiles), "the search itself finds what is there"
    assert any(np.isin(array, problem.train.y[places]).any() for array in numbers)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_sample_has_no_ids_and_no_name_by_which_its_dataset_can_be_loaded(sampling):
    problem = load_problem(REAL)
    sample = sample_for(problem, sampling, 1)[0]
    texts = set(texts_of(reachable(sample)))
    assert not texts & set(problem.train.ids)
    assert not {"id", "ood", problem.name} & texts
    assert not any(hasattr(sample, name) for name in ("ids", "evals", "train", "name", "about", "fingerprints"))
    for text in texts - set(sample.smiles):
        with pytest.raises(UserError):
            load_problem(text)


@pytest.mark.parametrize("method", ["erm", "swa", "deep_ensemble:k=2", "random_forest:trees=20", "gaussian_process"])
def test_a_method_that_is_fitted_to_erms_bootstrap_alone_predicts_the_same_when_it_sees_nothing_else(method):
    problem = load_problem(REAL)
    made = make_method(method, problem.task)
    nested, paper = (retrain(made, problem, SEEDS, sampling) for sampling in ("nested", "paper"))
    for name in problem.evals:
        np.testing.assert_array_equal(nested[name].values, paper[name].values)


def test_a_sample_of_a_member_has_its_rows_and_a_number_that_counts_from_its_own():
    sample = sample_for(distinct(), "halves", 1)[0]
    rows = np.array([3, 3, 5])
    member = sample.of(rows, 2)
    np.testing.assert_array_equal(member.rows, rows)
    assert (member.member, member.of(rows, 3).member) == (2, 5)
    assert sample.of(rows).member == 0
    for field in fields(Sample):
        if field.name not in ("rows", "member"):
            assert getattr(member, field.name) is getattr(sample, field.name)


def test_labels_as_targets_are_one_hot_or_the_numbers_themselves():
    numbers = sample_for(distinct(), "paper", 1)[0]
    np.testing.assert_array_equal(numbers.labels, numbers.y[:, None])
    classes = replace(numbers, task="classification", n_outputs=3, y=np.arange(61) % 3)
    np.testing.assert_array_equal(classes.labels[:4], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]])


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_a_sample_towards_targets_has_the_mean_of_these_and_the_labels_and_is_otherwise_the_same(weight):
    numbers = sample_for(distinct(), "paper", 1)[0]
    classes = replace(numbers, task="classification", n_outputs=2, y=np.arange(61) % 2)
    for sample, targets in ((numbers, numbers.y[::-1, None]), (classes, np.full((61, 2), 0.5))):
        towards = sample.towards(targets, weight)
        expected = weight * targets + (1 - weight) * sample.labels
        np.testing.assert_allclose(towards.targets, expected, rtol=1e-6)
        assert towards.targets.dtype == np.float32
        assert sample.targets is None
        assert all(getattr(towards, f.name) is getattr(sample, f.name) for f in fields(Sample) if f.name != "targets")
    assert classes.towards(np.full((1, 2), 0.5)).targets.shape == (61, 2)
