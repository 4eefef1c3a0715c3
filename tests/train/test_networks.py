"""The initial weights of perceptrons."""

import pytest
import torch
from torch import nn

from benchmark.train.networks import Perceptron


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
