"""Perceptrons, and their dropout masks."""

import pytest
import torch
from torch import nn

from benchmark.train.networks import Dropout, Perceptron


def test_initial_weights_are_spread_as_those_of_a_pytorch_layer_and_depend_on_the_key():
    torch.manual_seed(0)
    network = Perceptron((1, 0), n_inputs=400, hidden=256, n_outputs=2)
    for (rows, columns), ours in zip([(400, 256), (256, 256), (256, 2)], network.state[::2], strict=True):
        theirs = nn.Linear(rows, columns).weight
        assert ours.abs().max() <= rows**-0.5
        assert ours.abs().max().item() == pytest.approx(theirs.abs().max().item(), rel=0.02)
        assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.1)
    for key in [(1, 1), (2, 0)]:
        assert not torch.equal(Perceptron(key, 400, 256, 2).state[0], network.state[0])


def test_masks_drop_a_share_p_of_the_units_and_scale_up_the_others():
    masks = Dropout((1, 0), 0.2, "dropout").masks(rows=200, hidden=64)
    assert [mask.shape for mask in masks] == [(200, 64)] * 2
    for mask in masks:
        assert mask.unique().tolist() == pytest.approx([0, 1.25])
        assert (mask == 0).float().mean().item() == pytest.approx(0.2, abs=0.015)
    assert Dropout((1, 0), 0.0, "dropout").masks(8, 16) == []
