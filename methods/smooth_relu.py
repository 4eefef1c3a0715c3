r"""Smooth activations: a network whose ReLUs are replaced by SmeLU, which has a continuous slope.

Between −β and β, SmeLU is a parabola that joins zero to the identity.

$$
\mathrm{SmeLU}(x) = \begin{cases}
0 & x \le -\beta \\
(x + \beta)^2 / (4 \beta) & -\beta \le x \le \beta \\
x & x \ge \beta
\end{cases}
$$

Source: Shamir et al. 2020, arXiv:2010.09931, who propose it against irreproducible predictions.

Difference: they study networks for click-through rates, in which inputs are embedded first.

Cost: that of ERM, through a PyTorch module.
"""

from benchmark.pipeline import Model, Positive, Sample, method
from benchmark.train import Module, NetworkLearner, NetworkRemedy


@method("smooth_relu", title="SmeLU β={beta:g}", revision=1)
class SmoothReLU(NetworkRemedy):
    needs = ("modules", "relu")

    beta: Positive = 0.5
    """Half of the width of the parabola."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        return learner.train(sample, sample.rows[None], adapt=self.adapted)

    def adapted(self, module: Module) -> Module:
        """Return the module with its ReLUs replaced."""
        from torch import nn

        from benchmark.train.modules import SmeLU

        for name in [name for name, part in module.named_modules() if isinstance(part, nn.ReLU)]:
            parent, _, last = name.rpartition(".")
            setattr(module.get_submodule(parent), last, SmeLU(self.beta))
        return module
