"""TITLE: what it does, in a sentence, with the DOI or arXiv number of its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Problem


@method("NAME", title="TITLE k={k}")
@dataclass(frozen=True)
class Template:
    """Hyperparameters are fields: set them with ``--method NAME:k=3``."""

    k: int = 2

    def fit(self, problem: Problem, seeds: Sequence[int]) -> Fitted:
        """Return an object whose ``predict(x)`` gives probabilities (seeds, rows, classes), or (seeds, rows, 1).

        ``bootstrap`` draws the training rows that every method sees at these seeds; take all other randomness
        from ``benchmark.train.generator("other", seed)``. Networks: ``fit_stack``, which returns such an object; call
        its ``predict`` on rows of ``problem.train.x`` to go on from there. Estimators with scikit-learn's interface:
        derive from ``Estimators``, as methods/random_forest.py does. Anything else: train it here, and return an object
        of your own with ``predict``. ``problem.task`` says whether ``y`` are classes or numbers. tests/methods try all
        methods of this folder. After an edit that can change a prediction, here or in a module that this one imports
        from, cells are trained again.
        """
        rows = bootstrap(problem, seeds, members=self.k)  # (seeds, k, N) row numbers of problem.train
        return fit_stack(problem, rows, seeds)
