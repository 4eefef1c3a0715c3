"""Train networks: resampling → learner → loop → ensemble; and what remedies are made of."""

from benchmark.train.ensemble import (
    Ensemble,
    Epoch,
    FirstOf,
    Key,
    LearnedFrom,
    Mean,
    Networks,
    Step,
    TargetScaler,
    Training,
)
from benchmark.train.learner import NETWORKS, NetworkLearner, NetworkRemedy, Positive
from benchmark.train.losses import Weight, consistency, disagreement, entropy, twins
from benchmark.train.resampling import (
    at_seed,
    before_update,
    bootstrap,
    generator,
    overlapping,
    sample_for,
    shards,
    was_right,
)

REVISION = 1
"""Raised when the training loop, its losses or its optimiser change predictions."""

# What the file of a remedy or of a network needs.
__all__ = ["NETWORKS", "Ensemble", "Epoch", "FirstOf", "Key", "LearnedFrom", "Mean", "NetworkLearner"]
__all__ += ["NetworkRemedy", "Networks", "Positive", "Step", "TargetScaler", "Training", "Weight", "at_seed"]
__all__ += ["before_update", "bootstrap", "consistency", "disagreement", "entropy", "generator", "overlapping"]
__all__ += ["sample_for", "shards", "twins", "was_right"]
