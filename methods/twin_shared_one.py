"""Twin-shared with one network deployed: the other one serves training alone, so a prediction costs one pass.

The training is that of ``twin_shared``. After Bhojanapalli et al. 2021, arXiv:2102.03349, who also deploy one.
"""

from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import Weight
from benchmark.types import Fitted, Sample
from methods._soft import AtOnce, First
from methods.twin_shared import TwinShared


@method("twin_shared_one", title="Twin-shared λ={lam:g}, one deployed", regression={"lam": 3.0})
@dataclass(frozen=True)
class TwinSharedOne(AtOnce):
    lam: Weight = 300.0

    def fit(self, sample: Sample) -> Fitted:
        return First(TwinShared(self.lam).fit(sample))
