"""Support vector machine (scikit-learn) with Tanimoto's kernel on bits, and a Gaussian one on other features.

Cortes and Vapnik 1995, doi:10.1007/BF00994018; the kernel: Ralaivola et al. 2005, doi:10.1016/j.neunet.2005.07.009.

Probabilities are Platt's: a sigmoid of the decision function, fitted to its values on five folds that were left out.
Unlike those of ``SVC(probability=True)``, the folds are the same each time, and they keep the repeats of a molecule in
the bootstrap together: a model that has seen them would be too sure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from benchmark.registry import method
from methods._estimator import Estimators, Sample, kernel_for


@method("svm", title="SVM")
@dataclass(frozen=True)
class SVM(Estimators):
    C: float = 1.0
    """Weight of the errors against the margin; a regression's targets are standardised before."""

    def __post_init__(self) -> None:
        if not 0 < self.C < math.inf:
            raise ValueError(f"C must be above 0, got {self.C}")

    def trained(self, sample: Sample) -> Any:
        kernel = kernel_for(sample.x)
        if sample.task == "regression":
            model = TransformedTargetRegressor(SVR(C=self.C, kernel=kernel), transformer=StandardScaler())
        else:
            folds = list(StratifiedGroupKFold(5).split(sample.x, sample.y, groups=sample.rows))
            model = CalibratedClassifierCV(SVC(C=self.C, kernel=kernel), cv=folds, ensemble=False)
        return model.fit(sample.x, sample.y)
