r"""TITLE: one sentence on what it does.

Two or three sentences on the idea, in plain English, with the meaning of the symbols in the formula.

$$
\hat p(x) = \frac{1}{K} \sum_{k=1}^{K} p_{\theta_k}(x)
$$

Source: authors and year, with the DOI or arXiv number.

Difference: what differs from the source.
"""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Sample


@method("NAME", title="TITLE k={k}")
@dataclass(frozen=True)
class Template:
    """Fields are hyperparameters: set them with ``--method NAME:k=3``."""

    k: int = 2
    """What it is, and where its default comes from."""

    def fit(self, sample: Sample) -> Fitted:
        """Return an object whose ``predict(x)`` gives probabilities (rows, classes) or targets (rows, 1).

        ``sample`` is all that a retraining may see: molecules ``x``, ``y`` and ``smiles``, and the rows of them that a
        single model trains on. ``bootstrap`` resamples it; take all other randomness from
        ``benchmark.train.generator("other", sample.seed)``. For networks, ``fit_stack`` returns such an object; to
        build on it, call its ``predict`` on rows of ``sample.x``. For estimators with scikit-learn's interface, derive
        from ``Estimators`` as in methods/random_forest.py. Otherwise train here and return an object of your own.
        ``sample.task`` says whether ``y`` holds classes or numbers. tests/methods covers all methods of this folder.
        Cells are retrained after any edit that can change a prediction, here or in an imported module.
        """
        rows = bootstrap(sample, self.k)  # (k, N) row numbers of the sample
        return fit_stack(sample, rows)
