r"""GradNorm twin: twin-bootstrap with a λ that balances gradients at each step, in the space of the networks' outputs.

The fit loss has weight 1. At each step and train seed, the weight of the consistency loss makes the norm of its
gradient with respect to the networks' outputs f ``ratio`` times that of the fit loss. No gradient flows through λ.

$$
\lambda_t = \mathrm{ratio} \cdot
\frac{\left\| \nabla_f \left[ L_{B_1}(\theta_1) + L_{B_2}(\theta_2) \right] \right\|}
{\left\| \nabla_f \, \frac{1}{2} \left[ D_{B_1}(\theta_1, \theta_2) + D_{B_2}(\theta_1, \theta_2) \right] \right\|}
$$

Source: after Chen et al. 2018, arXiv:1711.02257.

Difference: they learn the weights of several tasks by gradient descent, so that the norms of their gradients with
respect to shared weights keep pace with how fast each task is learnt. Here there are two losses and no shared weights.
"""

from benchmark.pipeline import Model, Sample, Weight, method
from benchmark.train import NetworkLearner, NetworkRemedy, Step, Tensor, bootstrap, consistency


@method("gradnorm", title="GradNorm twin ratio={ratio:g}", revision=1)
class GradNorm(NetworkRemedy):
    ratio: Weight = 1.0
    """Gradient norm of the consistency loss, as a multiple of that of the fit loss."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        import torch

        def loss(step: Step) -> Tensor:
            fit, apart = step.fit.sum(), consistency(sample.task, step.outputs)
            fit_norm, apart_norm = norm(fit, step.outputs), norm(apart, step.outputs)
            lam = torch.where(apart_norm > 0, self.ratio * fit_norm / apart_norm, 0)  # no pull where they agree
            return fit + lam * apart

        return learner.train(sample, bootstrap(sample, 2), loss=loss)


def norm(loss: Tensor, outputs: Tensor) -> Tensor:
    """Return the detached norm of the gradient of a scalar loss with respect to ``outputs``."""
    import torch

    (gradient,) = torch.autograd.grad(loss, outputs, retain_graph=True)
    return gradient.flatten().square().sum().sqrt()
