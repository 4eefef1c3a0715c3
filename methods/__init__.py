"""Methods, one per file, discovered automatically, including those in ``methods/`` of the user's home.

For scikit-learn users: ``from methods import TwinBootstrapClassifier, retrain`` (see ``methods._sklearn_api``).
"""

from typing import Any

from benchmark.files import own_methods

__all__ = [
    "BootstrapBaggingClassifier",
    "BootstrapBaggingRegressor",
    "ErmClassifier",
    "ErmRegressor",
    "TwinBootstrapClassifier",
    "TwinBootstrapRegressor",
    "retrain",
]

if (_own := str(own_methods())) not in __path__:
    __path__.append(_own)


def __getattr__(name: str) -> Any:  # PyTorch and scikit-learn take seconds to import
    if name not in __all__:
        raise AttributeError(f"module 'methods' has no attribute {name!r}")
    from methods import _sklearn_api

    return getattr(_sklearn_api, name)
