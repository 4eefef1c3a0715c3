"""Networks with a leading model axis, and their dropout masks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from benchmark.train.networks import Dropout, Inputs, StackedMLP

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


def test_the_masks_of_a_network_do_not_depend_on_what_shares_its_stack():
    together, alone = Dropout(KEYS, 0.5, "dropout"), Dropout(KEYS[2:3], 0.5, "dropout")
    for _ in range(2):
        for mask, own in zip(together.masks(8, 16), alone.masks(8, 16), strict=True):
            assert torch.equal(mask[2], own[0])


def test_without_dropout_there_is_no_mask():
    assert Dropout(KEYS, 0.0, "dropout").masks(8, 16) == []


def bits(n: int, width: int, share: float) -> np.ndarray:
    x = (np.random.default_rng(0).random((n, width)) < share).astype(np.float32)
    x[0] = x[-1] = 0  # molecules without a bit, including the last
    x[:, 3] = x[:, -1] = 0  # bits that no molecule has
    return x


@pytest.mark.parametrize("share", [0.003, 0.03])
def test_sums_of_rows_are_the_product_with_sparse_bits_and_so_is_the_gradient(share):
    inputs = Inputs(bits(40, 100, share))
    assert inputs.ones is not None
    rows = torch.tensor([[0, 5, 5, 39], [7, 0, 39, 1], [39, 39, 0, 0]])
    weight = torch.randn(3, len(inputs.live), 16, generator=torch.Generator().manual_seed(1), requires_grad=True)
    slope = torch.randn(3, 4, 16, generator=torch.Generator().manual_seed(2))
    product = inputs.product(rows)(weight)
    product.backward(slope)
    ours, weight.grad = weight.grad, None
    dense = torch.bmm(inputs.x[rows], weight)
    dense.backward(slope)
    torch.testing.assert_close(product, dense)
    torch.testing.assert_close(ours, weight.grad)


@pytest.mark.parametrize(
    "x", [bits(40, 100, 0.5), bits(40, 100, 0.03) * 2, bits(40, 100, 0.03) - 0.1, bits(40, 100, 0)]
)
def test_dense_or_other_numbers_are_multiplied_as_they_are(x):
    inputs = Inputs(x)
    assert inputs.ones is None
    rows = torch.tensor([[0, 5], [7, 39]])
    weight = torch.randn(2, 100, 16, generator=torch.Generator().manual_seed(1))
    product = inputs.product(rows)(weight[:, inputs.live])
    torch.testing.assert_close(product, torch.tensor(x)[rows] @ weight)


def test_a_sum_of_rows_does_not_depend_on_what_shares_the_stack():
    inputs = Inputs(bits(200, 300, 0.05))
    rows = torch.randint(200, (5, 64), generator=torch.Generator().manual_seed(0))
    weight = torch.randn(5, len(inputs.live), 32, generator=torch.Generator().manual_seed(1))
    together = inputs.product(rows)(weight)
    for m in range(5):
        assert torch.equal(inputs.product(rows[m : m + 1])(weight[m : m + 1])[0], together[m])
