"""Networks that the methods of a retraining have in common are trained once, and charged to each of them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.learners.gin import GIN
from benchmark.learners.mlp import MLP
from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.run.runner import retrain
from benchmark.train import loop
from benchmark.train.ensemble import Ensemble
from benchmark.train.loop import sharing
from benchmark.types import SAMPLINGS, TASKS, Problem, Recipe, Sample, Task
from tests.plain import sample_of

SHARING = ["swa", "erm", "bagging:k=2", "bagging:k=5", "deep_ensemble:k=5"]
OTHERS = ["twin:lam=3", "mc_dropout", "mc_dropout:passes=2", "swa:start=0.25", "model_soup:k=2", "early_stopping"]


def problem_of(task: Task = "classification") -> Problem:
    return replace(synthetic(task, n=60), recipe=Recipe(hidden=16, epochs=4))


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of networks in each group that is trained."""
    counts: list[int] = []
    train = loop._train_together

    def counted(networks: Any, ensemble: Ensemble, *others: Any) -> Any:
        counts.append(len(ensemble.rows))
        return train(networks, ensemble, *others)

    monkeypatch.setattr(loop, "_train_together", counted)
    return counts


def predicted(problem: Problem, texts: Sequence[str], sample: Sample) -> dict[str, np.ndarray]:
    """Predictions of methods that are trained one after another, and may share networks."""
    with sharing():
        models = {text: make_method(text, problem.task).fit(sample) for text in texts}
    return {text: model.predict(problem.evals["id"].inputs) for text, model in models.items()}


@pytest.mark.parametrize("task", TASKS)
def test_predictions_do_not_depend_on_what_was_trained_before_by_a_bit(task):
    problem = problem_of(task)
    sample, texts = sample_of(problem), [*SHARING, *OTHERS]
    alone = {text: predicted(problem, [text], sample)[text] for text in texts}
    for order in (texts, texts[::-1], [*OTHERS, *SHARING]):
        together = predicted(problem, order, sample)
        for text in texts:
            np.testing.assert_array_equal(together[text], alone[text], err_msg=text)
    assert len({values.tobytes() for values in alone.values()}) == len(texts)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_retraining_is_the_same_to_the_bit_alone_and_with_others_in_any_order(sampling):
    problem = problem_of()
    method = make_method("bagging:k=2", problem.task)
    many, alone, others = (retrain(method, problem, seeds, sampling)["id"].values for seeds in ([1, 2, 3], [2], [3, 1]))
    np.testing.assert_array_equal(many[1:2], alone)
    np.testing.assert_array_equal(many[[2, 0]], others)
    assert len({run.tobytes() for run in many}) == 3


def test_a_method_is_charged_for_the_networks_that_were_there(monkeypatch):
    ticks = count()  # each group of networks takes a second to train
    monkeypatch.setattr(loop, "_clock", lambda device: float(next(ticks)))
    problem = problem_of()
    sample, charged = sample_of(problem), {}
    with sharing() as shared:
        for text in ["erm", "erm", "bagging:k=2", "bagging:k=5", "deep_ensemble:k=5", "twin"]:
            before = shared.saved
            make_method(text, problem.task).fit(sample)
            charged[text] = shared.saved - before
    assert charged == {"erm": 1, "bagging:k=2": 1, "bagging:k=5": 2, "deep_ensemble:k=5": 1, "twin": 0}


def test_what_is_trained_outside_or_at_another_time_is_not_shared(trained):
    sample = sample_of(problem_of())
    MLP().fit(sample)
    for _ in range(2):
        with sharing():
            MLP().fit(sample)
    MLP().fit(sample)
    with sharing():
        MLP().fit(sample)
        with sharing():
            MLP().fit(sample)
        MLP().fit(sample)
    assert len(trained) == 6


CHANGES: dict[str, Callable[[Sample], tuple[MLP, Sample]]] = {
    "features": lambda sample: (MLP(), replace(sample, x=1 - sample.x)),
    "labels": lambda sample: (MLP(), replace(sample, y=1 - sample.y)),
    "targets": lambda sample: (MLP(), sample.towards(np.full((len(sample), 2), 0.5))),
    "rows": lambda sample: (MLP(), sample.of(sample.rows[::-1])),
    "train seed": lambda sample: (MLP(), replace(sample, seed=9)),
    "member": lambda sample: (MLP(), sample.of(sample.rows, 1)),
    "order of batches": lambda sample: (MLP(), replace(sample, batches=9)),
    "recipe": lambda sample: (MLP(), replace(sample, recipe=sample.recipe.model_copy(update={"lr": 2e-3}))),
    "learner's rate": lambda sample: (MLP(lr=2e-3), sample),
    "learner's dropout": lambda sample: (MLP(dropout=0.5), sample),
}


@pytest.mark.parametrize("what", CHANGES)
def test_anything_else_that_it_depends_on_makes_another_network(what, trained):
    sample = sample_of(problem_of())
    learner, changed = CHANGES[what](sample)
    alone = learner.fit(changed).predict(sample.inputs)
    trained.clear()
    with sharing():
        before = MLP().fit(sample).predict(sample.inputs)
        after = learner.fit(changed).predict(sample.inputs)
    assert len(trained) == 2
    assert not np.array_equal(before, after)
    np.testing.assert_array_equal(after, alone)


def test_labels_that_are_gone_do_not_lend_their_networks_to_others_at_their_place_in_memory():
    sample = sample_of(problem_of())

    def labelled(i: int) -> Sample:
        y = sample.y.copy()
        y[sample.rows[i]] = 1 - y[sample.rows[i]]
        return replace(sample, y=y)

    def outputs(of: Sample) -> bytes:
        return MLP(epochs=1).fit(of).predict(sample.inputs).tobytes()

    with sharing():
        together = [outputs(labelled(i)) for i in range(10)]
    assert together == [outputs(labelled(i)) for i in range(10)]


@pytest.mark.parametrize(
    "hook",
    [
        {"loss": lambda step: 0.1 * step.fit.sum()},
        {"step": lambda batch: (0.1 * batch.loss()).backward()},
        {"each_epoch": lambda epoch: True},
        {"adapt": lambda module: module.append(torch.nn.Tanh())},
    ],
    ids=lambda hook: next(iter(hook)),
)
def test_networks_that_are_trained_in_another_way_are_not_shared(hook, trained):
    sample = sample_of(problem_of())
    with sharing():
        special = [MLP().train(sample, sample.rows[None], **hook).predict(sample.inputs) for _ in range(2)]
        plain = MLP().fit(sample).predict(sample.inputs)
        again = MLP().train(sample, sample.rows[None], **hook).predict(sample.inputs)
    assert len(trained) == 4
    np.testing.assert_array_equal(plain, MLP().fit(sample).predict(sample.inputs))
    for values in (*special, again):
        np.testing.assert_array_equal(values, special[0])
        assert not np.array_equal(values, plain)


def test_networks_that_were_only_observed_are_shared_and_observed_again_where_another_asks(trained):
    sample, seen = sample_of(problem_of()), []
    with sharing():
        for _ in range(2):
            MLP().train(sample, sample.rows[None], each_epoch=lambda epoch: seen.append(epoch.number))
        MLP().fit(sample)
    assert seen == [0, 1, 2, 3] * 2
    assert len(trained) == 2


@pytest.mark.parametrize("learner", [MLP(), GIN(hidden=16, epochs=1)])
def test_inputs_are_prepared_once(learner, monkeypatch):
    sample, prepared = sample_of(problem_of()), []
    prepare = type(learner).prepared
    monkeypatch.setattr(type(learner), "prepared", lambda *given: prepared.append(given) or prepare(*given))
    with sharing():
        for member in range(3):
            learner.fit(sample.of(sample.rows, member))
    assert len(prepared) == 1
