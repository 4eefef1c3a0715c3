"""Networks that methods share are trained once, and cached under everything they depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.files import cache_folder
from benchmark.run.check import synthetic
from benchmark.train import Step, bank, bootstrap, draw, fit_stack
from benchmark.train.backbone import Backbone
from benchmark.types import PAPER, SAMPLINGS, Problem, Recipe

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


def features_of(problem: Problem) -> dict[str, np.ndarray]:
    return {name: examples.x for name, examples in problem.evals.items()}


@pytest.fixture
def predicted(parts) -> Callable[..., list[bank.StackPredictions]]:
    """A function that trains methods together at train seeds 1 and 2 and predicts all test sets."""

    def outcomes_of(problem: Problem, texts: list[str], **options: bool) -> list[bank.StackPredictions]:
        requests = [parts(problem, text, [1, 2]) for text in texts]
        outcomes = bank.predict_all(requests, features_of(problem), **options)
        assert all(isinstance(outcome, bank.StackPredictions) for outcome in outcomes), outcomes
        return outcomes  # type: ignore[return-value]

    return outcomes_of


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_shared_networks_give_the_predictions_of_each_method_alone_bit_for_bit(retrained, predicted, task):
    problem = problem_of(task)
    texts = [*SHARING, "twin:lam=3", "mc_dropout", "mc_dropout:passes=2", "swa:start=0.75"]
    for text, together in zip(texts, predicted(problem, texts), strict=True):
        alone = retrained(problem, text, [1, 2])
        for name, x in features_of(problem).items():
            np.testing.assert_array_equal(alone.predict(x), together.values[name])


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("text", ["erm", "bagging:k=2", "mc_dropout:passes=2", "swa", "twin:lam=3", "gradnorm"])
def test_a_retraining_is_the_same_to_the_bit_alone_and_with_others_in_any_order(parts, text, sampling):
    problem = problem_of()
    requests = [parts(problem, text, seeds, sampling) for seeds in ([1, 2, 3], [2], [3, 1])]
    many, alone, others = (
        outcome.values["id"]
        for request in requests
        for outcome in bank.predict_all([request], features_of(problem), fresh=True)
    )
    np.testing.assert_array_equal(many[1:2], alone)
    np.testing.assert_array_equal(many[[2, 0]], others)
    assert len({run.tobytes() for run in many}) == 3


def test_five_methods_of_the_same_networks_train_nine_for_each_seed(predicted, trained):
    predicted(problem_of(), SHARING)
    assert sum(trained) == 2 * (5 + 4)  # bagging's five and the deep ensemble's other four


def test_the_next_invocation_trains_nothing_that_is_cached_and_predicts_the_same(predicted, trained):
    problem = problem_of()
    before = predicted(problem, SHARING)
    trained.clear()
    after = predicted(problem, SHARING)
    assert trained == []
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one.values["ood"], other.values["ood"])
        assert one.seconds == other.seconds


def test_only_what_is_missing_is_trained(predicted, trained):
    problem = problem_of()
    predicted(problem, ["bagging:k=2"])
    trained.clear()
    predicted(problem, ["bagging:k=5", "erm"])
    assert sum(trained) == 2 * 3


def test_training_afresh_ignores_the_cache(predicted, trained):
    problem = problem_of()
    predicted(problem, ["erm"])
    predicted(problem, ["erm"], fresh=True)
    assert sum(trained) == 4


@pytest.mark.parametrize("what", ["features", "labels", "a test", "recipe", "code", "torch", "its library"])
def test_another_byte_of_anything_it_depends_on_is_another_network(predicted, what, trained, monkeypatch):
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
        monkeypatch.setattr(Backbone, "versions", {"chemprop": "another"})
    predicted(problem, ["erm"])
    assert sum(trained) == 2


@pytest.mark.parametrize("damage", ["a flipped byte", "half of it", "nothing"])
def test_a_damaged_entry_is_replaced(predicted, damage, trained):
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


def test_a_method_is_charged_for_the_networks_it_shares(predicted):
    erm, two, five, twin = predicted(problem_of(epochs=30), ["erm", "bagging:k=2", "bagging:k=5", "twin"])
    assert 0 < erm.seconds < two.seconds < five.seconds
    assert two.seconds == pytest.approx(2 * erm.seconds, rel=1.5)
    assert twin.seconds > 0


def test_coupled_networks_are_kept_under_the_name_of_their_cell_alone(parts, trained):
    problem = problem_of()
    tests = features_of(problem)

    def twins(seeds: tuple[int, ...], name: str, fresh: bool = False) -> np.ndarray:
        (outcome,) = bank.predict_all([parts(problem, "twin", seeds)], tests, names=[name], fresh=fresh)
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


def test_the_failure_of_one_coupling_stays_with_its_method(parts):
    problem = problem_of()

    def breaks(step: Step) -> torch.Tensor:
        raise RuntimeError("a bad coupling")

    bad = []
    for seed in (1, 2):
        sample, places = draw(problem, PAPER, seed)
        stack = fit_stack(sample, bootstrap(sample, 2), coupling=breaks)
        bad.append(bank.in_pool(stack, sample, problem.train, places))
    failed, fine = bank.predict_all([bad, parts(problem, "erm", [1, 2])], features_of(problem))
    assert isinstance(failed, str)
    assert "a bad coupling" in failed
    assert isinstance(fine, bank.StackPredictions)


def test_a_method_that_trains_on_data_of_its_own_shares_nothing(parts, trained):
    problem = problem_of()
    flipped = []
    for seed in (1, 2):
        sample, places = draw(problem, PAPER, seed)
        stack = fit_stack(replace(sample, y=1 - sample.y), sample.rows[None])
        flipped.append(bank.in_pool(stack, sample, problem.train, places))
    outcomes = bank.predict_all([flipped, parts(problem, "erm", [1, 2])], features_of(problem))
    assert sum(trained) == 4
    assert not np.array_equal(outcomes[0].values["id"], outcomes[1].values["id"])  # type: ignore[union-attr]
