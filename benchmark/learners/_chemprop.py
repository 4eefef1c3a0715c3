"""Chemprop's directed message passing network on bonds (Heid et al. 2024, doi:10.1021/acs.jcim.3c01250)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import torch
from rdkit import Chem
from torch import Tensor, nn

from benchmark.learners._graphs import Lists, Sums, distinct, merged, refined

LAYERS = 2
"""Rounds of messages between bonds: chemprop's default depth of 3, which counts the first layer."""


class Graph(NamedTuple):
    """Features of atoms (A, V) and directed bonds (E, W), and the source and target (E,) of each bond."""

    atoms: np.ndarray
    bonds: np.ndarray
    sources: np.ndarray
    targets: np.ndarray


@lru_cache(maxsize=100_000)
def graph(smiles: str) -> Graph:
    """Return the graph that chemprop makes of a molecule, with bonds in the order of their targets."""
    from chemprop.featurizers import SimpleMoleculeMolGraphFeaturizer

    made = SimpleMoleculeMolGraphFeaturizer()(Chem.MolFromSmiles(smiles))
    order = np.lexsort(made.edge_index)
    sources, targets = made.edge_index[:, order]
    return Graph(made.V.astype(np.float32), made.E.astype(np.float32)[order], sources, targets)


class Step(NamedTuple):
    """A layer of a batch: the row of the layer before that each row (R,) continues, and the sums of its messages."""

    own: Tensor
    messages: Sums


class Batch(NamedTuple):
    """Features of distinct bonds and their sources (R, V + W), the layers of their environments, features of distinct
    atoms (A, V), and sums over their bonds and over molecules."""

    bonds: Tensor
    steps: list[Step]
    atoms: Tensor
    incoming: Sums
    molecules: Sums


class Molecules:
    """N molecules as one graph, from their SMILES (N,); ``molecules[rows]`` are some of them."""

    def __init__(self, smiles: Iterable[str]) -> None:
        graphs = [graph(text) for text in smiles]
        sizes = np.array([len(made.atoms) for made in graphs])
        self.atoms = Lists(sizes, np.arange(sizes.sum()))
        sizes = np.array([len(made.bonds) for made in graphs])
        self.bonds = Lists(sizes, np.arange(sizes.sum()))
        sources, targets = (
            np.concatenate([ends + start for ends, start in zip(of_all, self.atoms.starts, strict=True)])
            for of_all in ([made.sources for made in graphs], [made.targets for made in graphs])
        )
        self.features, self.types = distinct(np.concatenate([made.atoms for made in graphs]))
        of_bonds = np.concatenate([made.bonds for made in graphs])
        self.bond_features, self.bond_types = distinct(np.column_stack([self.features[self.types[sources]], of_bonds]))
        degrees = np.bincount(targets, minlength=len(self.types))
        self.incoming = Lists(degrees, np.arange(len(targets)))  # bonds are in the order of their targets
        into_source = self.incoming.at(sources)
        others = sources[into_source.values] != targets[into_source.owners]
        self.before = Lists(np.bincount(into_source.owners[others], minlength=len(sources)), into_source.values[others])
        """The bonds whose messages a bond receives: those into its source, but its own reverse."""

    def __getitem__(self, rows: Tensor | slice) -> Some:
        return Some(self, rows.cpu().numpy() if isinstance(rows, Tensor) else rows)

    @cached_property
    def environments(self) -> tuple[list[np.ndarray], np.ndarray]:
        """For each layer, the colours of all bonds by their environments; and the colours of all atoms by theirs."""
        colours = [self.bond_types]
        for _ in range(LAYERS):
            colours.append(refined(colours[-1], colours[-1], self.before))
        return colours[1:], refined(self.types, colours[-1], self.incoming)

    def batch(self, rows: np.ndarray | slice, merge: bool, device: torch.device) -> Batch:
        """Return the molecules of rows (B,); ``merge`` equal environments unless dropout tells them apart."""
        atoms, bonds = self.atoms.at(rows), self.bonds.at(rows)
        ids, everything = bonds.values, np.arange(len(bonds.values))
        some, row = merged(self.bond_types[ids])  # positions of the bonds that are computed, and the row of each bond
        features, steps, width = self.bond_features[self.bond_types[ids[some]]], [], len(some)
        for layer in range(LAYERS):
            some, after = merged(self.environments[0][layer][ids]) if merge else (everything, everything)
            before = self.before.at(ids[some])
            here = before.values + np.repeat(some - ids[some], before.counts)  # positions in the batch
            sums = Sums(Lists(before.counts, row[here]), width, device)
            steps.append(Step(torch.from_numpy(row[some]).to(device), sums))
            row, width = after, len(some)
        kept, of_atom = merged(self.environments[1][atoms.values]) if merge else [np.arange(len(atoms.values))] * 2
        into = Lists(self.incoming.counts[atoms.values], row).at(kept)
        return Batch(
            torch.from_numpy(features).to(device),
            steps,
            torch.from_numpy(self.features[self.types[atoms.values[kept]]]).to(device),
            Sums(into, width, device),
            Sums(Lists(atoms.counts, of_atom), len(kept), device),
        )


class Some(NamedTuple):
    """Some of the molecules of a set, by their rows."""

    molecules: Molecules
    rows: np.ndarray | slice


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

    def forward(self, x: Sequence[str] | Some) -> Tensor:
        molecules, rows = x if isinstance(x, Some) else Molecules(x)[:]
        own = self.messages
        merge = not (own.dropout.training and own.dropout.p)
        batch = molecules.batch(rows, merge, own.W_h.weight.device)
        first = own.W_i(batch.bonds)
        h = own.tau(first)
        for step in batch.steps:
            first = first.index_select(0, step.own)
            h = own.dropout(own.tau(first + step.messages(own.W_h(h))))
        h = own.finalize(batch.incoming(h), batch.atoms, None)
        return self.head(batch.molecules(h) / self.aggregation.norm)
