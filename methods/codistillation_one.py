"""Codistillation with one network deployed, which has seen one of the two shards.

The training is that of ``codistillation``. After Anil et al. 2018, arXiv:1804.03235, who also deploy one.
"""

from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import Weight
from benchmark.types import Fitted, Sample
from methods._soft import AtOnce, First
from methods.codistillation import Codistillation


@method("codistillation_one", title="Codistillation λ={lam:g}, one deployed", regression={"lam": 3.0})
@dataclass(frozen=True)
class CodistillationOne(AtOnce):
    lam: Weight = 300.0

    def fit(self, sample: Sample) -> Fitted:
        return First(Codistillation(self.lam).fit(sample))
