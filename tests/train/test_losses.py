"""The disagreement of two networks equals what PyTorch and SciPy compute."""

import pytest
import torch
from scipy.special import rel_entr, softmax
from torch.nn import functional

from benchmark.train.losses import disagreement

DRAW = torch.Generator().manual_seed(0)
A, B = (3 * torch.randn(2, 3, 17, 4, generator=DRAW, dtype=torch.float64) for _ in range(2))  # (S, K, B, C)
NETWORKS = [(s, k) for s in range(2) for k in range(3)]


def both_divergences(a: torch.Tensor, b: torch.Tensor) -> float:
    p, q = softmax(a.numpy(), axis=-1), softmax(b.numpy(), axis=-1)
    return float((rel_entr(p, q).sum(axis=-1) + rel_entr(q, p).sum(axis=-1)).mean())


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_disagreement_is_half_the_sum_of_both_kl_divergences_or_the_mean_squared_difference(task):
    a, b = (A, B) if task == "classification" else (A[..., :1], B[..., :1])
    values = disagreement(task, a, b)
    assert values.shape == (2, 3)
    for n in NETWORKS:
        known = both_divergences(a[n], b[n]) / 2 if task == "classification" else functional.mse_loss(a[n], b[n]).item()
        assert values[n].item() == pytest.approx(known)


def test_certain_and_opposite_outputs_disagree_by_a_finite_amount_with_a_finite_gradient():
    a = torch.tensor([[1000.0, -1000.0]], requires_grad=True)
    value = disagreement("classification", a, -a.detach())
    value.backward()
    assert value.item() == pytest.approx(2000)
    assert torch.isfinite(a.grad).all()
