"""Networks with a leading model axis, and their dropout masks."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchmark.train.networks import Dropout, StackedMLP

KEYS = [(1, 0), (1, 1), (2, 0), (7, 3)]


def layers(network: StackedMLP, m: int) -> nn.Sequential:
    """Return the m-th network as three PyTorch layers."""
    parameters = [parameter[m, :, :].T for parameter in network.parameters]
    modules: list[nn.Module] = []
    for weight, bias, rows in zip(parameters[::2], parameters[1::2], (32, 32, network.n_outputs), strict=True):
        linear = nn.Linear(weight.shape[1], rows)
        linear.load_state_dict({"weight": weight[:rows], "bias": bias[:rows, 0]})
        modules += [linear, nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def test_each_network_of_a_stack_is_a_perceptron_with_two_hidden_layers():
    network = StackedMLP(KEYS, n_inputs=20, hidden=32, n_outputs=3)
    x = torch.randn(4, 9, 20, generator=torch.Generator().manual_seed(0))
    first = torch.bmm(x, network.parameters[0])
    outputs = network.after(first)
    assert outputs.shape == (4, 9, 3)
    for m in range(4):
        torch.testing.assert_close(outputs[m], layers(network, m)(x[m]))
        torch.testing.assert_close(network.select(m).after(first[m : m + 1])[0], outputs[m])


def test_initial_weights_are_spread_as_those_of_a_pytorch_layer():
    torch.manual_seed(0)
    network = StackedMLP([(1, 0)], n_inputs=400, hidden=256, n_outputs=2)
    for (rows, columns), weight in zip([(400, 256), (256, 256), (256, 2)], network.parameters[::2], strict=True):
        ours, theirs = weight[0, :, :columns], nn.Linear(rows, columns).weight
        assert ours.abs().max() <= rows**-0.5
        assert ours.abs().max().item() == pytest.approx(theirs.abs().max().item(), rel=0.02)
        assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.1)


def test_initial_weights_depend_on_the_key_alone():
    together = StackedMLP(KEYS, 20, 32, 3)
    for m, key in enumerate(KEYS):
        alone = StackedMLP([key], 20, 32, 3)
        assert all(map(torch.equal, alone.parameters, together.select(m).parameters))
    first, second = (together.select(m).parameters[0] for m in (0, 1))
    assert not torch.equal(first, second)


def test_masks_drop_a_share_p_of_the_units_and_scale_up_the_others():
    masks = Dropout(KEYS, 0.2, "dropout").masks(rows=200, hidden=64)
    assert [mask.shape for mask in masks] == [(4, 200, 64)] * 2
    for mask in masks:
        assert mask.unique().tolist() == pytest.approx([0, 1.25])
        assert (mask == 0).float().mean(dim=(1, 2)).tolist() == pytest.approx([0.2] * 4, abs=0.015)


def test_masks_are_fresh_at_each_call_and_in_each_layer_and_network():
    noise = Dropout(KEYS, 0.5, "dropout")
    masks = [mask for _ in range(3) for both in noise.masks(rows=8, hidden=16) for mask in both]
    assert len({tuple(mask.flatten().tolist()) for mask in masks}) == 3 * 2 * 4


def test_the_masks_of_a_network_do_not_depend_on_what_else_is_trained():
    together, alone = Dropout(KEYS, 0.5, "dropout"), Dropout(KEYS[2:3], 0.5, "dropout")
    for _ in range(2):
        for mask, own in zip(together.masks(8, 16), alone.masks(8, 16), strict=True):
            assert torch.equal(mask[2], own[0])


def test_without_dropout_there_is_no_mask():
    assert Dropout(KEYS, 0.0, "dropout").masks(8, 16) == []
