"""Graph isomorphism networks: their computation.

Most of the time goes into products of matrices, so each distinct environment of a batch is one row of them (see
``_graphs``), and a perceptron's first product precedes the sum over neighbours, because there are fewer rows before it.
The rest is overhead: gradients are spelled out, and all weights of a network are one vector.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from rdkit import Chem, rdBase
from torch import Tensor

from benchmark.learners._graphs import Lists, Nodes, Step, Sums
from benchmark.train.adamw import LANES, optimiser
from benchmark.train.ensemble import Key
from benchmark.train.networks import Dropout
from benchmark.train.resampling import generator
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


EPSILON = 1e-5
"""Added to the variance by layer norm."""


@lru_cache(maxsize=100_000)
def graph(smiles: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return atom features (A, F) float32, degrees (A,), and the neighbours of all atoms (sum of degrees,)."""
    atoms = Chem.MolFromSmiles(smiles).GetAtoms()
    values = [(a.GetSymbol(), a.GetDegree(), a.GetFormalCharge(), a.GetTotalNumHs(), a.GetIsAromatic()) for a in atoms]
    bits = [[v == choice for v, choices in zip(atom, CHOICES, strict=True) for choice in choices] for atom in values]
    beside = [sorted(neighbour.GetIdx() for neighbour in atom.GetNeighbors()) for atom in atoms]
    degrees, neighbours = [len(row) for row in beside], [i for row in beside for i in row]
    return np.array(bits, dtype=np.float32), np.array(degrees), np.array(neighbours, dtype=np.int64)


class Batch(NamedTuple):
    """Bits of distinct atoms (R, F), the layers of their environments, sums over molecules and their sizes (B, 1)."""

    atoms: Tensor
    steps: list[Step]
    molecules: Sums
    sizes: Tensor


class Molecules:
    """N molecules as one graph, from their SMILES (N,)."""

    def __init__(self, smiles: Iterable[str]) -> None:
        with rdBase.BlockLogs():  # suppress remarks on the hydrogens of molecules that are known to parse
            bits, degrees, neighbours = zip(*map(graph, smiles), strict=True)
        sizes = np.array([len(molecule) for molecule in degrees])
        shifted = [own + start for own, start in zip(neighbours, np.cumsum(sizes) - sizes, strict=True)]
        beside = Lists(np.concatenate(degrees), np.concatenate(shifted))
        self.atoms = Nodes(sizes, np.concatenate(bits), beside, LAYERS)

    def batch(self, rows: np.ndarray, merge: bool, device: torch.device) -> Batch:
        """Return the molecules of rows (B,); ``merge`` equal environments unless dropout tells them apart."""
        made = self.atoms.batch(rows, merge, device)
        sizes = torch.from_numpy(made.nodes.counts[:, None].astype(np.float32)).to(device)
        return Batch(made.features, made.steps, Sums(Lists(made.nodes.counts, made.rows), made.width, device), sizes)


class Weights(NamedTuple):
    """The weights of a network, which multiply rows from the right.

    Atoms (F, H) with biases (H,); for each layer the matrices of a perceptron (2, H, H), and its biases and the gain
    and shift of a norm (4, H); the head (H, C) with biases (C,); for each layer ε.
    """

    atoms: Tensor
    bias: Tensor
    perceptrons: Tensor
    vectors: Tensor
    head: Tensor
    head_bias: Tensor
    eps: Tensor


@dataclass(frozen=True)
class Layout:
    """The places of the weights of a network in one vector.

    The vector is padded to a multiple of ``LANES``, so that AdamW rounds all of its parts alike.
    """

    hidden: int
    n_outputs: int

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        bits, h, c = sum(map(len, CHOICES)), self.hidden, self.n_outputs
        return [(bits, h), (h,), (LAYERS, 2, h, h), (LAYERS, 4, h), (h, c), (c,), (LAYERS,)]

    @cached_property
    def sizes(self) -> list[int]:
        used = [math.prod(shape) for shape in self.shapes]
        return [*used, -sum(used) % LANES]

    def parts(self, vector: Tensor) -> Weights:
        """Return the weights in a vector (P,), whose memory they share."""
        parts = vector.split(self.sizes)[:-1]
        return Weights(*(part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)))

    def initial(self, key: Key) -> Tensor:
        """Draw a vector (P,) of initial weights as torch.nn.Linear does, uniform within ±1/√fan_in."""
        draw, vector = generator("initialisation", *key), torch.zeros(sum(self.sizes))
        weights = self.parts(vector)
        inner = [weights.perceptrons, weights.vectors[:, :2], weights.head, weights.head_bias]
        for part in (weights.atoms, weights.bias, *inner):
            rows = len(weights.atoms) if part is weights.atoms or part is weights.bias else self.hidden
            part.copy_(torch.from_numpy((2 * draw.random(part.shape, dtype=np.float32) - 1) / np.float32(rows**0.5)))
        weights.vectors[:, 2] = 1
        return vector


Kept = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None]
"""Tensors that the gradient of a layer needs: the rows of the layer before, and results on the way to its own rows."""


def run(w: Weights, batch: Batch, noise: Dropout) -> tuple[Tensor, list[Kept], Tensor]:
    """Return outputs (B, C), and for their gradient what each layer keeps and the means over molecules (B, H).

    A layer is a perceptron of (1 + ε) times a row plus those of its neighbours, then ReLU, residual, layer norm and
    dropout.
    """
    h, kept = torch.addmm(w.bias, batch.atoms, w.atoms), []
    scales = (1 + w.eps).unbind()
    for step, (first, second), (b1, b2, gain, shift), scale in zip(
        batch.steps, w.perceptrons, w.vectors, scales, strict=True
    ):
        product = h @ first
        inner = step.received.of(product).addcmul_(product.index_select(0, step.own), scale).add_(b1).relu_()
        outer = torch.addmm(b2, inner, second).relu_()
        total = h.index_select(0, step.own).add_(outer)
        normed, mean, spread = torch.native_layer_norm(total, gain.shape, gain, shift, EPSILON)
        factors = noise.like(normed) if noise.p else None
        kept.append((h, product, inner, outer, total, mean, spread, factors))
        h = normed if factors is None else normed * factors
    means = batch.molecules.of(h).div_(batch.sizes)
    return torch.addmm(w.head_bias, means, w.head), kept, means


def write_gradient(w: Weights, batch: Batch, kept: list[Kept], means: Tensor, slope: Tensor, out: Weights) -> None:
    """Write the gradient with respect to the weights into ``out``, from that with respect to the outputs (B, C)."""
    torch.mm(means.T, slope, out=out.head)
    torch.sum(slope, 0, out=out.head_bias)
    g = batch.molecules.back((slope @ w.head.T).div_(batch.sizes))
    for i, step, made in reversed(list(zip(range(LAYERS), batch.steps, kept, strict=True))):
        h, product, inner, outer, total, mean, spread, factors = made
        (first, second), (_, _, gain, shift) = w.perceptrons[i], w.vectors[i]
        g = g if factors is None else g * factors
        g, out.vectors[i, 2], out.vectors[i, 3] = torch.ops.aten.native_layer_norm_backward(
            g, total, gain.shape, mean, spread, gain, shift, [True, True, True]
        )
        outer = torch.ops.aten.threshold_backward(g, outer, 0)
        torch.mm(inner.T, outer, out=out.perceptrons[i, 1])
        torch.sum(outer, 0, out=out.vectors[i, 1])
        inner = torch.ops.aten.threshold_backward(outer @ second.T, inner, 0)
        torch.sum(inner, 0, out=out.vectors[i, 0])
        own = torch.zeros_like(h).index_add_(0, step.own, inner)
        torch.dot(own.flatten(), product.flatten(), out=out.eps[i])
        product = step.received.back(inner).addcmul_(own, 1 + w.eps[i])
        torch.mm(h.T, product, out=out.perceptrons[i, 0])
        g = torch.zeros_like(h).index_add_(0, step.own, g).addmm_(product, first.T)
    torch.mm(batch.atoms.T, g, out=out.atoms)
    torch.sum(g, 0, out=out.bias)


class Networks:
    """Networks in training on molecules. The weights of each are one vector (P,), to which AdamW makes one step."""

    def __init__(
        self, keys: Sequence[Key], inputs: Molecules, recipe: Recipe, n_outputs: int, dropout: float, device: str
    ) -> None:
        self.keys, self.inputs, self.recipe, self.dropout, self.device = keys, inputs, recipe, dropout, device
        self.layout = Layout(recipe.hidden, n_outputs)
        self.noise = [Dropout(key, dropout, "dropout") for key in keys]
        self.state = [self.layout.initial(key).to(device) for key in keys]
        self.gradients = [torch.zeros_like(vector) for vector in self.state]
        for vector, gradient in zip(self.state, self.gradients, strict=True):
            vector.grad = gradient
        self.optimiser = optimiser(self.state, recipe)

    @torch.no_grad()
    def epoch(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        for rows in batches:
            shared: dict[bytes, Batch] = {}  # coupled networks see the same molecules
            for row in (numbers := rows.cpu().numpy()):
                if row.tobytes() not in shared:
                    shared[row.tobytes()] = self.inputs.batch(row, not self.dropout, torch.device(self.device))
            self.own = [shared[row.tobytes()] for row in numbers]
            weights = map(self.layout.parts, self.state)
            self.runs = [run(*given) for given in zip(weights, self.own, self.noise, strict=True)]
            yield torch.stack([outputs for outputs, *_ in self.runs])

    @torch.no_grad()
    def step(self, gradient: Tensor, limit: float) -> None:
        parts = self.layout.parts
        each = zip(self.state, self.own, self.runs, gradient.contiguous(), self.gradients, strict=True)
        for vector, batch, (_, kept, means), slope, out in each:
            write_gradient(parts(vector), batch, kept, means, slope, parts(out))
            out.mul_((limit / (torch.dot(out, out).sqrt() + 1e-6)).clamp(max=1))
        self.optimiser.step()

    @torch.no_grad()
    def start_from(self, networks: Sequence[Any]) -> None:
        for vector, network in zip(self.state, networks, strict=True):
            vector.copy_(network.vector)

    def trained(self, state: Sequence[Tensor]) -> list[Trained]:
        vectors = [vector.detach().to("cpu", copy=True) for vector in state]
        about = self.layout, self.dropout, self.recipe.batch_size
        return [Trained(key, vector, *about) for key, vector in zip(self.keys, vectors, strict=True)]


@dataclass(frozen=True)
class Trained:
    """A trained network, with its weights (P,)."""

    key: Key
    vector: Tensor
    layout: Layout
    dropout: float
    batch_size: int

    @property
    def state(self) -> Sequence[Tensor]:
        return [self.vector]

    def with_state(self, state: Sequence[Tensor]) -> Trained:
        return replace(self, vector=state[0])

    @torch.no_grad()
    def passes(self, x: np.ndarray, n: int) -> Tensor:
        p = self.dropout if n > 1 else 0.0
        molecules, weights = Molecules(x), self.layout.parts(self.vector)
        parts = np.split(np.arange(len(x)), range(self.batch_size, len(x), self.batch_size))
        batches = [molecules.batch(part, not p, torch.device("cpu")) for part in parts]
        noise = Dropout(self.key, p, "dropout at prediction")
        return torch.stack([torch.cat([run(weights, batch, noise)[0] for batch in batches]) for _ in range(n)])
