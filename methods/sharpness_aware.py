r"""Sharpness-aware minimisation: the gradient is taken where the loss is largest near the weights.

At each step, the weights are moved along the gradient by the distance ρ, the gradient is taken there, and the step is
made from the weights as they were.

$$
\min_\theta \; \max_{\lVert \epsilon \rVert_2 \le \rho} L_S(\theta + \epsilon), \qquad
\epsilon \approx \rho \, \frac{\nabla L_B(\theta)}{\lVert \nabla L_B(\theta) \rVert_2}, \qquad
\hat p(x) = p_\theta(x)
$$

Source: Foret et al. 2021, arXiv:2010.01412.

Difference: they use SGD; here the optimiser is ERM's. Dropout draws anew in the second pass.

Cost: two passes at each step, through a PyTorch module.
"""

from benchmark.pipeline import Model, Positive, Sample, method
from benchmark.train import Batch, NetworkLearner, NetworkRemedy


@method("sharpness_aware", title="Sharpness-aware ρ={rho:g}", revision=1)
class SharpnessAware(NetworkRemedy):
    needs = ("modules",)

    rho: Positive = 0.05
    """Distance by which the weights are moved; the default is that of the source."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        import torch

        def step(batch: Batch) -> None:
            batch.loss().backward()
            (module,) = batch.modules
            moved = [(p, p.grad) for p in module.parameters() if p.grad is not None]
            norm = torch.stack([gradient.norm() for _, gradient in moved]).norm() + 1e-12
            before = [p.detach().clone() for p, _ in moved]
            with torch.no_grad():
                for p, gradient in moved:
                    p.add_(gradient * (self.rho / norm))
            module.zero_grad()
            batch.loss().backward()
            with torch.no_grad():
                for (p, _), value in zip(moved, before, strict=True):
                    p.copy_(value)

        return learner.train(sample, sample.rows[None], step=step)
