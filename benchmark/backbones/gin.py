"""Graph isomorphism network on atoms and bonds (Xu et al. 2019, arXiv:1810.00826; paper, appendix on GIN)."""

import warnings
from functools import lru_cache

import numpy as np
import torch
from rdkit import Chem
from torch import Tensor, nn

from benchmark.backbones._smiles import smiles_of
from benchmark.train.backbone import Backbone
from benchmark.types import Recipe

LAYERS = 3
CHOICES: tuple[tuple[object, ...], ...] = (
    ("C", "N", "O", "S", "F", "Cl", "Br", "I", "P", "B", "Si", "Se", "Na", "K"),
    (0, 1, 2, 3, 4, 5),
    (-1, 0, 1, 2),
    (0, 1, 2, 3),
    (True,),
)
"""One-hot features of an atom: element, degree, formal charge, hydrogens, aromatic. Other values set no bit."""


class GIN(Backbone):
    reads = "smiles"
    recipe = Recipe(hidden=128, batch_size=32, epochs=50)
    extra = "graph"
    library = "torch-geometric"

    def module(self, recipe: Recipe, n_outputs: int, dropout: float) -> nn.Module:
        return Network(recipe.hidden, n_outputs, dropout)


@lru_cache(maxsize=100_000)
def graph(smiles: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return atom features (A, F) float32, degrees (A,), and the neighbours of all atoms (sum of degrees,)."""
    atoms = Chem.MolFromSmiles(smiles).GetAtoms()
    values = [(a.GetSymbol(), a.GetDegree(), a.GetFormalCharge(), a.GetTotalNumHs(), a.GetIsAromatic()) for a in atoms]
    bits = [[v == choice for v, choices in zip(atom, CHOICES, strict=True) for choice in choices] for atom in values]
    beside = [sorted(neighbour.GetIdx() for neighbour in atom.GetNeighbors()) for atom in atoms]
    degrees, neighbours = [len(row) for row in beside], [i for row in beside for i in row]
    return np.array(bits, dtype=np.float32), np.array(degrees), np.array(neighbours, dtype=np.int64)


def rows_of_ones(counts: np.ndarray, columns: np.ndarray, width: int) -> Tensor:
    """Return a sparse matrix (R, width) of ones: ``counts`` (R,) of each row, in the given ``columns``."""
    starts = torch.from_numpy(np.concatenate([[0], np.cumsum(counts)]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            starts, torch.from_numpy(columns), torch.ones(len(columns)), (len(counts), width), check_invariants=False
        )


class Network(nn.Module):
    """From bytes of SMILES (B, D) to outputs (B, C): layers with ReLU, residual and layer norm; mean over atoms."""

    def __init__(self, hidden: int, n_outputs: int, dropout: float) -> None:
        from torch_geometric.nn import GINConv

        super().__init__()
        self.atoms = nn.Linear(sum(map(len, CHOICES)), hidden)
        self.layers = nn.ModuleList(
            GINConv(nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, hidden)), train_eps=True)
            for _ in range(LAYERS)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(LAYERS))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(hidden, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        atoms, degrees, neighbours = zip(*map(graph, smiles_of(x.cpu().numpy())), strict=True)
        sizes = np.array([len(molecule) for molecule in degrees])
        shifted = [indices + start for indices, start in zip(neighbours, np.cumsum(sizes) - sizes, strict=True)]
        n = int(sizes.sum())
        bonds = rows_of_ones(np.concatenate(degrees), np.concatenate(shifted), n).to(x.device)
        molecules = rows_of_ones(sizes, np.arange(n), n).to(x.device)
        h = self.atoms(torch.from_numpy(np.concatenate(atoms)).to(x.device))
        for layer, norm in zip(self.layers, self.norms, strict=True):
            h = self.dropout(norm(h + torch.relu(layer(h, bonds))))
        return self.head(molecules @ h / torch.from_numpy(sizes).to(h)[:, None])
