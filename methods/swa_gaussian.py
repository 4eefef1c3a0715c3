r"""SWA-Gaussian: predictions averaged over networks drawn from a Gaussian around the mean of ERM's later weights.

The weights at the ends of the later epochs give the mean, the variances (the diagonal matrix V) and up to 20 directions
of low rank (the R columns of D, deviations of the last epochs from the running mean). Backbones other than the
perceptron cannot be drawn.

$$
\theta_m \sim \mathcal{N}\left(\bar\theta,\; \frac{1}{2} V + \frac{1}{2(R - 1)} D D^\top\right), \qquad
\hat p(x) = \frac{1}{M} \sum_{m=1}^{M} p_{\theta_m}(x)
$$

Source: Maddox et al. 2019, arXiv:1902.02476.

Difference: they train by SGD at a large constant rate; here the optimiser and its rate are ERM's.

Cost: trains one network; a prediction uses as many as are drawn.
"""

import math
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import fit_stack, generator
from benchmark.types import Fitted, Sample
from methods._soft import AtOnce


@method("swa_gaussian", title="SWA-Gaussian")
@dataclass(frozen=True)
class SWAGaussian(AtOnce):
    start: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Share of training after which weights are collected, as in ``swa``; the low-rank part uses the last 20 epochs."""
    draws: PositiveInt = 30
    """Number of networks drawn, M in the formula."""

    def fit(self, sample: Sample) -> Fitted:
        from benchmark.train.loop import one_thread, train

        stack, epochs = fit_stack(sample, sample.rows[None]), sample.recipe.epochs
        first = min(math.ceil(self.start * epochs), epochs - 1)
        shares = [(epoch - 0.5) / epochs for epoch in range(first, epochs)]
        with one_thread():
            (trained,) = train(sample.x, sample.y, stack.groups(), stack.rule, shares)
        return Draws(sample, [trained.networks[share] for share in shares], self.draws)


class Draws:
    """Networks from the Gaussian of E epochs' weights, given as ``tails``: for each epoch, the mean from it on."""

    def __init__(self, sample: Sample, tails: list[Any], n: int) -> None:
        self.task, self.seed, self.rows, self.n, self.network = sample.task, sample.seed, sample.rows, n, tails[0]
        self.bare = getattr(self.network, "networks", self.network)  # without the unit of a regression's targets
        of_tails = [getattr(tail, "networks", tail).parameters for tail in tails]
        self.parts = [moments(np.stack(part, dtype=np.float64)) for part in zip(*of_tails, strict=True)]

    def predict(self, x: np.ndarray) -> np.ndarray:
        from benchmark.train.loop import evaluate, one_thread

        with one_thread():
            drawn = (self.drawn(generator("other", self.seed, i)) for i in range(self.n))
            return np.mean([evaluate(network, self.task, 1, x)[0] for network in drawn], axis=0)

    def drawn(self, random: np.random.Generator) -> Any:
        import torch

        b = random.standard_normal((len(self.parts[0][2]), 1, 1, 1), dtype=np.float32)
        noise = [d * random.standard_normal(d.shape, dtype=np.float32) + (b * low).sum(0) for _, d, low in self.parts]
        weights = [torch.from_numpy(m + e / np.float32(2**0.5)) for (m, *_), e in zip(self.parts, noise, strict=True)]
        network = self.bare.with_parameters(weights)
        return network if self.bare is self.network else replace(self.network, networks=network)


def moments(tails: np.ndarray) -> list[np.ndarray]:
    """Return mean, deviation and up to 20 columns of low rank of a parameter, whose ``tails`` are (E, 1, R, C)."""
    count = np.arange(1, len(tails) + 1)[:, None, None, None]
    each = -np.diff(tails * count[::-1], axis=0, append=0)  # differences of sums
    low = (each - each.cumsum(axis=0) / count)[-20:]
    parts = tails[0], each.std(axis=0), low / max(1, len(low) - 1) ** 0.5
    return [part.astype(np.float32) for part in parts]
