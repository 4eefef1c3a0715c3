"""AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101) with PyTorch's defaults: the factors of its steps.

Whoever changes what they predict raises ``benchmark.train.REVISION``.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from benchmark.types import Recipe

BETA1, BETA2, EPS = 0.9, 0.999, 1e-8
LONGEST = 300
"""Steps after which the push of a gradient is over: β₁³⁰⁰ is 2·10⁻¹⁴."""
LANES = 16
"""PyTorch's fused AdamW rounds differently at the end of a tensor whose length is no multiple of this."""
Rates = tuple[np.float32, ...]


def optimiser(parameters: Sequence[Tensor], recipe: Recipe) -> torch.optim.AdamW:
    """Return PyTorch's optimiser of these parameters."""
    return torch.optim.AdamW(parameters, lr=recipe.lr, weight_decay=recipe.weight_decay, fused=True)


@lru_cache(maxsize=4096)  # networks take the same steps
def rates(step: int, lr: float, weight_decay: float) -> Rates:
    """Return the factors of step 1, 2, …: β₁, β₂, 1 − lr·decay, lr/(1 − β₁ᵗ), 1/√(1 − β₂ᵗ) and ε."""
    values = BETA1, BETA2, 1 - lr * weight_decay, lr / (1 - BETA1**step), (1 - BETA2**step) ** -0.5, EPS
    return tuple(map(np.float32, values))


class Idle(NamedTuple):
    """The factors of n steps without gradient that follow a step t, for n up to N and several steps t.

    Such steps take w to w·decayⁿ − Σₖ aₖ·m/(√v·bₖ + ε) with aₖ = decayⁿ⁻ᵏ·lr·β₁ᵏ/(1 − β₁ᵗ⁺ᵏ) and
    bₖ = √(β₂ᵏ/(1 − β₂ᵗ⁺ᵏ)), k = 1 … n. One term with a = Σ aₖ and b = a/Σ(aₖ/bₖ) replaces the sum: it equals it where ε
    is much smaller than √v·b, and where it is much larger. It hardly changes beyond n = ``LONGEST``.
    """

    push: np.ndarray
    """a for each t and n up to ``LONGEST``, float32."""
    root: np.ndarray
    """b for each t and n up to ``LONGEST``, float32."""
    keep: np.ndarray
    """decayⁿ, β₁ⁿ and β₂ⁿ, (3, N + 1) float32."""


@lru_cache(maxsize=64)
def idle(start: int, steps: int, lr: float, weight_decay: float) -> Idle:
    """Return the factors of up to N = ``steps`` steps after each step t from ``start`` to ``start + steps``."""
    after, longest, decay = start + np.arange(steps + 1), min(steps, LONGEST), 1 - lr * weight_decay
    push, root = np.zeros((steps + 1, longest + 1)), np.ones((steps + 1, longest + 1))
    pull = np.zeros(steps + 1)
    for k in range(1, longest + 1):
        a = lr * BETA1**k / (1 - BETA1 ** (after + k))
        b = np.sqrt(BETA2**k / (1 - BETA2 ** (after + k)))
        push[:, k] = decay * push[:, k - 1] + a
        pull = decay * pull + a / b
        root[:, k] = push[:, k] / pull
    n = np.arange(steps + 1)
    keep = np.stack([decay**n, BETA1**n, BETA2**n])
    return Idle(push.astype(np.float32), root.astype(np.float32), keep.astype(np.float32))
