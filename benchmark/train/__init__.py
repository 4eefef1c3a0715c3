"""Train networks: resampling → learner → loop → ensemble; and what remedies are made of."""

from typing import TYPE_CHECKING, Any

from benchmark.train.ensemble import Ensemble, Epoch, LearnedFrom, Mean, Step, TargetScaler
from benchmark.train.learner import NETWORKS, NetworkLearner, NetworkRemedy
from benchmark.train.losses import LAMBDAS, consistency, disagreement, entropy, twins
from benchmark.train.resampling import at_seed, before_update, bootstrap, generator, sample_for, shards, was_right

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from benchmark.train.modules import Batch
else:  # PyTorch takes seconds to import: methods are listed without it
    Tensor = Module = Batch = Any

REVISION = 1
"""Raised when the training loop, its losses or its optimiser change predictions."""

# What the file of a remedy or of a network needs.
__all__ = ["LAMBDAS", "NETWORKS", "Batch", "Ensemble", "Epoch", "LearnedFrom", "Mean", "Module", "NetworkLearner"]
__all__ += ["NetworkRemedy", "Step", "TargetScaler", "Tensor", "at_seed", "before_update", "bootstrap", "consistency"]
__all__ += ["disagreement", "entropy", "generator", "sample_for", "shards", "twins", "was_right"]
