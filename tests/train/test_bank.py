"""Networks that methods share are trained once, and cached under everything they depend on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.files import cache_folder
from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.train import Step, bank, bootstrap, fit_stack
from benchmark.train.backbone import Backbone
from benchmark.train.stack import Stack
from benchmark.types import Problem, Recipe

SHARING = ["erm", "swa", "bagging:k=2", "bagging:k=5", "deep_ensemble:k=5"]


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path))


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of networks in each trained stack."""
    counts: list[int] = []
    train = bank.train

    def counted(*args: object, **kwargs: object) -> Iterator[object]:
        for part in train(*args, **kwargs):  # type: ignore[arg-type]
            counts.append(sum(len(group.keys) for group in part.groups))
            yield part

    monkeypatch.setattr(bank, "train", counted)
    return counts


def problem_of(task: str = "classification", **recipe: float) -> Problem:
    return replace(synthetic(task, n=60), recipe=Recipe(**{"hidden": 16, "epochs": 4, **recipe}))  # type: ignore[arg-type]


def stacks(problem: Problem, texts: list[str], seeds: tuple[int, ...] = (1, 2)) -> list[Stack]:
    fitted = [make_method(text, problem.task).fit(problem.without_tests(), seeds) for text in texts]
    assert all(isinstance(stack, Stack) for stack in fitted)
    return fitted  # type: ignore[return-value]


def features_of(problem: Problem) -> dict[str, np.ndarray]:
    return {name: examples.x for name, examples in problem.evals.items()}


def predicted(problem: Problem, texts: list[str], **options: bool) -> list[bank.StackPredictions]:
    outcomes = bank.predict_all(stacks(problem, texts), features_of(problem), **options)
    assert all(isinstance(outcome, bank.StackPredictions) for outcome in outcomes), outcomes
    return outcomes  # type: ignore[return-value]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_shared_networks_give_the_predictions_of_each_method_alone_bit_for_bit(task):
    problem = problem_of(task)
    texts = [*SHARING, "twin:lam=3", "mc_dropout", "mc_dropout:passes=2", "swa:start=0.75"]
    for alone, together in zip(stacks(problem, texts), predicted(problem, texts), strict=True):
        for name, x in features_of(problem).items():
            np.testing.assert_array_equal(alone.predict(x), together.values[name])


def test_five_methods_of_the_same_networks_train_nine_for_each_seed(trained):
    predicted(problem_of(), SHARING)
    assert sum(trained) == 2 * (5 + 4)  # bagging's five and the deep ensemble's other four


def test_the_next_invocation_trains_nothing_that_is_cached_and_predicts_the_same(trained):
    problem = problem_of()
    before = predicted(problem, SHARING)
    trained.clear()
    after = predicted(problem, SHARING)
    assert trained == []
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one.values["ood"], other.values["ood"])
        assert one.seconds == other.seconds


def test_only_what_is_missing_is_trained(trained):
    problem = problem_of()
    predicted(problem, ["bagging:k=2"])
    trained.clear()
    predicted(problem, ["bagging:k=5", "erm"])
    assert sum(trained) == 2 * 3


def test_training_afresh_ignores_the_cache(trained):
    problem = problem_of()
    predicted(problem, ["erm"])
    predicted(problem, ["erm"], fresh=True)
    assert sum(trained) == 4


@pytest.mark.parametrize("what", ["features", "labels", "a test", "recipe", "code", "torch", "its library"])
def test_another_byte_of_anything_it_depends_on_is_another_network(what, trained, monkeypatch):
    problem = problem_of()
    predicted(problem, ["erm"])
    trained.clear()
    if what in ("features", "labels"):
        field = "x" if what == "features" else "y"
        values = getattr(problem.train, field).copy()
        values.flat[0] = 1 - values.flat[0]
        problem = replace(problem, train=replace(problem.train, **{field: values}))
    if what == "a test":
        x = problem.evals["ood"].x.copy()
        x.flat[0] = 1 - x.flat[0]
        problem = replace(problem, evals={**problem.evals, "ood": replace(problem.evals["ood"], x=x)})
    if what == "recipe":
        problem = problem_of(lr=2e-3)
    if what == "code":
        monkeypatch.setattr(bank, "code", lambda _: "another")
    if what == "torch":
        monkeypatch.setattr(torch, "__version__", "another")
    if what == "its library":
        monkeypatch.setattr(Backbone, "versions", {"torch-geometric": "another"})
    predicted(problem, ["erm"])
    assert sum(trained) == 2


@pytest.mark.parametrize("damage", ["a flipped byte", "half of it", "nothing"])
def test_a_damaged_entry_is_replaced(damage, trained):
    problem = problem_of()
    before = predicted(problem, ["erm"])
    trained.clear()
    for path in (cache_folder() / "networks").rglob("*"):
        if path.is_file():
            content = bytearray(path.read_bytes())
            content[-1] ^= 1
            path.write_bytes({"a flipped byte": bytes(content), "half of it": content[:50], "nothing": b""}[damage])
    after = predicted(problem, ["erm"])
    assert sum(trained) == 2
    np.testing.assert_array_equal(before[0].values["id"], after[0].values["id"])


def test_a_method_is_charged_for_the_networks_it_shares():
    erm, two, five, twin = predicted(problem_of(epochs=30), ["erm", "bagging:k=2", "bagging:k=5", "twin"])
    assert 0 < erm.seconds < two.seconds < five.seconds
    assert two.seconds == pytest.approx(2 * erm.seconds, rel=1.5)
    assert twin.seconds > 0


def test_coupled_networks_are_kept_under_the_name_of_their_cell_alone(trained):
    problem = problem_of()
    tests = features_of(problem)

    def twins(seeds: tuple[int, ...], name: str, fresh: bool = False) -> np.ndarray:
        (outcome,) = bank.predict_all(stacks(problem, ["twin"], seeds), tests, names=[name], fresh=fresh)
        assert isinstance(outcome, bank.StackPredictions)
        return outcome.values["id"]

    first = twins((1,), "one")
    both = twins((1, 2), "one")
    assert sum(trained) == 4, "the twins of train seed 1 are trained once, as after an interrupt"
    np.testing.assert_array_equal(both[:1], first)
    np.testing.assert_array_equal(both, twins((1, 2), "another"))
    assert sum(trained) == 8, "all twins of another coupling"
    np.testing.assert_array_equal(both, twins((1, 2), "one", fresh=True))
    assert sum(trained) == 12
    twins((1,), "")
    twins((1,), "")
    assert sum(trained) == 16, "without a name, nothing is cached"


def test_the_failure_of_one_coupling_stays_with_its_method():
    problem = problem_of()

    def breaks(step: Step) -> torch.Tensor:
        raise RuntimeError("a bad coupling")

    bad = fit_stack(problem, bootstrap(problem, (1, 2), 2), (1, 2), coupling=breaks)
    failed, fine = bank.predict_all([bad, *stacks(problem, ["erm"])], features_of(problem))
    assert isinstance(failed, str)
    assert "a bad coupling" in failed
    assert isinstance(fine, bank.StackPredictions)


def test_a_method_that_trains_on_data_of_its_own_shares_nothing(trained):
    problem = problem_of()
    flipped = replace(problem, train=replace(problem.train, y=1 - problem.train.y))
    outcomes = bank.predict_all(stacks(flipped, ["erm"]) + stacks(problem, ["erm"]), features_of(problem))
    assert sum(trained) == 4
    assert not np.array_equal(outcomes[0].values["id"], outcomes[1].values["id"])  # type: ignore[union-attr]
