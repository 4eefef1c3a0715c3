"""Training many small networks at once: resampling → networks and losses → stack."""

from benchmark.train.losses import disagreement
from benchmark.train.resampling import bootstrap, generator
from benchmark.train.stack import Step, fit_stack

__all__ = ["Step", "bootstrap", "disagreement", "fit_stack", "generator"]
