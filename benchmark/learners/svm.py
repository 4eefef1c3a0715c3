r"""Support vector machine (scikit-learn): the widest margin, with a Tanimoto kernel on bits, otherwise a Gaussian one.

Probabilities are Platt's: a sigmoid of the decision function, fitted to its values on five held-out folds. The formulas
are the Tanimoto kernel k of two fingerprints a and b (bars count the ones), the decision function g, and the sigmoid σ
with its parameters u and v.

$$
k(a, b) = \frac{a^\top b}{\lvert a \rvert + \lvert b \rvert - a^\top b}
$$

$$
g(x) = \sum_{i=1}^{N} \alpha_i y_i \, k(x_i, x) + b, \quad 0 \le \alpha_i \le C, \qquad
\hat p(x) = \sigma(u \, g(x) + v)
$$

Source: Cortes and Vapnik 1995, doi:10.1007/BF00994018; the kernel: Ralaivola et al. 2005,
doi:10.1016/j.neunet.2005.07.009.

Difference: unlike with scikit-learn's ``SVC(probability=True)``, the folds are the same every time and keep the repeats
of a molecule in the bootstrap together, because a model that has seen one of them would be overconfident.

Cost: trains one machine, and for probabilities five more on the folds; trains no network.
"""

from typing import Any

import numpy as np

from benchmark.learners._estimator import Kernel, kernel_for
from benchmark.learners._kernels import KernelMachine
from benchmark.pipeline import Positive, learner
from benchmark.types import Task


@learner("svm", title="SVM", revision=1)
class SVM(KernelMachine):
    C: Positive = 1.0
    """Weight of errors relative to the margin; the default is scikit-learn's. The targets of a regression are
    standardised first."""
    width: Positive = 1.0
    """Width of a Gaussian kernel, in units of scikit-learn's default; the Tanimoto kernel has none."""

    later = frozenset({"width"})
    swept = "C"
    grid = (
        *({"C": C} for C in (0.1, 0.2, 0.35, 0.7)),
        *({"C": C, "width": width} for C, width in ((1.0, 2.0), (1.0, 1.0), (2.5, 2.0), (1.0, 0.5))),
        *({"C": C} for C in (1.5, 2.5, 5.0)),
    )
    """Smaller C first, and at about the same C the wider kernel."""

    def estimator(self, task: Task) -> Any:
        from sklearn.svm import SVC, SVR

        return SVR(C=self.C, kernel="precomputed") if task == "regression" else SVC(C=self.C, kernel="precomputed")

    def kernel(self, x: np.ndarray) -> Kernel:
        return kernel_for(x, self.width)
