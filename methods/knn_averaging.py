r"""Averaging with neighbours: a network's prediction is averaged with the mean label of the most similar molecules.

The neighbours, NN in the formula, are those of k-NN among the molecules that the network was trained on.

$$
\hat p(x)_c = (1 - w) \, p_\theta(x)_c + \frac{w}{k} \sum_{j \in \mathrm{NN}_k(x)} [y_j = c]
$$

Source: Khandelwal et al. 2020, arXiv:1911.00172, who interpolate a network and k-NN.

Difference: they look for neighbours among the network's activations; here neighbours are those of k-NN on the features.

Cost: trains one network; a prediction uses it and looks up neighbours, so the training rows must be kept.
"""

from dataclasses import dataclass

import numpy as np

from benchmark.learners.knn import of_neighbours
from benchmark.pipeline import Inputs, Learner, Model, PositiveInt, Remedy, Sample, Share, method
from benchmark.train import LearnedFrom


@method("knn_averaging", title="Network averaged with k-NN", revision=1)
class KNNAveraging(Remedy):
    weight: Share = 0.5
    """Weight of the neighbours, w in the formula."""
    k: PositiveInt = 5
    """Number of neighbours, as in ``knn``."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        return LearnedFrom(WithNeighbours(learner.fit(sample), sample, self.weight, self.k), sample.rows)


@dataclass(frozen=True)
class WithNeighbours:
    """The average of a model and the neighbours among its sample."""

    model: Model
    sample: Sample
    weight: float
    k: int

    def predict(self, inputs: Inputs) -> np.ndarray:
        near = of_neighbours(self.sample, inputs.x, self.k)
        return np.asarray((1 - self.weight) * self.model.predict(inputs) + self.weight * near)
