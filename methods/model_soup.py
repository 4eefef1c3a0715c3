"""Model soup: one network with the mean weights of k networks that start from one initialisation.

Wortsman et al. 2022, arXiv:2203.05482, average fine-tuned networks with different hyperparameters; here the k networks
differ in their bootstraps of the training rows and share the batch order. Networks other than the paper's perceptron
are not averaged.
"""

from typing import Any, ClassVar

import numpy as np
from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import bootstrap, fit_stack
from benchmark.types import Fitted, Sample
from methods._soft import Trained


@method("model_soup", title="Model soup K={k}")
@dataclass(frozen=True)
class ModelSoup:
    trains_networks: ClassVar[bool] = False  # at once, as the harness would average predictions

    k: PositiveInt = 5

    def fit(self, sample: Sample) -> Fitted:
        return Soup([Trained(fit_stack(sample, rows[None])) for rows in bootstrap(sample, self.k)])


class Soup:
    """One network with the mean weights of ``parts``, which it learned from."""

    def __init__(self, parts: list[Trained]) -> None:
        import torch

        self.task, self.rows = parts[0].stack.sample.task, np.stack([part.rows for part in parts])
        networks: list[Any] = [part.stack._trained[0].networks[part.stack.readout] for part in parts]
        weights = zip(*[network.parameters for network in networks], strict=True)
        self.network = networks[0].with_parameters([torch.stack(of).mean(0) for of in weights])

    def predict(self, x: np.ndarray) -> np.ndarray:
        from benchmark.train.loop import evaluate, one_thread

        with one_thread():
            return np.asarray(evaluate(self.network, self.task, 1, x)[0])
