"""Losses on targets other than the labels, and predictors that deploy a part of what was trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from benchmark.train import Step, fit_stack
from benchmark.train.stack import Stack
from benchmark.types import Fitted, Sample
from methods._estimator import kernel_for

if TYPE_CHECKING:  # PyTorch takes seconds to import: methods are listed without it
    from torch import Tensor


class AtOnce:
    """Base class of methods that train their networks in ``fit``: all training counts, and they choose what to deploy.

    The harness trains the networks of a stack later, deploys all of them, and counts their training alone.
    """

    trains_networks: ClassVar[bool] = False
    builds_on: ClassVar[tuple[str, ...]] = ("mlp", "trainer")


def labels(sample: Sample) -> np.ndarray:
    """Return the labels of a sample as targets: one-hot (R, C), or the numbers of a regression (R, 1)."""
    return sample.y[:, None] if sample.task == "regression" else np.eye(sample.n_outputs)[sample.y]


def mixed(sample: Sample, targets: np.ndarray, weight: float) -> Stack:
    """Describe a network whose loss is 1 − ``weight`` times that on labels and ``weight`` times that on ``targets``.

    ``targets`` are class probabilities (R, C), or numbers (R, 1) of a regression, for the molecules of the sample. The
    loss on them is the cross-entropy or the squared error.
    """
    import torch

    known = torch.from_numpy(np.ascontiguousarray(targets, dtype=np.float32))

    def change(step: Step) -> Tensor:
        outputs = step.outputs[0, 0]
        wanted = known.to(outputs.device)[step.rows[0]]
        if sample.task == "regression":
            loss = (outputs - step.unit.standardised(wanted)).square().mean()
        else:
            loss = -(wanted * outputs.log_softmax(-1)).sum(-1).mean()
        return weight * (loss - step.fit.sum())

    return fit_stack(sample, sample.rows[None], coupling=change)


def entropy(step: Step) -> Tensor:
    """Return the mean entropy, in nats, of one network's predicted classes on its batch."""
    log_p = step.outputs[0, 0].log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1).mean()


def of_neighbours(sample: Sample, x: np.ndarray, k: int, others: bool = False) -> np.ndarray:
    """Average the labels of the ``k`` most similar training molecules, (T, C) or (T, 1), for rows ``x`` (T, D).

    These are the distinct molecules of ``sample.rows``. The similarity is that of k-NN; the first of equals wins.
    ``others`` leaves out the molecule in the same row, for the rows of the sample itself.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        near = kernel_for(sample.x)(x.astype(np.float64), sample.x.astype(np.float64))
    if others:
        np.fill_diagonal(near, -np.inf)
    seen = np.unique(sample.rows)
    nearest = seen[np.argsort(-near[:, seen], axis=1, kind="stable")[:, : min(k, len(seen) - others)]]
    return np.asarray(labels(sample)[nearest].mean(axis=1))


@dataclass(frozen=True)
class Trained:
    """The networks of a stack, trained at once, so that all of the training counts as this method's cost."""

    stack: Stack
    learned_from: np.ndarray | None = None
    """Rows of the sample that it learned from, if these are not the rows of the stack."""

    def __post_init__(self) -> None:
        self.stack.each(self.stack.sample.x[:1])

    @property
    def rows(self) -> np.ndarray:
        return self.stack.rows if self.learned_from is None else self.learned_from

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.stack.predict(x)


class First(Trained):
    """The first of the networks alone."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.stack.each(x)[0])


@dataclass(frozen=True)
class Mean:
    """The mean of predictors that learned from ``rows`` (N,)."""

    parts: tuple[Fitted, ...]
    rows: np.ndarray

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(np.mean([part.predict(x) for part in self.parts], axis=0))
