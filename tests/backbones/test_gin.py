"""The graph network computes its published equations, atom by atom."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from rdkit import Chem

from benchmark.backbones import gin
from benchmark.backbones._smiles import smiles_bytes
from benchmark.train.backbone import find
from benchmark.types import Recipe

MOLECULES = ["C", "CC(=O)Oc1ccccc1C(=O)O", "[Na+].[Cl-]", "FC(F)(F)c1ccncc1", "C1CC2CCC1C2", "CCO"]


@pytest.fixture(scope="module")
def network() -> gin.Network:
    pytest.importorskip("torch_geometric")
    torch.manual_seed(0)
    network = find("gin").module(Recipe(hidden=16), 2, 0.0).eval()
    for layer in network.layers:
        layer.eps.data.fill_(0.3)
    return network


def adjacency(smiles: str) -> torch.Tensor:
    return torch.tensor(Chem.GetAdjacencyMatrix(Chem.MolFromSmiles(smiles)), dtype=torch.float32)


@pytest.mark.parametrize("smiles", MOLECULES)
def test_neighbours_as_a_sparse_matrix_are_rdkits_adjacency(smiles):
    atoms, degrees, neighbours = gin.graph(smiles)
    dense = gin.rows_of_ones(degrees, neighbours, len(atoms)).to_dense()
    torch.testing.assert_close(dense, adjacency(smiles), rtol=0, atol=0)


def test_an_atoms_bits_are_its_element_degree_charge_hydrogens_and_aromaticity():
    names = [*["C", "N", "O", "S", "F", "Cl", "Br", "I", "P", "B", "Si", "Se", "Na", "K"]]
    names += [f"degree {n}" for n in range(6)] + [f"charge {n}" for n in (-1, 0, 1, 2)]
    names += [f"{n} hydrogens" for n in range(4)] + ["aromatic"]

    def bits(smiles: str) -> list[set[str]]:
        return [{name for name, bit in zip(names, row, strict=True) if bit} for row in gin.graph(smiles)[0]]

    assert bits("C[O-]") == [
        {"C", "degree 1", "charge 0", "3 hydrogens"},
        {"O", "degree 1", "charge -1", "0 hydrogens"},
    ]
    assert bits("c1ccsc1")[3] == {"S", "degree 2", "charge 0", "0 hydrogens", "aromatic"}
    assert bits("C")[0] == {"C", "degree 0", "charge 0"}  # four hydrogens have no bit
    assert bits("[Pt+4]")[0] == {"degree 0", "0 hydrogens"}


def test_a_layer_is_its_perceptron_of_the_atom_and_the_sum_of_its_neighbours(network):
    smiles = "CC(=O)Oc1ccccc1C(=O)O"
    _, degrees, neighbours = gin.graph(smiles)
    h = torch.randn(len(degrees), 16)
    layer = network.layers[0]
    with torch.no_grad():
        output = layer(h, gin.rows_of_ones(degrees, neighbours, len(degrees)))
        expected = layer.nn((1 + 0.3) * h + adjacency(smiles) @ h)
    torch.testing.assert_close(output, expected)


def test_outputs_of_a_batch_are_those_of_each_molecule_by_dense_matrices(network):
    with torch.no_grad():
        outputs = network(torch.tensor(smiles_bytes(MOLECULES)))
        for smiles, output in zip(MOLECULES, outputs, strict=True):
            a, h = adjacency(smiles), network.atoms(torch.tensor(gin.graph(smiles)[0]))
            for layer, norm in zip(network.layers, network.norms, strict=True):
                h = norm(h + torch.relu(layer.nn(1.3 * h + a @ h)))
            torch.testing.assert_close(output, network.head(h.mean(0)))


def test_dropout_is_after_each_layer(network):
    dropped = find("gin").module(Recipe(hidden=16), 2, 0.5)
    dropped.load_state_dict(network.state_dict())
    seen = []
    dropped.dropout.register_forward_hook(lambda _, __, output: seen.append((output == 0).float().mean().item()))
    dropped.train()(torch.tensor(smiles_bytes(MOLECULES)))
    assert len(seen) == gin.LAYERS
    np.testing.assert_allclose(seen, 0.5, atol=0.1)
