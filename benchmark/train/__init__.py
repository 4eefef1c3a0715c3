"""Train networks: resampling → learner → loop → ensemble; and what remedies are made of."""

from benchmark.train.ensemble import FirstOf, LearnedFrom, Mean, Step
from benchmark.train.losses import Weight, consistency, disagreement, entropy, twins
from benchmark.train.resampling import (
    at_seed,
    before_update,
    bootstrap,
    draw,
    generator,
    overlap,
    overlapping,
    shards,
    was_right,
)

REVISION = 1
"""Raised when the training loop, its losses or its optimiser change predictions."""

__all__ = [
    "FirstOf",
    "LearnedFrom",
    "Mean",
    "Step",
    "Weight",
    "at_seed",
    "before_update",
    "bootstrap",
    "consistency",
    "disagreement",
    "draw",
    "entropy",
    "generator",
    "overlap",
    "overlapping",
    "shards",
    "twins",
    "was_right",
]
