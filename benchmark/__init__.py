"""Cross-sample prediction churn: data, methods, harness and tracking.

A model retrained on a new draw of its training set keeps its accuracy but changes many individual
predictions. This package measures that churn. Start from the command line (``churn --help``)
or from Python::

    from benchmark import load_problem, make_method, retrain

    problem = load_problem("b3db_measured", canonical_seed=99)
    twin = make_method("twin:lam=30", problem.task)
    probabilities = retrain(twin, problem, seeds=[1, 2])["id"].values  # (seeds, molecules, classes)
"""

from typing import Any

__version__ = "0.2.0"

__all__ = ["UserError", "__version__", "load_problem", "make_method", "retrain"]

_HOME = {
    "UserError": "benchmark.errors",
    "load_problem": "benchmark.data.problem",
    "make_method": "benchmark.registry",
    "retrain": "benchmark.run.runner",
}


def __getattr__(name: str) -> Any:  # RDKit and torch take seconds to import, so load them only on demand
    if name not in _HOME:
        raise AttributeError(f"module 'benchmark' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
