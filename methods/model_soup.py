r"""Model soup: one network with the mean weights of k networks that start from the same initialisation.

The k networks differ in their bootstraps of the training rows and share the batch order. Backbones other than the
paper's perceptron cannot be averaged. If targets are standardised, this is done once, on the sample, because the
networks of a soup need targets in the same unit.

$$
\min_{\theta_k} L_{S_k}(\theta_k), \qquad \bar\theta = \frac{1}{K} \sum_{k=1}^{K} \theta_k, \qquad
\hat p(x) = p_{\bar\theta}(x)
$$

Source: Wortsman et al. 2022, arXiv:2203.05482.

Difference: they average networks that were fine-tuned with different hyperparameters; here the networks are trained
from their initialisation, with the same hyperparameters, on different bootstraps.

Cost: trains k networks; a prediction uses one.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Sample
from methods._soft import AtOnce, Trained


@method("model_soup", title="Model soup K={k}")
@dataclass(frozen=True)
class ModelSoup(AtOnce):
    k: PositiveInt = 5
    """Number of networks whose weights are averaged, as in ``bagging``."""

    def fit(self, sample: Sample) -> Fitted:
        rows, mean, deviation = bootstrap(sample, self.k), 0.0, 1.0
        if sample.task == "regression" and sample.recipe.standardise:
            mean, deviation = float(sample.y.mean()), float(sample.y.std()) or 1.0
            recipe = sample.recipe.model_copy(update={"standardise": None})
            sample = replace(sample, y=(sample.y - mean) / deviation, recipe=recipe)
        return Soup([Trained(fit_stack(sample, of[None])) for of in rows], mean, deviation)


class Soup:
    """One network with the mean weights of ``parts``, and outputs in units of ``deviation`` from ``mean``."""

    def __init__(self, parts: list[Trained], mean: float, deviation: float) -> None:
        import torch

        self.rows, self.mean, self.deviation = np.stack([part.rows for part in parts]), mean, deviation
        self.task = parts[0].stack.sample.task
        networks: list[Any] = [part.stack._trained[0].networks[part.stack.readout] for part in parts]
        weights = zip(*[network.parameters for network in networks], strict=True)
        self.network = networks[0].with_parameters([torch.stack(of).mean(0) for of in weights])

    def predict(self, x: np.ndarray) -> np.ndarray:
        from benchmark.train.loop import evaluate, one_thread

        with one_thread():
            return np.asarray(evaluate(self.network, self.task, 1, x)[0]) * self.deviation + self.mean
