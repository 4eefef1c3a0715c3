"""Coupled networks are trained as by a plain loop with the loss terms written out by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.train import Step, bootstrap
from benchmark.train.ensemble import TargetScaler
from benchmark.train.learner import NetworkLearner
from benchmark.types import TASKS
from tests.plain import apart, between_twins, by_loop, predicted, problem_of, sample_of, trained


@pytest.mark.parametrize("task", TASKS)
def test_an_anchored_network_is_pulled_to_the_erm_of_seed_0_on_its_own_batch(task):
    problem = problem_of(task)
    (incumbent,) = trained(problem, 0, bootstrap(sample_of(problem, 0)))

    def pull(outputs: list[list[Tensor]], batches: list[np.ndarray]) -> Tensor:
        target = incumbent(torch.tensor(problem.train.x[batches[0]])).detach()
        return 7 * apart(task, outputs[0][0], target)

    np.testing.assert_allclose(predicted(problem, "anchor:lam=7"), by_loop(problem, pull=pull), atol=1e-4)


def test_the_incumbent_is_not_anchored_to_itself():
    with pytest.raises(UserError, match="anchor: train seed 0 is the incumbent's"):
        make_method("anchor", "classification").fit(sample_of(problem_of("classification"), 0))


@pytest.mark.parametrize("task", TASKS)
def test_gradnorm_weighs_the_pull_by_norms_of_gradients_that_are_written_out_by_hand(task):
    problem = problem_of(task)

    def fit_gradient(own: Tensor, y: Tensor) -> Tensor:
        if task == "regression":
            return 2 * (own - y[:, None]) / len(y)
        return (own.softmax(-1) - nn.functional.one_hot(y, 2)) / len(y)

    def gradient_towards(a: Tensor, b: Tensor) -> Tensor:
        """Return the gradient of ``apart`` with respect to ``a``."""
        if task == "regression":
            return 2 * (a - b) / len(a)
        p, q, log = a.softmax(-1), b.softmax(-1), a.log_softmax(-1) - b.log_softmax(-1)
        return (p * (log - (p * log).sum(-1, keepdim=True)) + p - q) / 2 / len(a)

    def pull(outputs: list[list[Tensor]], batches: list[np.ndarray]) -> Tensor:
        (aa, ab), (ba, bb) = [[batch.detach() for batch in network] for network in outputs]
        ys = [torch.tensor(problem.train.y[batch]) for batch in batches]
        fit = torch.cat([fit_gradient(aa, ys[0]), fit_gradient(bb, ys[1])]).norm()
        pairs = [(aa, ba), (ba, aa), (ab, bb), (bb, ab)]
        between = torch.cat([gradient_towards(one, other) / 2 for one, other in pairs]).norm()
        return 3 * fit / between * between_twins(task, outputs)

    wanted = by_loop(problem, lambda sample: bootstrap(sample, 2), pull)
    np.testing.assert_allclose(predicted(problem, "gradnorm:ratio=3"), wanted, atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("apart_by", [0.0, 1e-30, 1e-3, 1.0])
def test_gradnorm_pulls_as_strongly_as_the_fit_and_nowhere_where_the_networks_agree(task, apart_by, monkeypatch):
    problem = problem_of(task)
    monkeypatch.setattr(NetworkLearner, "train", lambda self, sample, rows, loss: loss)
    method = make_method("gradnorm", task)
    loss = method.remedy.fit(sample_of(problem, 1), method.learner)
    one = torch.randn(1, 2, 5, problem.n_outputs, generator=torch.Generator().manual_seed(0)) * apart_by
    outputs = torch.cat([one, -one]).requires_grad_()  # (K, K, B, C)
    fit = outputs.diagonal(dim1=0, dim2=1).sum(dim=(0, 1))
    rows, targets = torch.zeros(2, 5, dtype=torch.int64), torch.zeros(2, 5)
    (loss(Step(outputs, rows, targets, fit, TargetScaler())) - fit.sum()).backward()
    assert outputs.grad is not None
    assert outputs.grad.isfinite().all()
    expected_norm = 0.0 if apart_by < 1e-20 else (2 * 5 * problem.n_outputs) ** 0.5  # the fit loss's
    assert outputs.grad.norm().item() == pytest.approx(expected_norm, rel=1e-3)
