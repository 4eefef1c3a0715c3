"""The disagreement of two networks at its extremes; ``test_loop`` compares it with PyTorch's."""

import pytest
import torch

from benchmark.train.losses import disagreement


def test_certain_and_opposite_outputs_disagree_by_a_finite_amount_with_a_finite_gradient():
    a = torch.tensor([[1000.0, -1000.0]], requires_grad=True)
    value = disagreement("classification", a, -a.detach())
    value.backward()
    assert value.item() == pytest.approx(2000)
    assert torch.isfinite(a.grad).all()
