"""TITLE: one sentence on what it does, with the DOI or arXiv number of its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Problem


@method("NAME", title="TITLE k={k}")
@dataclass(frozen=True)
class Template:
    """Fields are hyperparameters: set them with ``--method NAME:k=3``."""

    k: int = 2

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        """Return an object whose ``predict(x)`` gives probabilities (seeds, rows, classes) or targets (seeds, rows, 1).

        ``bootstrap`` draws the training rows that all methods see at these seeds; take all other randomness from
        ``benchmark.train.generator("other", seed)``. For networks, ``fit_stack`` returns such an object; to build on
        it, call its ``predict`` on rows of ``problem.train.x``. For estimators with scikit-learn's interface, derive
        from ``Estimators`` as in methods/random_forest.py. Otherwise train here and return an object of your own.
        ``problem.task`` says whether ``y`` holds classes or numbers. tests/methods covers all methods of this folder.
        Cells are retrained after any edit that can change a prediction, here or in an imported module.
        """
        rows = bootstrap(problem, seeds, members=self.k)  # (seeds, k, N) row numbers of problem.train
        return fit_stack(problem, rows, seeds)
