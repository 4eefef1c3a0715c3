"""Losses with one value per network, to be summed over networks, never averaged."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from benchmark.types import Sample, Task

if TYPE_CHECKING:  # PyTorch takes seconds to import: methods are listed without it
    from torch import Tensor

    from benchmark.train.ensemble import Loss

LAMBDAS = tuple(
    tuple({"lam": lam} for lam in values) for values in ((300.0, 100.0, 30.0, 10.0, 3.0, 1.0), (10.0, 3.0, 1.0, 0.3))
)
"""The grids of the weight of a consistency loss, for classes and for regressions; larger weights first."""


def fit_loss(task: Task, outputs: Tensor, y: Tensor) -> Tensor:
    """Return the mean cross-entropy or squared error of a batch: ``outputs`` (..., B, C), ``y`` (..., B) → (...).

    ``y`` are classes or numbers, or targets (..., B, C): class probabilities or numbers.
    """
    from torch.nn import functional

    if task == "regression":
        return (outputs[..., 0] - y.reshape(outputs.shape[:-1])).square().mean(-1)
    if y.ndim == outputs.ndim:
        return -(y * outputs.log_softmax(-1)).sum(-1).mean(-1)
    losses = functional.cross_entropy(outputs.flatten(0, -2), y.flatten(), reduction="none")
    return losses.view(y.shape).mean(-1)


def fit_gradient(task: Task, outputs: Tensor, y: Tensor) -> Tensor:
    """Return the gradient of the sum of ``fit_loss`` with respect to ``outputs`` (..., B, C).

    ``y`` are numbers (..., B), or targets (..., B, C).
    """
    outputs = outputs.detach()
    size = outputs.shape[-2]
    if task == "regression":
        return (outputs - y.reshape(outputs.shape)) * (2 / size)
    return (outputs.softmax(-1) - y) / size


def disagreement(task: Task, a: Tensor, b: Tensor) -> Tensor:
    """Return the distance between two outputs, averaged over the batch: two tensors (..., B, C) → (...).

    Classification: the symmetric KL ½(KL(p‖q) + KL(q‖p)) of the softmax, in nats (paper, section Methods);
    regression: the squared difference (paper, regression appendix).
    """
    if task == "regression":
        return (a - b).square().mean((-2, -1))
    log_p, log_q = a.log_softmax(-1), b.log_softmax(-1)
    return 0.5 * ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(-1).mean(-1)


def consistency(task: Task, outputs: Tensor) -> Tensor:
    """Average the disagreement over the pairs of K ≥ 2 networks and over the batches: (K, K, B, C) → scalar.

    ``outputs`` are those of a ``Step`` (paper, Algorithm 1).
    """
    import torch

    pairs = combinations(range(len(outputs)), 2)
    between = [disagreement(task, outputs[a], outputs[b]) for a, b in pairs]
    return torch.stack(between).mean()


def twins(sample: Sample, lam: float) -> Loss:
    """Return the loss of networks that are each fitted to their own batches, and pulled together with weight λ."""
    return lambda step: step.fit.sum() + lam * consistency(sample.task, step.outputs)


def entropy(outputs: Tensor) -> Tensor:
    """Return the mean entropy, in nats, of the classes predicted by logits (B, C)."""
    log_p = outputs.log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1).mean()
