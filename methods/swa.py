r"""Stochastic weight averaging: the mean of ERM's weights at the ends of the later epochs.

The network is trained like ERM, and predicts with the mean weights. E is the set of epochs after the
share ``start`` of training, and θ with the index e are the weights at the end of epoch e.

$$
\bar\theta = \frac{1}{|E|} \sum_{e \in E} \theta_e, \qquad \hat p(x) = p_{\bar\theta}(x)
$$

Source: Izmailov et al. 2018, arXiv:1803.05407; Prastalo and Jablonka 2026, section Methods.

Difference: Izmailov et al. average at a constant or cyclical learning rate; here, as in the paper, the optimiser and
its rate are ERM's.
"""

from benchmark.pipeline import Model, Sample, ShareBelowOne, method
from benchmark.train import Epoch, NetworkLearner, NetworkRemedy, Tensor


@method("swa", title="SWA", revision=1)
class SWA(NetworkRemedy):
    fits_first = True

    start: ShareBelowOne = 0.5
    """Share of training after which the weights are averaged; the paper averages over the second half."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        import torch

        start = self.start * learner.settings(sample).epochs
        epochs: list[Epoch] = []
        mean: list[Tensor] = []

        def average(epoch: Epoch) -> None:
            if epoch.number < start:
                return
            if not epochs:
                mean.extend(map(torch.zeros_like, epoch.networks.state))
            epochs.append(epoch)
            for total, value in zip(mean, epoch.networks.state, strict=True):
                total += (value.detach() - total) / len(epochs)

        networks = learner.train(sample, sample.rows[None], each_epoch=average)
        return networks.using(*epochs[-1].networks.trained(mean)) if epochs else networks
