r"""Co-teaching: two networks on the same rows, each of which learns only what the other finds easy; one is deployed.

At each step, a network leaves out the share ``forget`` of its batch on which the loss of the other network is largest,
because wrong labels are learned last. E is the rest of the batch: the rows on which the other network's loss is
smallest.

$$
\sum_{k=1}^{2} \frac{1}{|E_k|} \sum_{(x, y) \in E_k} \ell(\theta_k; x, y), \qquad \hat p(x) = p_{\theta_1}(x)
$$

$$
E_k \subset B_k, \quad |E_k| = \left\lfloor (1 - \mathrm{forget}) |B_k| \right\rfloor
$$

Source: Han et al. 2018, arXiv:1804.06872.

Difference: they raise the share that is left out from 0 to the rate of wrong labels in the first ten of 200 epochs, and
give both networks the same batches; here it is constant, and each network has batches of its own. The source is about
classes; in a regression, the largest squared errors are left out. The source makes no claim about churn.

Cost: trains two coupled networks; a prediction uses one.
"""

from benchmark.pipeline import Model, Sample, ShareBelowOne, method
from benchmark.train import NetworkLearner, NetworkRemedy, Step, Tensor


@method("co_teaching", title="Co-teaching, one deployed", revision=1)
class CoTeaching(NetworkRemedy):
    forget: ShareBelowOne = 0.2
    """Share of each batch to leave out, ideally the share of wrong labels; the default is that of the source's code."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        import torch

        def losses(step: Step, network: int, batch: int) -> Tensor:
            outputs, label = step.outputs[network, batch], step.targets[batch]
            if sample.task == "regression":
                return (outputs[:, 0] - label).square()
            return torch.nn.functional.cross_entropy(outputs, label, reduction="none")

        def loss(step: Step) -> Tensor:
            known = max(1, int((1 - self.forget) * step.rows.shape[1]))
            easy = [losses(step, 1 - k, k).detach().argsort(stable=True)[:known] for k in (0, 1)]
            return torch.stack([losses(step, k, k)[easy[k]].mean() for k in (0, 1)]).sum()

        return learner.train(sample, [sample.rows] * 2, loss=loss).first()
