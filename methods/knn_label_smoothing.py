"""Label smoothing by neighbours: a share of each label is replaced by the mean label of the most similar molecules.

Bahri and Jiang 2021, arXiv:2102.05140, propose it against churn. They look for neighbours among the activations of a
network that was trained first, and also spread a part over all classes; here neighbours are those of k-NN, other than
the molecule itself, and nothing is spread.
"""

from typing import Annotated

from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.types import Fitted, Sample
from methods._soft import mixed, of_neighbours


@method("knn_label_smoothing", title="k-NN label smoothing α={alpha:g}")
@dataclass(frozen=True)
class KNNLabelSmoothing:
    alpha: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of each label that is replaced."""
    k: PositiveInt = 10

    def fit(self, sample: Sample) -> Fitted:
        return mixed(sample, of_neighbours(sample, sample.x, self.k, others=True), self.alpha)
