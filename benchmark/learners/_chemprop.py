"""Chemprop's directed message passing network on bonds (Heid et al. 2024, doi:10.1021/acs.jcim.3c01250)."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np
import torch
from rdkit import Chem, rdBase
from torch import Tensor, nn

from benchmark.learners._graphs import Layers, Lists, Nodes, Sums, distinct, merged, refined

LAYERS = 2
"""Rounds of messages between bonds: chemprop's default depth of 3, which counts the first layer."""


@lru_cache(maxsize=100_000)
def graph(smiles: str) -> tuple[np.ndarray, ...]:
    """Return chemprop's graph of a molecule: features of atoms (A, V) and directed bonds (E, W), sources and targets.

    Bonds are in the order of their targets.
    """
    from chemprop.featurizers import SimpleMoleculeMolGraphFeaturizer

    made = SimpleMoleculeMolGraphFeaturizer()(Chem.MolFromSmiles(smiles))
    order = np.lexsort(made.edge_index)
    return made.V.astype(np.float32), made.E.astype(np.float32)[order], *made.edge_index[:, order]


class Batch(NamedTuple):
    """The bonds, with the features of their sources (R, V + W), features of distinct atoms (A, V), and sums over their
    bonds and over molecules."""

    bonds: Layers
    atoms: Tensor
    incoming: Sums
    molecules: Sums


class Molecules:
    """N molecules as one graph, from their SMILES (N,); ``molecules[rows]`` makes a batch of some of them."""

    def __init__(self, smiles: Iterable[str]) -> None:
        with rdBase.BlockLogs():  # suppress remarks on the hydrogens of molecules that are known to parse
            of_atoms, of_bonds, *ends = zip(*map(graph, smiles), strict=True)
        sizes = np.array([len(features) for features in of_atoms])
        self.atoms = Lists(sizes, np.arange(sizes.sum()))
        starts = np.repeat(self.atoms.starts, [len(features) for features in of_bonds])
        sources, targets = (np.concatenate(each) + starts for each in ends)
        self.features, self.types = distinct(np.concatenate(of_atoms))
        degrees = np.bincount(targets, minlength=len(self.types))
        self.incoming = Lists(degrees, np.arange(len(targets)))  # bonds are in the order of their targets
        into_source = self.incoming.at(sources)
        others = sources[into_source.values] != targets[into_source.owners]  # a bond receives all but its own reverse
        before = Lists(np.bincount(into_source.owners[others], minlength=len(sources)), into_source.values[others])
        features = np.column_stack([self.features[self.types[sources]], np.concatenate(of_bonds)])
        self.bonds = Nodes(np.array([len(bonds) for bonds in of_bonds]), features, before, LAYERS)

    def __getitem__(self, rows: Tensor | slice) -> Callable[[bool, torch.device], Batch]:
        return partial(self.batch, rows.cpu().numpy() if isinstance(rows, Tensor) else rows)

    @cached_property
    def environments(self) -> np.ndarray:
        """The colours of all atoms by their environments."""
        return refined(self.types, self.bonds.environments[-1], self.incoming)

    def batch(self, rows: np.ndarray | slice, merge: bool, device: torch.device) -> Batch:
        """Return the molecules of rows (B,); ``merge`` equal environments unless dropout tells them apart."""
        atoms, bonds = self.atoms.at(rows), self.bonds.batch(rows, merge, device)
        kept, of_atom = merged(self.environments[atoms.values]) if merge else [np.arange(len(atoms.values))] * 2
        into = Lists(self.incoming.counts[atoms.values], bonds.rows).at(kept)
        features = torch.from_numpy(self.features[self.types[atoms.values[kept]]]).to(device)
        sums = Sums(into, bonds.width, device), Sums(Lists(atoms.counts, of_atom), len(kept), device)
        return Batch(bonds, features, *sums)


class Network(nn.Module):
    """From molecules, or their SMILES (B,), to outputs (B, C): messages, a scaled sum, a perceptron.

    Chemprop's own parts hold the weights. Its message passing is repeated here on distinct environments, and the
    product with its weights precedes the sum of messages, because there are fewer rows before it.
    """

    def __init__(self, hidden: int, n_outputs: int, dropout: float) -> None:
        from chemprop.nn import BondMessagePassing, NormAggregation
        from chemprop.nn.ffn import MLP

        super().__init__()
        self.messages = BondMessagePassing(d_h=hidden, depth=1 + LAYERS, dropout=dropout)
        self.aggregation = NormAggregation()
        self.head = MLP.build(hidden, n_outputs, hidden, dropout=dropout)

    def forward(self, x: Sequence[str] | Callable[[bool, torch.device], Batch]) -> Tensor:
        own, make = self.messages, x if callable(x) else Molecules(x)[:]
        batch = make(not (own.dropout.training and own.dropout.p), own.W_h.weight.device)
        first = own.W_i(batch.bonds.features)
        h = own.tau(first)
        for step in batch.bonds.steps:
            first = first.index_select(0, step.own)
            h = own.dropout(own.tau(first + step.received(own.W_h(h))))
        h = own.finalize(batch.incoming(h), batch.atoms, None)
        return self.head(batch.molecules(h) / self.aggregation.norm)
