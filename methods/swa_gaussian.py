r"""SWA-Gaussian: predictions averaged over networks drawn from a Gaussian around the mean of ERM's later weights.

The weights at the ends of the later epochs give the mean, the variances (the diagonal matrix V) and up to 20 directions
of low rank (the R columns of D, deviations of the last epochs from the running mean).

$$
\theta_m \sim \mathcal{N}\left(\bar\theta,\; \frac{1}{2} V + \frac{1}{2(R - 1)} D D^\top\right), \qquad
\hat p(x) = \frac{1}{M} \sum_{m=1}^{M} p_{\theta_m}(x)
$$

Source: Maddox et al. 2019, arXiv:1902.02476.

Difference: they train by SGD at a large constant rate; here the optimiser and its rate are ERM's.

Cost: trains one network; a prediction uses as many as are drawn.
"""

import math
from dataclasses import dataclass

import numpy as np

from benchmark.pipeline import Inputs, Model, PositiveInt, Sample, ShareBelowOne, method
from benchmark.train import Ensemble, Epoch, LearnedFrom, NetworkLearner, NetworkRemedy, Tensor, generator


@method("swa_gaussian", title="SWA-Gaussian", revision=1)
class SWAGaussian(NetworkRemedy):
    fits_first = True

    start: ShareBelowOne = 0.5
    """Share of training after which weights are collected, as in ``swa``; the low-rank part uses the last 20 epochs."""
    draws: PositiveInt = 30
    """Number of networks drawn, M in the formula."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        epochs, weights = learner.settings(sample).epochs, []
        first = min(math.ceil(self.start * epochs), epochs - 1)

        def collect(epoch: Epoch) -> None:
            if epoch.number >= first:
                weights.append(epoch.networks.trained(epoch.networks.state)[0].state)

        networks = learner.train(sample, sample.rows[None], each_epoch=collect)
        parts = [moments(np.stack(values).astype(np.float64)) for values in zip(*weights, strict=True)]
        return LearnedFrom(Draws(networks, parts, sample.seed, sample.member, self.draws), networks.rows)


@dataclass(frozen=True)
class Draws:
    """``n`` networks from a Gaussian with the ``parts`` of its moments."""

    network: Ensemble
    parts: list[list[np.ndarray]]
    seed: int
    member: int
    n: int

    def predict(self, inputs: Inputs) -> np.ndarray:
        (part,) = self.network.parts
        drawn = (self.drawn(generator("other", self.seed, 1000 * self.member + i)) for i in range(self.n))
        return np.mean([self.network.using(part.with_state(state)).predict(inputs) for state in drawn], axis=0)

    def drawn(self, random: np.random.Generator) -> list[Tensor]:
        import torch

        last = self.parts[0][2]
        b = random.standard_normal((len(last),) + (1,) * 3, dtype=np.float32)
        noise = []
        for _, d, low in self.parts:
            far = (b.reshape(-1, *(1,) * (low.ndim - 1)) * low).sum(0)
            noise.append(d * random.standard_normal(d.shape, dtype=np.float32) + far)
        return [torch.from_numpy(m + e / np.float32(2**0.5)) for (m, *_), e in zip(self.parts, noise, strict=True)]


def moments(weights: np.ndarray) -> list[np.ndarray]:
    """Return mean, deviation and up to 20 columns of low rank of a parameter, from its ``weights`` (E, …) by epoch."""
    count = np.arange(1, len(weights) + 1).reshape(-1, *(1,) * (weights.ndim - 1))
    low = (weights - weights.cumsum(axis=0) / count)[-20:]
    parts = weights.mean(axis=0), weights.std(axis=0), low / max(1, len(low) - 1) ** 0.5
    return [part.astype(np.float32) for part in parts]
