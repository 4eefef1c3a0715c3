"""Distilled SVM: one network that learns the predictions of a support vector machine on the same molecules.

Distillation: Hinton et al. 2015, arXiv:1503.02531, at temperature 1. The source distils a larger network.
"""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.types import Fitted, Sample
from methods._soft import AtOnce, Trained, mixed
from methods.svm import SVM


@method("distilled_svm", title="Distilled SVM")
@dataclass(frozen=True)
class DistilledSVM(AtOnce):
    weight: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of the loss on the machine's predictions; the rest is on labels."""

    def fit(self, sample: Sample) -> Fitted:
        return Trained(mixed(sample, SVM().fit(sample).predict(sample.x), self.weight))
