"""Train many small networks at once: resampling → backbone and losses → loop → stack → bank."""

from benchmark.train.group import Step
from benchmark.train.losses import Weight, consistency, disagreement
from benchmark.train.resampling import (
    at_seed,
    before_update,
    bootstrap,
    draw,
    generator,
    overlap,
    overlapping,
    partner,
    shards,
)
from benchmark.train.stack import fit_stack

REVISION = 1
"""Raised when the training loop, its losses or its optimiser change predictions."""

__all__ = [
    "Step",
    "Weight",
    "at_seed",
    "before_update",
    "bootstrap",
    "consistency",
    "disagreement",
    "draw",
    "fit_stack",
    "generator",
    "overlap",
    "overlapping",
    "partner",
    "shards",
]
