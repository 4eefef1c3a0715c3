r"""Twin-shared, one deployed: one of two coupled networks on the same rows is deployed, and the other is only used in
training.

The training is that of ``twin_shared``.

$$
\hat p(x) = p_{\theta_1}(x)
$$

Source: after Bhojanapalli et al. 2021, arXiv:2102.03349.

Difference: they deploy one, too; the training differs from theirs as that of ``twin_shared`` does.

Cost: trains two coupled networks; a prediction uses one.
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
    """Weight of the consistency loss, as in ``twin``."""

    def fit(self, sample: Sample) -> Fitted:
        return First(TwinShared(self.lam).fit(sample))
