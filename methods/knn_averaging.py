r"""Averaging with neighbours: a network's prediction is averaged with the mean label of the most similar molecules.

The neighbours, NN in the formula, are those of k-NN among the molecules that the network was trained on.

$$
\hat p(x)_c = (1 - w) \, p_\theta(x)_c + \frac{w}{k} \sum_{j \in \mathrm{NN}_k(x)} [y_j = c]
$$

Source: Khandelwal et al. 2020, arXiv:1911.00172, who interpolate a network and k-NN.

Difference: they look for neighbours among the network's activations; here neighbours are those of k-NN on the features.

Cost: trains one network; a prediction uses it and looks up neighbours, so the training rows must be kept.
"""

from dataclasses import dataclass as plain
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import fit_stack
from benchmark.types import Fitted, Sample
from methods._soft import AtOnce, Trained, of_neighbours


@method("knn_averaging", title="Network averaged with k-NN")
@dataclass(frozen=True)
class KNNAveraging(AtOnce):
    weight: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Weight of the neighbours, w in the formula."""
    k: PositiveInt = 5
    """Number of neighbours, as in ``knn``."""

    def fit(self, sample: Sample) -> Fitted:
        return WithNeighbours(stack=fit_stack(sample, sample.rows[None]), weight=self.weight, k=self.k)


@plain(frozen=True, kw_only=True)
class WithNeighbours(Trained):
    """The average of a network and the neighbours among its sample."""

    weight: float
    k: int

    def predict(self, x: np.ndarray) -> np.ndarray:
        near = of_neighbours(self.stack.sample, x, self.k)
        return np.asarray((1 - self.weight) * self.stack.predict(x) + self.weight * near)
