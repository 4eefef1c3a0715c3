"""The graph network computes its published equations, atom by atom, whatever is merged."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
import torch
from rdkit import Chem
from torch import Tensor
from torch.nn.functional import layer_norm

from benchmark.learners import _gin
from benchmark.learners.gin import GIN
from benchmark.train.adamw import LANES
from benchmark.train.device import CPU
from benchmark.train.ensemble import Training
from benchmark.train.networks import Dropout
from benchmark.types import Recipe

# The last two are copies; platinum sets no bit of an element, and sodium chloride has no bond.
MOLECULES = ["C", "CC(=O)Oc1ccccc1C(=O)O", "[Na+].[Cl-]", "FC(F)(F)c1ccncc1", "C1CC2CCC1C2", "[Pt+4]", "CCO", "CCO"]
KEYS = [(1, 0), (1, 1), (2, 0), (7, 3)]


def networks(keys: Sequence[tuple[int, int]] = KEYS, dropout: float = 0.0) -> _gin.Networks:
    """New networks on MOLECULES, with an ε that differs between layers."""
    learner, recipe = GIN(dropout=dropout), Recipe(hidden=32, batch_size=3)
    made = learner.networks(keys, learner.prepared(np.array(MOLECULES), CPU), recipe, 2, CPU, Training())
    assert isinstance(made, _gin.Networks)
    for weights in map(made.layout.parts, made.state):
        weights.eps.copy_(torch.tensor([0.3, -0.2, 0.1]))
    return made


def outputs_of(made: _gin.Networks, rows: Sequence[Sequence[int]]) -> Tensor:
    return next(iter(made.epoch([torch.tensor(rows)])))


def adjacency(smiles: str) -> Tensor:
    return torch.tensor(Chem.GetAdjacencyMatrix(Chem.MolFromSmiles(smiles)), dtype=torch.float32)


def dense(w: _gin.Weights, molecules: Sequence[str], masks: Sequence[Tensor] = ()) -> Tensor:
    """The outputs by one block-diagonal matrix of bonds and PyTorch's own gradients."""
    bonds = torch.block_diag(*map(adjacency, molecules))
    h = torch.tensor(np.concatenate([_gin.graph(smiles)[0] for smiles in molecules])) @ w.atoms + w.bias
    for layer in range(_gin.LAYERS):
        (first, second), (b1, b2, gain, shift) = w.perceptrons[layer], w.vectors[layer]
        seen = (1 + w.eps[layer]) * h + bonds @ h
        h = layer_norm(h + torch.relu(torch.relu(seen @ first + b1) @ second + b2), h.shape[1:], gain, shift)
        h = h * masks[layer] if masks else h
    sizes = [len(adjacency(smiles)) for smiles in molecules]
    return torch.stack([atoms.mean(0) for atoms in h.split(sizes)]) @ w.head + w.head_bias


def test_an_atoms_bits_are_its_element_degree_charge_hydrogens_and_aromaticity():
    names = [*["C", "N", "O", "S", "F", "Cl", "Br", "I", "P", "B", "Si", "Se", "Na", "K"]]
    names += [f"degree {n}" for n in range(6)] + [f"charge {n}" for n in (-1, 0, 1, 2)]
    names += [f"{n} hydrogens" for n in range(4)] + ["aromatic"]

    def bits(smiles: str) -> list[set[str]]:
        return [{name for name, bit in zip(names, row, strict=True) if bit} for row in _gin.graph(smiles)[0]]

    assert bits("C[O-]") == [
        {"C", "degree 1", "charge 0", "3 hydrogens"},
        {"O", "degree 1", "charge -1", "0 hydrogens"},
    ]
    assert bits("c1ccsc1")[3] == {"S", "degree 2", "charge 0", "0 hydrogens", "aromatic"}
    assert bits("C")[0] == {"C", "degree 0", "charge 0"}  # four hydrogens have no bit
    assert bits("[Pt+4]")[0] == {"degree 0", "0 hydrogens"}


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_outputs_and_gradients_are_those_of_dense_matrices_and_autograd(dropout):
    made = networks(dropout=dropout)
    rows = torch.tensor([[0, 1, 2, 3], [7, 5, 6, 1], [4, 4, 4, 4], [5, 0, 2, 5]])  # of different sizes
    before = [vector.clone() for vector in made.state]
    outputs = outputs_of(made, rows.tolist())
    slopes = torch.randn(outputs.shape, generator=torch.Generator().manual_seed(0))
    made.step(slopes, float("inf"))
    noise = [Dropout(key, dropout, "dropout").generator for key in KEYS]
    for m, molecules in enumerate([[MOLECULES[i] for i in row] for row in rows]):
        vector = before[m].requires_grad_()
        shape = (sum(len(adjacency(smiles)) for smiles in molecules), 32)
        masks = [torch.empty(shape).bernoulli_(1 - dropout, generator=noise[m]) / (1 - dropout) for _ in range(3)]
        expected = dense(made.layout.parts(vector), molecules, masks)
        expected.backward(slopes[m])
        torch.testing.assert_close(outputs[m], expected)
        torch.testing.assert_close(made.gradients[m], vector.grad, rtol=1e-4, atol=1e-5)


def test_predictions_are_those_of_dense_matrices():
    made = networks()
    trained = made.trained(made.state)
    assert trained[0].batch_size == 3  # of eight molecules: the last batch is a partial one
    for network in trained:
        (outputs,) = network.passes(np.array(MOLECULES), 1)
        torch.testing.assert_close(outputs, dense(made.layout.parts(network.vector), MOLECULES))


@pytest.mark.parametrize(
    ("molecules", "rows"),
    [
        (["c1ccccc1"], [1, 1, 1, 1]),
        (["CCCCC", "CCCCC"], [2, 3, 3, 3]),  # a neighbour tells the middle atom from the two beside it
    ],
)
def test_each_distinct_environment_of_a_batch_is_one_row(molecules, rows):
    batch = _gin.Molecules(molecules).batch(np.arange(len(molecules)), True, torch.device("cpu"))
    assert [len(batch.atoms), *(len(step.own) for step in batch.steps)] == rows


def test_with_dropout_all_atoms_have_rows_of_their_own_even_in_copies_of_a_molecule():
    batch = _gin.Molecules(MOLECULES).batch(np.array([6, 6, 7]), False, torch.device("cpu"))
    assert [len(step.own) for step in batch.steps] == [9, 9, 9]
    made = networks(KEYS[:1], dropout=0.5)
    copies = outputs_of(made, [[6, 6, 7]])[0]
    assert len({tuple(output.tolist()) for output in copies}) == 3


def test_outputs_do_not_depend_on_molecules_outside_the_batch_to_the_bit():
    made = networks(KEYS[:1])
    some = networks(KEYS[:1])
    some.inputs = _gin.Molecules(MOLECULES[3:])
    assert torch.equal(outputs_of(made, [[4, 3, 6, 7]]), outputs_of(some, [[1, 0, 3, 4]]))


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_a_network_is_the_same_to_the_bit_alone_with_others_and_in_another_order(dropout):
    rows = torch.tensor([[0, 1, 2, 3], [7, 5, 6, 1], [4, 4, 4, 4], [5, 0, 2, 5]])

    def trained(places: list[int]) -> list[Tensor]:
        made = networks([KEYS[m] for m in places], dropout)
        for outputs in made.epoch([rows[places]] * 3):
            made.step(2 * outputs, 1.0)
        return made.state

    together = trained([0, 1, 2, 3])
    for places in ([2], [3, 0], [1, 2, 3]):
        assert all(map(torch.equal, trained(places), [together[m] for m in places]))
    assert all(not torch.equal(a, b) for a, b in pairwise(together))


def test_initial_weights_are_those_of_pytorchs_layers_and_depend_on_the_key_alone():
    layout = _gin.Layout(128, 2)
    vector = layout.initial((1, 0))
    assert len(vector) % LANES == 0
    assert torch.equal(vector, layout.initial((1, 0)))
    assert not torch.equal(vector, layout.initial((1, 1)))
    weights = layout.parts(vector)
    assert weights.eps.tolist() == [0, 0, 0]
    for gain, shift in weights.vectors[:, 2:]:
        assert (gain == 1).all()
        assert (shift == 0).all()
    for part, rows in ((weights.atoms, 29), (weights.bias, 29), (weights.perceptrons, 128), (weights.head, 128)):
        assert part.abs().max() <= rows**-0.5
        assert part.std().item() == pytest.approx((3 * rows) ** -0.5, rel=0.15)
    matrices = weights.perceptrons.flatten(0, 1)
    assert len({matrix.numpy().tobytes() for matrix in matrices}) == 6
