"""Losses equal those of PyTorch and SciPy."""

from __future__ import annotations

import pytest
import torch
from scipy.special import rel_entr, softmax
from torch.nn import functional

from benchmark.train.losses import disagreement, fit_loss

DRAW = torch.Generator().manual_seed(0)
A, B = (3 * torch.randn(2, 3, 17, 4, generator=DRAW, dtype=torch.float64) for _ in range(2))  # (S, K, B, C)
CLASSES = torch.randint(4, (2, 3, 17), generator=DRAW)
TARGETS = torch.randn(2, 3, 17, generator=DRAW, dtype=torch.float64)
NETWORKS = [(s, k) for s in range(2) for k in range(3)]


def test_the_loss_of_a_classification_is_each_networks_cross_entropy():
    losses = fit_loss("classification", A, CLASSES)
    assert losses.shape == (2, 3)
    for n in NETWORKS:
        torch.testing.assert_close(losses[n], functional.cross_entropy(A[n], CLASSES[n]))


def test_the_loss_of_a_regression_is_each_networks_mean_squared_error():
    losses = fit_loss("regression", A[..., :1], TARGETS)
    assert losses.shape == (2, 3)
    for n in NETWORKS:
        torch.testing.assert_close(losses[n], functional.mse_loss(A[n][:, 0], TARGETS[n]))


def test_the_disagreement_of_a_classification_is_half_the_sum_of_both_kl_divergences():
    values = disagreement("classification", A, B)
    assert values.shape == (2, 3)
    for n in NETWORKS:
        p, q = softmax(A[n].numpy(), axis=-1), softmax(B[n].numpy(), axis=-1)
        both = rel_entr(p, q).sum(axis=-1) + rel_entr(q, p).sum(axis=-1)
        assert values[n].item() == pytest.approx(0.5 * both.mean())


def test_the_disagreement_of_a_regression_is_the_mean_squared_difference():
    values = disagreement("regression", A[..., :1], B[..., :1])
    assert values.shape == (2, 3)
    for n in NETWORKS:
        torch.testing.assert_close(values[n], functional.mse_loss(A[n][:, :1], B[n][:, :1]))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_disagreement_is_symmetric_and_zero_between_equals(task):
    torch.testing.assert_close(disagreement(task, A, B), disagreement(task, B, A))
    assert disagreement(task, A, A).abs().max() == 0
    assert disagreement(task, A, B).min() > 0


def test_certain_and_opposite_outputs_disagree_by_a_finite_amount_with_a_finite_gradient():
    a = torch.tensor([[1000.0, -1000.0]], requires_grad=True)
    value = disagreement("classification", a, -a.detach())
    value.backward()
    assert value.item() == pytest.approx(2000)
    assert torch.isfinite(a.grad).all()
