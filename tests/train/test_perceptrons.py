"""A perceptron begins as those of PyTorch and takes their steps, whatever the kind of its inputs."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from benchmark.train.ensemble import Key
from benchmark.train.networks import Dropout, Inputs, Perceptron
from benchmark.train.perceptrons import Perceptrons
from benchmark.types import Recipe

RECIPE = Recipe(hidden=32, lr=1e-2, weight_decay=0.1)
KEYS = [(1, 0), (1, 1), (2, 0)]


def bits(share: float) -> np.ndarray:
    x = (np.random.default_rng(0).random((40, 100)) < share).astype(np.float32)
    x[0] = 0  # a molecule without a bit
    x[:, 3] = 0  # a bit that no molecule has
    return x


def batches(m: int) -> list[Tensor]:
    draw = np.random.default_rng(1)
    rows = np.stack([draw.permutation(draw.choice(40, 20)) for _ in range(m)])
    return list(torch.from_numpy(rows).split(8, 1))


def initial(keys: Sequence[Key], n_outputs: int, dropout: float = 0.0) -> list[Perceptron]:
    return [Perceptron(key, 100, RECIPE.hidden, n_outputs, dropout) for key in keys]


def gradients(epoch: int, step: int, shape: torch.Size) -> Tensor:
    draws = [torch.Generator().manual_seed(100 * epoch + 10 * step + i) for i in range(shape[0])]
    return torch.stack([torch.randn(shape[1:], generator=draw) for draw in draws])


def trained(networks: Perceptrons, m: int, epochs: int = 2, limit: float = 1.0) -> list[list[Tensor]]:
    for epoch in range(epochs):
        for step, outputs in enumerate(networks.epoch(batches(m))):
            networks.step(gradients(epoch, step, outputs.shape), limit)
    return [network.state for network in networks.trained(networks.state)]


def trained_by_pytorch(network: Perceptron, m: int, x: np.ndarray, limit: float) -> list[Tensor]:
    """Return the parameters of the m-th of three networks, trained alone by PyTorch."""
    parameters = [parameter.clone().requires_grad_() for parameter in network.state]
    optimiser = torch.optim.AdamW(parameters, lr=RECIPE.lr, weight_decay=RECIPE.weight_decay)
    noise = Dropout(KEYS[m], network.dropout, "dropout")
    for epoch in range(2):
        for step, rows in enumerate(batches(3)):
            first = torch.tensor(x, dtype=torch.float32)[rows[m]][None] @ parameters[0]
            outputs = network.with_state(parameters).after(first, noise.masks(len(rows[m]), RECIPE.hidden))
            outputs.backward(gradients(epoch, step, torch.Size([3, *outputs.shape[1:]]))[m : m + 1])
            torch.nn.utils.clip_grad_norm_(parameters, limit)
            optimiser.step()
            optimiser.zero_grad()
    return parameters


@pytest.mark.parametrize("limit", [1e6, 0.1])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("x", [bits(0.05), bits(0.5), bits(0.05) - 0.1], ids=["bits", "dense bits", "numbers"])
def test_networks_are_those_that_pytorch_trains_alone(x, dropout, limit):
    ours = trained(Perceptrons(initial(KEYS, 3, dropout), Inputs(x), RECIPE), 3, limit=limit)
    for m, network in enumerate(initial(KEYS, 3, dropout)):
        theirs = [parameter.detach() for parameter in trained_by_pytorch(network, m, x, limit)]
        torch.testing.assert_close(ours[m], theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_a_network_is_the_same_to_the_bit_alone_and_with_others(share):
    inputs = Inputs(bits(share))
    together = trained(Perceptrons(initial(KEYS, 2, 0.2), inputs, RECIPE), 3)
    alone = Perceptrons(initial(KEYS[:1], 2, 0.2), inputs, RECIPE)
    for one, first, second in zip(trained(alone, 1)[0], *together[:2], strict=True):
        assert torch.equal(one, first)
        assert not torch.equal(first, second)


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
