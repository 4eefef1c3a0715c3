r"""Kernel ridge (scikit-learn): least squares with a strong, fixed penalty, on the mean of two kernels.

The kernels are those of ``multi_kernel``: Tanimoto on bits, and a Gaussian one on numbers; a dataset that has only bits
or only numbers has one of them. The labels of a class are +1, those of the others −1, and probabilities are those of
``svm``. A support vector machine decides by the training rows near its margin, and these change with the sample. Least
squares weighs all rows, and with a large penalty the score of a molecule is nearly a mean over the training rows that
are like it, which changes little. In the formula, K has the similarities between the training rows, k those with x,
and m is the mean label.

$$
g(x) = m + k^\top (K + \mathrm{l2} \, I)^{-1} (y - m)
$$

Source: Saunders, Gammerman and Vovk 1998, ICML, 515–521; for classes: Suykens and Vandewalle 1999,
doi:10.1023/A:1018628609742.

Difference: the two kernels and the fixed penalty are ours; the sigmoid of ``svm`` gives probabilities.

Cost: solves one system of equations, and for probabilities five more on the folds; trains no network.
"""

from typing import Any

import numpy as np

from benchmark.learners._estimator import Kernel
from benchmark.learners._kernels import KernelMachine, MeanKernel
from benchmark.pipeline import Positive, learner
from benchmark.types import Task


@learner("kernel_ridge", title="Kernel ridge", revision=1)
class KernelRidge(KernelMachine):
    l2: Positive = 10.0
    """Penalty on the squared norm. The default is the best of 1, 3, 10 and 30 on nine families of the search that
    docs/studies.md describes; none of them is among those that it is tested on."""
    width: Positive = 1.0
    """Width of the Gaussian kernel, as in ``svm``."""

    swept = "l2"
    grid = (
        *({"l2": l2} for l2 in (100.0, 30.0, 20.0)),
        *({"l2": 10.0, "width": width} for width in (2.0, 1.0, 0.5)),
        *({"l2": l2} for l2 in (5.0, 2.5, 1.0, 0.3)),
    )
    """The larger penalty first, then the wider kernel."""

    def estimator(self, task: Task) -> Any:
        from sklearn import kernel_ridge

        from benchmark.learners._labels import Labels

        return kernel_ridge.KernelRidge(self.l2, kernel="precomputed") if task == "regression" else Labels(self.l2)

    def kernel(self, x: np.ndarray) -> Kernel:
        return MeanKernel.of(x, self.width)
