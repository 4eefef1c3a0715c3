"""What a remedy can change in the training of networks: their loss, steps, modules, first weights and last epoch."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from benchmark.learners.gin import GIN
from benchmark.learners.mlp import MLP
from benchmark.run.check import synthetic
from benchmark.train import bootstrap, sample_for
from benchmark.train.ensemble import Ensemble, Epoch, Step
from benchmark.train.learner import NetworkLearner
from benchmark.train.losses import fit_loss
from benchmark.train.modules import Batch
from benchmark.types import PAPER, TASKS, Inputs, Recipe, Sample, Task

LEARNERS = [MLP(hidden=16), GIN(hidden=16)]
RECIPE = Recipe(lr=1e-2, weight_decay=0.1, batch_size=32, epochs=4, standardise=True)
N = 70  # not a multiple of the batch size: the last batch is a partial one
ROUNDING = 0.01
"""Difference of predictions due to rounding, where it moves a unit across the edge of its ReLU."""
SMALLEST = 1e-20
"""A learning rate at which no weight changes."""

of_learners = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
of_tasks = pytest.mark.parametrize("task", TASKS)


def sample_and_test(task: Task) -> tuple[Sample, Inputs]:
    problem = replace(synthetic(task, n=N), recipe=RECIPE)
    return sample_for(problem, PAPER, 1)[0], problem.evals["id"].inputs


def plain_step(batch: Batch) -> None:
    batch.loss().backward()


def plain_loss(step: Step) -> torch.Tensor:
    return step.fit.sum()


def twice(learner: NetworkLearner, sample: Sample, test: Inputs, **hooks) -> tuple[Ensemble, np.ndarray]:
    """Train two networks on two bootstraps, and return them with the predictions of each, (2, T, C)."""
    networks = learner.train(sample, bootstrap(sample, 2), **hooks)
    return networks, networks.each(test)


@of_tasks
def test_a_plain_step_through_modules_is_that_of_the_fast_implementation(task):
    sample, test = sample_and_test(task)
    learner = MLP(hidden=16)
    for hooks in ({}, {"step": plain_step}):
        first, before = twice(replace(learner, epochs=2), sample, test, **hooks)
        _, fast = twice(learner, sample, test, start=first.parts, loss=plain_loss)
        _, slow = twice(learner, sample, test, start=first.parts, step=plain_step)
        np.testing.assert_allclose(slow, fast, atol=ROUNDING)
        assert np.abs(fast - before).max() > 10 * ROUNDING
        assert np.abs(fast[0] - fast[1]).max() > 10 * ROUNDING


@of_tasks
def test_a_step_sees_the_rows_and_targets_of_each_networks_own_batch(task):
    sample, _ = sample_and_test(task)
    sample = replace(sample, recipe=RECIPE.model_copy(update={"standardise": None}))
    rows, seen = bootstrap(sample, 2), []

    def step(batch: Batch) -> None:
        wanted = torch.from_numpy(sample.y)[batch.rows]
        assert torch.equal(batch.targets, wanted)
        outputs = batch.called()
        assert outputs.shape == (*batch.rows.shape, sample.n_outputs)
        assert len(batch.modules) == 2
        loss = fit_loss(task, outputs, wanted).sum()
        torch.testing.assert_close(batch.loss(), loss)
        loss.backward()
        seen.append(batch.rows)

    by_hand = MLP(epochs=2).train(sample, rows, step=step)
    assert [batch.shape for batch in seen] == [(2, 32), (2, 32), (2, 6)] * 2
    for start in (0, 3):
        for own, expected in zip(torch.cat(seen[start : start + 3], 1).numpy(), rows, strict=True):
            np.testing.assert_array_equal(np.sort(own), np.sort(expected))
    plain = MLP(epochs=2).train(sample, rows, step=plain_step)
    np.testing.assert_array_equal(by_hand.each(sample.inputs), plain.each(sample.inputs))


@of_tasks
@of_learners
def test_training_ends_when_an_observer_says_so_with_the_weights_of_that_epoch(learner, task):
    sample, test = sample_and_test(task)
    seen = []

    def observe(epoch: Epoch) -> bool:
        seen.append(epoch.ensemble().each(test))
        return epoch.number == 1

    networks, ended = twice(learner, sample, test, each_epoch=observe)
    assert len(seen) == 2
    np.testing.assert_array_equal(ended, seen[1])
    np.testing.assert_array_equal(networks.rows, bootstrap(sample, 2))
    for epochs, values in zip((1, 2), seen, strict=True):
        np.testing.assert_array_equal(twice(replace(learner, epochs=epochs), sample, test)[1], values)


@pytest.mark.parametrize("hooks", [{}, {"loss": plain_loss}, {"step": plain_step}], ids=["plain", "loss", "step"])
def test_an_observer_that_does_not_end_the_training_changes_nothing(hooks):
    sample, test = sample_and_test("regression")
    numbers = []
    _, observed = twice(MLP(), sample, test, each_epoch=lambda epoch: numbers.append(epoch.number), **hooks)
    assert numbers == [0, 1, 2, 3]
    if hooks:  # without, each network standardises the targets of its own rows
        np.testing.assert_array_equal(observed, twice(MLP(), sample, test, **hooks)[1])
    np.testing.assert_allclose(observed, twice(MLP(), sample, test, **hooks)[1], atol=1e-6)


@of_tasks
@pytest.mark.parametrize(
    ("learner", "hooks"), [(LEARNERS[0], {}), (LEARNERS[0], {"step": plain_step}), (LEARNERS[1], {})]
)
def test_training_starts_with_the_weights_of_given_networks(learner, task, hooks):
    sample, test = sample_and_test(task)
    sample = replace(sample, recipe=RECIPE.model_copy(update={"weight_decay": 0.0, "standardise": None}))
    given, before = twice(learner, sample, test)
    still = replace(learner, lr=SMALLEST)
    other = sample.of(sample.rows, 5)  # would begin with other weights
    _, after = twice(still, other, test, start=given.parts, **hooks)
    np.testing.assert_allclose(after, before, atol=1e-5)
    assert np.abs(twice(still, other, test, **hooks)[1] - before).max() > 0.01
    np.testing.assert_array_equal(given.each(test), before, err_msg="the networks themselves stay as they were")


@of_tasks
def test_each_new_module_is_adapted(task):
    sample, test = sample_and_test(task)
    given = []

    def adapt(module: nn.Module) -> nn.Module:
        given.append(module)
        for name, part in [*module.named_children()]:
            if isinstance(part, nn.ReLU):
                setattr(module, name, nn.Identity())
        return module

    networks, values = twice(MLP(hidden=16), sample, test, adapt=adapt)
    assert len(given) == 2
    for m, part in enumerate(networks.parts):
        with torch.no_grad():
            outputs = [part.module(torch.from_numpy(x)) for x in (test.x, 0 * test.x, 2 * test.x)]
        torch.testing.assert_close(outputs[2] - outputs[1], 2 * (outputs[0] - outputs[1]))  # linear
        unit = networks.units[m] if networks.units else None
        expected = outputs[0].softmax(-1) if unit is None else outputs[0] * unit.deviation + unit.mean
        np.testing.assert_allclose(values[m], expected.numpy(), atol=1e-5)


def test_settings_of_a_learner_take_the_place_of_those_of_the_dataset():
    sample, test = sample_and_test("classification")
    changed = replace(sample, recipe=RECIPE.model_copy(update={"epochs": 2, "lr": 3e-3}))
    by_learner, by_dataset = (learner.fit(of) for learner, of in ((MLP(epochs=2, lr=3e-3), sample), (MLP(), changed)))
    np.testing.assert_array_equal(by_learner.predict(test), by_dataset.predict(test))
    assert MLP(dropout=0.5).settings(sample) == sample.recipe
    assert np.abs(MLP(dropout=0.5).fit(sample).predict(test) - MLP().fit(sample).predict(test)).max() > 0.01


@of_tasks
def test_soft_labels_are_learned_through_modules_as_by_the_fast_implementation(task):
    sample, test = sample_and_test(task)
    learner = MLP(hidden=16)
    soft = sample.towards(sample.labels.mean(axis=0, keepdims=True), 0.7)
    start = learner.fit(sample).parts
    rows = sample.rows[None]
    fast, slow = (learner.train(soft, rows, start=start, **hooks).predict(test) for hooks in ({}, {"step": plain_step}))
    np.testing.assert_allclose(slow, fast, atol=ROUNDING)
    assert np.abs(fast - learner.train(sample, rows, start=start).predict(test)).max() > 5 * ROUNDING
