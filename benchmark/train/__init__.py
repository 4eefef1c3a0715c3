"""Train many small networks at once: resampling → backbone and losses → loop → stack → bank."""

from benchmark.train.group import Step
from benchmark.train.losses import Weight, consistency, disagreement
from benchmark.train.resampling import bootstrap, generator, overlap, overlapping, shards
from benchmark.train.stack import fit_stack

__all__ = [
    "Step",
    "Weight",
    "bootstrap",
    "consistency",
    "disagreement",
    "fit_stack",
    "generator",
    "overlap",
    "overlapping",
    "shards",
]
