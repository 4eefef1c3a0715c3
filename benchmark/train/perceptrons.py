"""Perceptrons in training on a CPU: one at a time, so that its weights, moments and gradients stay in the caches."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from benchmark.train import kernels
from benchmark.train.adamw import EPS, Rates, idle, rates
from benchmark.train.ensemble import TrainedNetwork
from benchmark.train.networks import Dropout, Inputs, Perceptron
from benchmark.types import Recipe


class SumsOfRows:
    """As ``Product``, on sparse bits: a product is a sum of rows of the weights, and a step changes few of them."""

    def __init__(self, inputs: Inputs, live: np.ndarray, weight: Tensor, recipe: Recipe) -> None:
        assert inputs.ones is not None
        number = np.full(inputs.ones.shape[1], -1, np.int32)
        number[live] = np.arange(len(live))
        self.indptr, self.indices = inputs.ones.indptr, number[inputs.ones.indices]
        self.weight, self.recipe = weight, recipe
        self.w = weight.numpy()
        self.m, self.v, self.gradient = np.zeros_like(self.w), np.zeros_like(self.w), np.empty_like(self.w)

    def begin(self, rows: np.ndarray, starts: np.ndarray, done: int) -> None:
        self.rows, self.starts = rows, starts
        self.plan = kernels.schedule(self.indptr, self.indices, rows, starts, len(self.w))
        self.idle = idle(done, len(starts) - 1, self.recipe.lr, self.recipe.weight_decay)
        push, root, keep = self.idle
        kernels.advance(self.w, self.m, self.v, self.plan.lead, np.float32(EPS), push[0], root[0], keep)

    def product(self, s: int) -> Tensor:
        rows = self.rows[self.starts[s] : self.starts[s + 1]]
        out = np.empty((len(rows), self.w.shape[1]), np.float32)
        kernels.sum_rows(self.w, self.indptr, self.indices, rows, out)
        return torch.from_numpy(out)

    def backward(self, s: int, outer: Tensor) -> float:
        first, last = self.plan.steps[s : s + 2]
        square = kernels.sum_gradients(outer.numpy(), self.plan.members, self.plan.spans, first, last, self.gradient)
        return float(square)

    def step(self, s: int, scale: float, factors: Rates) -> None:
        touched = slice(*self.plan.steps[s : s + 2])
        push, root, keep = self.idle
        parts = self.w, self.m, self.v, self.gradient, self.plan.columns[touched], self.plan.idle[touched]
        kernels.adamw_rows(*parts, np.float32(scale), factors, push[s + 1], root[s + 1], keep)


class Product:
    """The weights (L, H) of the inputs that a network sees in training, and their product with these inputs."""

    def __init__(self, inputs: Inputs, live: np.ndarray, weight: Tensor, recipe: Recipe) -> None:
        self.inputs, self.weight = inputs.x[:, torch.from_numpy(live)], weight
        self.gradient = torch.zeros_like(weight)
        self.arrays = arrays(weight, self.gradient)

    def begin(self, rows: np.ndarray, starts: np.ndarray, done: int) -> None:
        """Begin an epoch after ``done`` steps, of which step s sees ``rows[starts[s] : starts[s + 1]]``."""
        self.batches = [self.inputs[torch.from_numpy(part)] for part in np.split(rows, starts[1:-1])]

    def product(self, s: int) -> Tensor:
        """Return the product (R, H) of the inputs of step s of the epoch and the weights."""
        return self.batches[s] @ self.weight

    def backward(self, s: int, outer: Tensor) -> float:
        """Keep the gradient of the weights for that of the product, ``outer`` (R, H); return its sum of squares."""
        torch.mm(self.batches[s].T, outer, out=self.gradient)
        flat = self.gradient.view(-1)
        return float(torch.dot(flat, flat))

    def step(self, s: int, scale: float, factors: Rates) -> None:
        """Take step s of the epoch with the gradient times ``scale``."""
        kernels.adamw(*self.arrays, np.float32(scale), factors)


def arrays(weight: Tensor, gradient: Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return weights, two moments and gradients as flat arrays for AdamW; weights and gradients share their memory."""
    flat = weight.view(-1).numpy()
    return flat, np.zeros_like(flat), np.zeros_like(flat), gradient.view(-1).numpy()


class PerceptronInTraining:
    """One network in training. ``rows`` (R,) are all rows of the inputs that it will see."""

    def __init__(self, initial: Perceptron, inputs: Inputs, rows: np.ndarray, recipe: Recipe) -> None:
        self.noise, self.recipe = Dropout(initial.key, initial.dropout, "dropout"), recipe
        self.live = inputs.live(rows)
        first, *others = (parameter[0] for parameter in initial.state)
        self.initial, self.unseen = initial, first
        kind = Product if inputs.ones is None else SumsOfRows
        self.first: SumsOfRows | Product = kind(inputs, self.live, first[torch.from_numpy(self.live)], recipe)
        self.shapes = [parameter.shape for parameter in others]
        self.flat = torch.cat([parameter.flatten() for parameter in others])
        self.gradient = torch.zeros_like(self.flat)
        self.others, self.gradients = self.views(self.flat), self.views(self.gradient)
        self.arrays = arrays(self.flat, self.gradient)
        self.steps = 0

    def views(self, flat: Tensor) -> list[Tensor]:
        """Return the parts of a flat tensor as the biases of the first layer and the parameters of the others."""
        parts = flat.split([shape.numel() for shape in self.shapes])
        return [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def begin(self, rows: np.ndarray, starts: np.ndarray) -> None:
        """Begin an epoch of which step s sees ``rows[starts[s] : starts[s + 1]]``."""
        self.s = 0
        self.first.begin(rows, starts, self.steps)

    def outputs(self) -> Tensor:
        """Return the outputs (R, C) of the next step's rows."""
        b1, w2, b2, w3, b3 = self.others
        h1 = self.first.product(self.s).add_(b1).relu_()
        self.masks = self.noise.masks(len(h1), h1.shape[1])
        dropped = h1 * self.masks[0] if self.masks else h1
        h2 = torch.addmm(b2, dropped, w2).relu_()
        self.hidden = h1, dropped, h2, h2 * self.masks[1] if self.masks else h2
        return torch.addmm(b3, self.hidden[3], w3)

    def step(self, outer: Tensor, limit: float) -> None:
        """Take the step for the gradient ``outer`` (R, C) of the loss with respect to the outputs.

        The gradient of all weights together is scaled to a norm of at most ``limit``.
        """
        h1, dropped1, h2, dropped2 = self.hidden
        _, w2, _, w3, _ = self.others
        db1, dw2, db2, dw3, db3 = self.gradients
        torch.sum(outer, 0, keepdim=True, out=db3)
        torch.mm(dropped2.T, outer, out=dw3)
        inner = self._before_relu(torch.mm(outer, w3.T), 1, h2, db2)
        torch.mm(dropped1.T, inner, out=dw2)
        inner = self._before_relu(torch.mm(inner, w2.T), 0, h1, db1)
        square = self.first.backward(self.s, inner) + float(torch.dot(self.gradient, self.gradient))
        scale = min(1.0, limit / (square**0.5 + 1e-6))
        self.steps += 1
        factors = rates(self.steps, self.recipe.lr, self.recipe.weight_decay)
        self.first.step(self.s, scale, factors)
        kernels.adamw(*self.arrays, np.float32(scale), factors)
        self.s += 1

    def _before_relu(self, inner: Tensor, layer: int, hidden: Tensor, bias: Tensor) -> Tensor:
        """Return the gradient (R, H) before dropout and ReLU from that after them; write its sum to ``bias`` (1, H)."""
        if self.masks:
            inner *= self.masks[layer]
        inner = torch.ops.aten.threshold_backward(inner, hidden, 0)
        torch.sum(inner, 0, keepdim=True, out=bias)
        return inner

    def trained(self, weight: Tensor, flat: Tensor, kept: float) -> Perceptron:
        """Return the network for a state, with the decay of the unseen inputs."""
        first = self.unseen * kept
        first[torch.from_numpy(self.live)] = weight
        return self.initial.with_state([parameter[None].clone() for parameter in (first, *self.views(flat))])


class Perceptrons:
    """Perceptrons in training on ``inputs``."""

    def __init__(self, initial: Sequence[Perceptron], inputs: Inputs, recipe: Recipe) -> None:
        self.inputs, self.recipe, self.initial = inputs, recipe, initial
        self.networks: list[PerceptronInTraining] = []

    def start_from(self, networks: Sequence[TrainedNetwork]) -> None:
        self.initial = [new.started_from(other.state) for new, other in zip(self.initial, networks, strict=True)]

    def epoch(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        starts = np.cumsum([0, *(batch.shape[1] for batch in batches)])
        rows = torch.cat(list(batches), 1).numpy()
        if not self.networks:
            pairs = zip(self.initial, rows, strict=True)
            self.networks = [PerceptronInTraining(new, self.inputs, own, self.recipe) for new, own in pairs]
        for network, own in zip(self.networks, rows, strict=True):
            network.begin(own, starts)
        for _ in batches:
            yield torch.stack([network.outputs() for network in self.networks])

    def step(self, gradient: Tensor, limit: float) -> None:
        for network, outer in zip(self.networks, gradient, strict=True):
            network.step(outer, limit)

    @property
    def state(self) -> list[Tensor]:
        kept = (1 - self.recipe.lr * self.recipe.weight_decay) ** self.networks[0].steps
        parts = [part for network in self.networks for part in (network.first.weight, network.flat)]
        return [*parts, torch.tensor(kept, dtype=torch.float64)]

    def trained(self, state: Sequence[Tensor]) -> list[Perceptron]:
        *parts, kept = state
        pairs = zip(self.networks, parts[::2], parts[1::2], strict=True)
        return [network.trained(weight, flat, float(kept)) for network, weight, flat in pairs]
