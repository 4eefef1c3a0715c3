r"""Generalised cross-entropy: labels that the network doubts have less weight than with cross-entropy.

The loss lies between cross-entropy (q → 0) and the mean absolute error (q = 1).

$$
\ell(\theta; x, y) = \frac{1 - p_\theta(x)_y^{\,q}}{q}
$$

Source: Zhang and Sabuncu 2018, arXiv:1805.07836.

Difference: their truncated variant is not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmark.registry import method
from benchmark.train import Step, fit_stack
from benchmark.types import Fitted, Sample

if TYPE_CHECKING:
    from torch import Tensor


@method("generalised_cross_entropy", title="Generalised cross-entropy q={q:g}", tasks=("classification",))
@dataclass(frozen=True)
class GeneralisedCrossEntropy:
    q: Annotated[float, Field(gt=0, le=1)] = 0.7
    """Exponent of the probability of the label: near 0 it is cross-entropy, at 1 the absolute error."""

    def fit(self, sample: Sample) -> Fitted:
        import torch

        y = torch.from_numpy(sample.y)

        def change(step: Step) -> Tensor:
            outputs = step.outputs[0, 0]
            label = y.to(outputs.device)[step.rows[0]]
            log_p = outputs.log_softmax(-1).gather(-1, label[:, None])
            return ((1 - (self.q * log_p).exp()) / self.q).mean() - step.fit.sum()

        return fit_stack(sample, sample.rows[None], coupling=change)
